// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of the counters of all devices that were connected to one link.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/attach.h"

namespace sluice::emulator {

/// Counters summed over successive devices. Used by one thread at a time.
class TotalStatistics {
 public:
  /// Merges the device's current counters. `returned` is true in the first call after a new
  /// connection. Names and their order are those of the first device.
  void Merge(const std::vector<Statistic>& fresh, bool returned);
  const std::vector<Statistic>& values() const { return values_; }

 private:
  std::vector<Statistic> values_;  ///< Sums over all devices so far.
  std::vector<uint64_t> counted_;  ///< Counts of the current device that `values_` includes.
};

}  // namespace sluice::emulator
