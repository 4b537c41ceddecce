// SPDX-License-Identifier: BSD-3-Clause
//
// The flags that both sluice-chain programs accept, with and without frames.
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
  std::string graph_file;  ///< If empty, the example graph is used.
  bool through_cpu = false;
  const TrafficKind* traffic = nullptr;
  std::string traffic_options;
  /// Flows that the traffic uses; the NIC serves them round-robin.
  std::vector<engine::chain::FlowMatch> flows;
  uint32_t outstanding = 0;
  uint64_t messages = 0;  ///< Messages per flow; 0: unlimited.
  uint64_t timeout_ns = 0;
  uint64_t hang_ns = 0;       ///< Time after which a stage counts as hung; 0: never.
  std::string stage_program;  ///< If empty, stages are threads.
  std::string kill;           ///< Name of the device to kill, or empty.
  uint64_t kill_ns = 0;
};

/// Reads the flags. Returns the first error, which names the flag and the fix, or an empty string.
std::string ReadChainFlags(ChainSettings* settings);

/// Reads a graph from a file; an empty path selects the example graph. Returns nullopt on failure,
/// with one line per error in `errors`.
std::optional<engine::chain::Graph> ReadGraphFile(const std::string& path,
                                                  std::vector<std::string>* errors);

/// Returns the path of another sluice-chain program, which is in this program's directory or in the
/// library directory.
std::string Beside(const std::string& program);

}  // namespace sluice::chain_app
