// SPDX-License-Identifier: BSD-3-Clause
//
// Pauses between retries.
#pragma once

#include <algorithm>
#include <chrono>

namespace sluice::base {

/// Each pause is twice as long as the previous one, up to a limit.
class Backoff {
 public:
  using Duration = std::chrono::milliseconds;

  /// `first` is the first pause, `longest` the upper limit.
  constexpr Backoff(Duration first, Duration longest) : first_(first), longest_(longest) {}

  /// Returns the pause after a failed attempt.
  Duration Next() { return pause_ = std::clamp(2 * pause_, first_, longest_); }
  /// Makes the next pause the first one again. Call this after a success.
  void Reset() { pause_ = Duration(0); }

 private:
  Duration first_, longest_;
  Duration pause_{0};
};

}  // namespace sluice::base
