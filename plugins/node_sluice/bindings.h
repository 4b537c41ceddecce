// SPDX-License-Identifier: BSD-3-Clause
//
// Which engine works in which node, and which of its workers in which graph.
#pragma once

#include <cstdint>
#include <map>
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
  /// taken.
  sluice_worker* Take(const std::string& node, const std::string& graph);
  void Return(const std::string& node, const sluice_worker* worker);

 private:
  struct Binding {
    sluice_engine* engine = nullptr;
    std::vector<std::string> graphs;  ///< By worker: that has it; empty: none.
  };

  std::mutex mutex_;
  std::map<std::string, Binding> bindings_;
};

}  // namespace sluice::node
