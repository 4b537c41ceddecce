// SPDX-License-Identifier: BSD-3-Clause
//
// What one worker, or all of them, counted during one epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/telemetry/flow_counter.h"
#include "engine/telemetry/flow_record.h"
#include "engine/telemetry/setup.h"

namespace sluice::engine::telemetry {

class Epoch {
 public:
  /// Throws std::bad_alloc.
  explicit Epoch(const Setup& setup);

  const Setup setup;
  uint64_t number = 0;
  uint64_t start_cycles = 0;
  uint64_t end_cycles = 0;
  uint32_t workers = 1;
  Traffic total;
  uint64_t exact_pkts = 0;  ///< Of total.pkts: seen while all tables were open, or p was 1.
  /// Sampled rows of frames without a key by their weights: kUnit · rows of all keys per frame.
  int64_t other = 0;
  uint32_t longest_bytes = 0;  ///< Of all frames.
  double least_probability = 1;
  double last_probability = 1;
  std::vector<FlowCounter> counters;  ///< In the order of setup.keys.

  /// No sketch is in use: the tables of all counters count all packets.
  bool AllOpen() const;
  /// As new.
  void Clear();
  /// Adds what another worker counted at the same time. False, and nothing is done, if it has
  /// another setup.
  [[nodiscard]] bool Merge(const Epoch& more);
  uint64_t memory_bytes() const;
};

}  // namespace sluice::engine::telemetry
