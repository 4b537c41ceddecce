// SPDX-License-Identifier: BSD-3-Clause
//
// Detects when a run has drained. The source is off, the workers still poll, and the main thread
// checks the counters periodically. Used by Supervisor. Performs no I/O.
#pragma once

#include <cstdint>

#include "runtime/report.h"
#include "runtime/still_time.h"

namespace sluice::runtime {

/// A drain ends after this many seconds without progress. On a busy machine, the threads of the
/// device and the workers may wait for a CPU, so a short pause does not prove that the drain is
/// over.
inline constexpr double kQuietS = 0.01;  ///< If all frames are accounted for.
inline constexpr double kStalledS = 2;   ///< If frames are missing; they then count as lost.

/// All times are in seconds and from the same clock. The source is off, so the number of frames in
/// flight is finite and every drain ends.
class DrainWatch {
 public:
  explicit DrainWatch(double now_s) : still_(now_s) {}

  /// Reads `final` and `port_final` of `run`. Returns true once no frame has been received or
  /// returned for kQuietS, or for kStalledS if frames are missing.
  bool Over(const RunFigures& run, double now_s) {
    const uint64_t received = run.final.counters.rx_pkts;
    const uint64_t returned = run.port_final.Get("wire_returned");
    const bool moved = received != received_ || returned != returned_;
    received_ = received;
    returned_ = returned;
    return still_.Look(moved, now_s) > (Lost(run) > 0 ? kStalledS : kQuietS);
  }

 private:
  StillTime still_;
  uint64_t received_ = 0;
  uint64_t returned_ = 0;
};

}  // namespace sluice::runtime
