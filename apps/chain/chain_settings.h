// SPDX-License-Identifier: BSD-3-Clause
//
// Flags about chains: those of sluice-chain by either of its programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/chain/graph.h"
#include "roles.h"
#include "traffic.h"

namespace sluice::chain_app {

struct ChainSettings {
  engine::chain::Graph graph;
  Roles roles;
  std::string graph_file;  ///< Empty: the example.
  bool through_cpu = false;
  const TrafficKind* traffic = nullptr;
  std::string traffic_options;
  std::vector<engine::chain::FlowMatch> flows;  ///< Of the messages, in turns.
  uint32_t outstanding = 0;
  uint64_t messages = 0;  ///< Of each flow; 0: no end.
  uint64_t timeout_ns = 0;
  uint64_t hang_ns = 0;       ///< 0: a stage may hang for ever.
  std::string stage_program;  ///< Empty: stages are threads.
  std::string kill;           ///< A device's name, or empty.
  uint64_t kill_ns = 0;
};

/// Reads them. The first complaint, which names the flag and the fix, or nothing.
std::string ReadChainFlags(ChainSettings* settings);

/// A graph from a file; empty path: the example's. Nothing, with a line for each mistake.
std::optional<engine::chain::Graph> ReadGraphFile(const std::string& path,
                                                  std::vector<std::string>* errors);

/// Where programs of sluice-chain are that it starts or becomes.
std::string Beside(const std::string& program);

}  // namespace sluice::chain_app
