// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>

namespace sluice::runtime {

/// How long nothing has changed, as one thread sees it that looks from time to time. A look that
/// comes later than kLateS found that thread without a CPU, as others may have been: the rest of
/// the time does not count. Times are seconds of one clock. Pure.
class StillTime {
 public:
  explicit StillTime(double now_s) : looked_s_(now_s) {}

  /// A look, which saw a change since the last one or did not. Seconds without one.
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
