// SPDX-License-Identifier: BSD-3-Clause
//
// The counters of one epoch, for one worker or for all workers together.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/telemetry/flow_counter.h"
#include "engine/telemetry/flow_record.h"
#include "engine/telemetry/setup.h"

namespace sluice::engine::telemetry {

class Epoch {
 public:
  /// Allocates the counters. Throws std::bad_alloc.
  explicit Epoch(const Setup& setup);

  const Setup setup;
  uint64_t number = 0;
  uint64_t start_cycles = 0;
  uint64_t end_cycles = 0;
  uint32_t workers = 1;
  Traffic total;
  /// Number of packets counted exactly: while all tables were open, or the probability was 1.
  uint64_t exact_pkts = 0;
  /// Total weight of the rows that were sampled in frames without a key. On average, each such
  /// frame adds kUnit for every row of every key.
  int64_t other = 0;
  uint32_t longest_bytes = 0;  ///< Length of the longest frame.
  double least_probability = 1;
  double last_probability = 1;
  std::vector<FlowCounter> counters;  ///< Ordered like setup.keys.

  /// Returns whether the tables of all counters count all packets, so that no sketch is in use.
  bool AllOpen() const;
  /// Restores the state that the epoch had after construction.
  void Clear();
  /// Adds the counts of `more`, which must be the same epoch of other workers. Does nothing and
  /// returns false if its setup differs.
  [[nodiscard]] bool Merge(const Epoch& more);
  uint64_t memory_bytes() const;
};

}  // namespace sluice::engine::telemetry
