// SPDX-License-Identifier: BSD-3-Clause
//
// When a backend counts as healthy: it takes `fall` failures in a row to lose it and `rise`
// successes in a row to have it back. Healthy until proven otherwise. Pure.
#pragma once

#include <cstdint>

namespace sluice::maglev {

class HealthState {
 public:
  /// Both at least 1.
  HealthState(uint32_t rise, uint32_t fall) : rise_(rise), fall_(fall) {}

  bool healthy() const { return healthy_; }

  /// Takes the outcome of a check. True: healthy() has changed.
  bool Observe(bool success) {
    if (success == healthy_) {
      against_ = 0;
      return false;
    }
    if (++against_ < (healthy_ ? fall_ : rise_)) return false;
    healthy_ = !healthy_;
    against_ = 0;
    return true;
  }

 private:
  uint32_t rise_;
  uint32_t fall_;
  uint32_t against_ = 0;  ///< Outcomes in a row that speak against healthy_.
  bool healthy_ = true;
};

}  // namespace sluice::maglev
