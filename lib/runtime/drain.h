// SPDX-License-Identifier: BSD-3-Clause
//
// When a run is over: the source is off, the workers still poll, and the main thread
// looks at the figures from time to time. Used by Supervisor. Pure.
#pragma once

#include <cstdint>

#include "runtime/report.h"
#include "runtime/still_time.h"

namespace sluice::runtime {

/// On a busy machine the threads of the device and of the workers wait for a CPU by
/// turns, so that a pause alone says little. It must last …
inline constexpr double kQuietS = 0.01;  ///< … this long once all frames are accounted for,
inline constexpr double kStalledS = 2;   ///< … and this long before missing ones are lost.

/// Times are seconds of one clock. Without a source the frames under way are finite,
/// so every drain ends.
class DrainWatch {
 public:
  explicit DrainWatch(double now_s) : still_(now_s) {}

  /// Takes a look at `final` and `port_final`. True once nothing more will come.
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
