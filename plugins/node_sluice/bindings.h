// SPDX-License-Identifier: BSD-3-Clause
//
// Maps nodes to engines, and graphs to the engines' workers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/engines.h"

namespace sluice::node {

/// Prefix of node names, followed by the kind of the engine.
inline constexpr std::string_view kPrefix = "sluice_";

/// Thread-safe: programs create and destroy graphs on any thread.
class Bindings {
 public:
  static Bindings& Get();

  /// Implements rte_node_sluice_engine_set.
  int Set(const std::string& node, sluice_engine* engine);
  /// Assigns a worker to a graph that is being created. Returns null if the node has no engine, or
  /// all its workers are assigned. `state` lives as long as the worker is assigned to the graph,
  /// because rte_graph_create does not end the nodes that it has started if a later node fails to
  /// start.
  sluice_worker* AssignWorker(const std::string& node, const std::string& graph,
                              std::shared_ptr<void> state);
  void Return(const std::string& node, const sluice_worker* worker);

 private:
  struct Place {
    std::string graph;  ///< Graph to which the worker is assigned; empty: none.
    std::shared_ptr<void> state;
  };
  struct Binding {
    sluice_engine* engine = nullptr;
    std::vector<Place> places;  ///< Indexed by worker.

    /// Releases the workers of graphs that no longer exist, because their creation failed or they
    /// were destroyed.
    void Forget();
  };

  std::mutex mutex_;
  std::map<std::string, Binding> bindings_;
};

}  // namespace sluice::node
