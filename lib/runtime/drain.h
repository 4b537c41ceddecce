// SPDX-License-Identifier: BSD-3-Clause
//
// When a run is over: the source is off, the workers still poll, and the main thread
// looks at the figures from time to time. Used by Supervisor. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/report.h"

namespace sluice::runtime {

/// On a busy machine the threads of the device and of the workers wait for a CPU by
/// turns, so that a pause alone says little. It must last …
inline constexpr double kQuietS = 0.01;  ///< … this long once all frames are accounted for,
inline constexpr double kStalledS = 2;   ///< … and this long before missing ones are lost.
/// A look that comes later than this found the looking thread without a CPU, as the others may
/// have been: the rest of the time does not count.
inline constexpr double kLateS = 0.05;

/// Times are seconds of one clock. Without a source the frames under way are finite,
/// so every drain ends.
class DrainWatch {
 public:
  explicit DrainWatch(double now_s) : looked_s_(now_s) {}

  /// Takes a look at `final` and `port_final`. True once nothing more will come.
  bool Over(const RunFigures& run, double now_s) {
    const uint64_t received = run.final.counters.rx_pkts;
    const uint64_t returned = run.port_final.Get("wire_returned");
    still_s_ += std::min(now_s - looked_s_, kLateS);
    if (received != received_ || returned != returned_) still_s_ = 0;
    looked_s_ = now_s;
    received_ = received;
    returned_ = returned;
    return still_s_ > (Lost(run) > 0 ? kStalledS : kQuietS);
  }

 private:
  double looked_s_;     ///< When the last look was.
  double still_s_ = 0;  ///< Since a look last saw a frame more than the look before.
  uint64_t received_ = 0;
  uint64_t returned_ = 0;
};

}  // namespace sluice::runtime
