// SPDX-License-Identifier: BSD-3-Clause
//
// Health state of a backend: `fall` consecutive failures make it unhealthy, `rise` consecutive
// successes make it healthy. The initial state is healthy. Performs no I/O.
#pragma once

#include <cstdint>

namespace sluice::maglev {

/// The outcome of one check.
enum class CheckOutcome : uint8_t {
  kSuccess,
  kFailure,
  kNoResult,  ///< The check could not be performed because this host lacked a resource.
};

class HealthState {
 public:
  bool healthy() const { return healthy_; }

  /// Applies the outcome of a check; `rise` and `fall` are at least 1. Returns true if healthy()
  /// has changed.
  bool Observe(CheckOutcome outcome, uint32_t rise, uint32_t fall) {
    if (outcome == CheckOutcome::kNoResult) return false;
    if ((outcome == CheckOutcome::kSuccess) == healthy_) {
      against_ = 0;
      return false;
    }
    if (++against_ < (healthy_ ? fall : rise)) return false;
    healthy_ = !healthy_;
    against_ = 0;
    return true;
  }

 private:
  uint32_t against_ = 0;  ///< Consecutive outcomes that contradict healthy_.
  bool healthy_ = true;
};

}  // namespace sluice::maglev
