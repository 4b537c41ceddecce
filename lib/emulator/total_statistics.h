// SPDX-License-Identifier: BSD-3-Clause
//
// What devices that came and went at one link counted in all.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/attach.h"

namespace sluice::emulator {

/// One thread at a time.
class TotalStatistics {
 public:
  /// Takes in what the device counts now. `returned`: for the first time since it came back. Names
  /// are those of the first device, in its order.
  void Merge(const std::vector<Statistic>& fresh, bool returned);
  const std::vector<Statistic>& values() const { return values_; }

 private:
  std::vector<Statistic> values_;  ///< The newest, over all devices that were there.
  std::vector<uint64_t> counted_;  ///< Of them, what the present device counted.
};

}  // namespace sluice::emulator
