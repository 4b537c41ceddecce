// SPDX-License-Identifier: BSD-3-Clause
//
// Processor time that was lost to other programs. It shows how far the percentiles of an interval
// can be trusted.
#pragma once

#include <compare>
#include <cstdint>

namespace sluice::sched {

struct Disturbance {
  uint64_t stolen_ms = 0;  ///< Time of all processors stolen by the hypervisor (/proc/stat: steal).
  uint64_t switches = 0;   ///< Involuntary context switches of this process.

  friend Disturbance operator-(Disturbance a, Disturbance b) {
    return {a.stolen_ms - b.stolen_ms, a.switches - b.switches};
  }
  /// Compares the stolen time first, because a switch may cost only microseconds.
  friend auto operator<=>(const Disturbance&, const Disturbance&) = default;
};

/// Returns the values since the machine and the process were started. Reads a file, so do not call
/// it per packet.
Disturbance DisturbanceSoFar();

}  // namespace sluice::sched
