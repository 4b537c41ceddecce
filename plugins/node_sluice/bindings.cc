// SPDX-License-Identifier: BSD-3-Clause
#include "node_sluice/bindings.h"

#include <rte_graph.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "node_sluice/rte_node_sluice.h"

namespace sluice::node {

void Bindings::Binding::Forget() {
  for (Place& place : places) {
    if (rte_graph_from_name(place.graph.c_str()) == RTE_GRAPH_ID_INVALID) place = {};
  }
}

Bindings& Bindings::Get() {
  static Bindings bindings;
  return bindings;
}

int Bindings::Set(const std::string& node, sluice_engine* engine) {
  const std::scoped_lock lock(mutex_);
  Binding& binding = bindings_[node];
  binding.Forget();
  if (!std::ranges::all_of(binding.places, &std::string::empty, &Place::graph)) return -EBUSY;
  Binding next;
  if (engine != nullptr) {
    const std::string kind = sluice_engine_kind(engine);
    const uint32_t workers = sluice_engine_workers(engine);
    const std::string original(kPrefix.data() + kind);
    const bool is_its_kind = node == original || node.starts_with(original + "-");
    if (!is_its_kind || rte_node_from_name(node.c_str()) == RTE_NODE_ID_INVALID) return -EINVAL;
    if (kind == "kv" && workers != 1) return -ENOTSUP;
    // Workers are assigned per node. Two nodes with the same engine would assign one worker to two
    // graphs.
    for (const auto& [other, bound] : bindings_) {
      if (other != node && bound.engine == engine) return -EEXIST;
    }
    next.engine = engine;
    next.places.resize(workers);
  }
  binding = std::move(next);
  return 0;
}

sluice_worker* Bindings::AssignWorker(const std::string& node, const std::string& graph,
                                      std::shared_ptr<void> state) {
  const std::scoped_lock lock(mutex_);
  Binding& binding = bindings_[node];
  // Forget releases the workers of all graphs that DPDK does not list, and the graph that is being
  // created is not listed yet. It does not have a worker of this node yet, because a graph contains
  // a node only once.
  binding.Forget();
  const auto free = std::ranges::find(binding.places, std::string(), &Place::graph);
  if (free == binding.places.end()) return nullptr;
  *free = {graph, std::move(state)};
  const auto number = static_cast<uint32_t>(free - binding.places.begin());
  return sluice_engine_worker(binding.engine, number);
}

void Bindings::Return(const std::string& node, const sluice_worker* worker) {
  const std::scoped_lock lock(mutex_);
  Binding& binding = bindings_[node];
  for (uint32_t i = 0; i < binding.places.size(); ++i) {
    if (sluice_engine_worker(binding.engine, i) == worker) binding.places[i] = {};
  }
}

}  // namespace sluice::node

int rte_node_sluice_engine_set(const char* name, sluice_engine* engine) {
  return name == nullptr ? -EINVAL : sluice::node::Bindings::Get().Set(name, engine);
}
