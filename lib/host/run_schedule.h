// SPDX-License-Identifier: BSD-3-Clause
//
// Determines when a run ends and when its statistics lines are due. Used by the main loop of every
// program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/monotonic_clock.h"

namespace sluice::host {

/// The run begins when this object is constructed. All times are in seconds.
class RunSchedule {
 public:
  /// `duration_s`: 0 for a run without a time limit. `stats_period_s`: 0 for no lines.
  RunSchedule(double duration_s, double stats_period_s)
      : end_s_(OrNever(duration_s)),
        period_s_(stats_period_s),
        next_line_s_(OrNever(stats_period_s)) {}

  /// Returns the time since the run began.
  double Seconds() const { return static_cast<double>(base::MonotonicNs() - begin_ns_) / 1e9; }
  bool IsOver() const { return Seconds() >= end_s_; }
  /// Returns the time until the end or the next line, whichever is earlier. The time is never
  /// negative, and infinite if neither is scheduled.
  double Rest() const { return std::max(std::min(end_s_, next_line_s_) - Seconds(), 0.0); }
  /// Returns whether a line is due. If so, schedules the next one. Missed lines are skipped.
  bool LineDue() {
    const double now_s = Seconds();
    if (now_s < next_line_s_) return false;
    while (next_line_s_ <= now_s) next_line_s_ += period_s_;
    return true;
  }

 private:
  static double OrNever(double seconds) {
    return seconds > 0 ? seconds : std::numeric_limits<double>::infinity();
  }

  uint64_t begin_ns_ = base::MonotonicNs();
  double end_s_;
  double period_s_;
  double next_line_s_;
};

}  // namespace sluice::host
