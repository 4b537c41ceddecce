// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>

namespace sluice::runtime {

/// Measures how long a value has not changed, from one thread's samples. If a sample comes more
/// than kLateS after the previous one, the thread was not running, and other threads may not have
/// been running either, so only kLateS of that interval count. All times are in seconds and from
/// the same clock.
class StillTime {
 public:
  explicit StillTime(double now_s) : looked_s_(now_s) {}

  /// Adds a sample. `changed` means that the value has changed since the last sample. Returns the
  /// number of seconds without a change.
  double Look(bool changed, double now_s) {
    const double passed_s = std::min(now_s - std::exchange(looked_s_, now_s), kLateS);
    still_s_ = changed ? 0 : still_s_ + passed_s;
    return still_s_;
  }

 private:
  static constexpr double kLateS = 0.05;

  double looked_s_;
  double still_s_ = 0;
};

}  // namespace sluice::runtime
