// SPDX-License-Identifier: BSD-3-Clause
//
// Which engine works in which node, and which of its workers in which graph.
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

/// Nodes of kinds of engines are called so, and behind it as the kind.
inline constexpr std::string_view kPrefix = "sluice_";

/// Any thread: graphs are made and destroyed where programs like.
class Bindings {
 public:
  static Bindings& Get();

  /// As rte_node_sluice_engine_set.
  int Set(const std::string& node, sluice_engine* engine);
  /// A worker for a graph that is being made; null: the node has no engine, or all its workers are
  /// taken. `state` lives as long as the graph has the worker: rte_graph_create ends none of the
  /// nodes that it began when a later one fails.
  sluice_worker* Take(const std::string& node, const std::string& graph,
                      std::shared_ptr<void> state);
  void Return(const std::string& node, const sluice_worker* worker);

 private:
  struct Place {
    std::string graph;  ///< That has the worker; empty: none.
    std::shared_ptr<void> state;
  };
  struct Binding {
    sluice_engine* engine = nullptr;
    std::vector<Place> places;  ///< By worker.

    /// Takes the workers back of graphs that were not made in the end, or are gone.
    void Forget();
  };

  std::mutex mutex_;
  std::map<std::string, Binding> bindings_;
};

}  // namespace sluice::node
