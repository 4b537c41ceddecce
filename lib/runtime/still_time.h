// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>

namespace sluice::runtime {

/// Measures for how long a value has not changed, from samples of one thread. If a sample comes
/// more than kLateS after the previous one, the thread had no CPU, and other threads may have had
/// none either; only kLateS of that interval counts. All times are in seconds and from one clock.
class StillTime {
 public:
  explicit StillTime(double now_s) : looked_s_(now_s) {}

  /// Adds a sample. `changed` means that the value changed since the last sample. Returns the
  /// seconds without a change.
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
