// SPDX-License-Identifier: BSD-3-Clause
//
// Processor time that went to others: what percentiles measured meanwhile say of them.
#pragma once

#include <compare>
#include <cstdint>

namespace sluice::sched {

struct Disturbance {
  uint64_t stolen_ms = 0;  ///< By the machine's host, of all its processors (/proc/stat: steal).
  uint64_t switches = 0;   ///< Threads of this process that had to make way.

  friend Disturbance operator-(Disturbance a, Disturbance b) {
    return {a.stolen_ms - b.stolen_ms, a.switches - b.switches};
  }
  /// Stolen time first: a switch may take microseconds.
  friend auto operator<=>(const Disturbance&, const Disturbance&) = default;
};

/// Since the machine and the process began. Reads a file: not per packet.
Disturbance DisturbanceSoFar();

}  // namespace sluice::sched
