// SPDX-License-Identifier: BSD-3-Clause
//
// Times at which open-loop requests are due. They are fixed in advance and independent of the
// server. Latencies are measured from these times, so a stalled server is charged for all requests
// that were due meanwhile (no coordinated omission).
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/workload/random.h"

namespace sluice::engine::workload {

enum class Arrivals : uint8_t {
  kPoisson,   ///< Independent users, whose requests have exponentially distributed gaps.
  kConstant,  ///< Equal gaps.
};

class Schedule {
 public:
  /// `rate` is in requests per second and must be positive.
  Schedule(double rate, Arrivals arrivals, uint64_t start_ns, uint64_t seed)
      : gap_ns_(1e9 / rate), arrivals_(arrivals), start_ns_(start_ns), random_(seed) {}

  uint64_t due_ns() const { return start_ns_ + static_cast<uint64_t>(after_ns_); }
  void Advance() {
    ++count_;
    // 1 - Unit is never 0.
    after_ns_ = arrivals_ == Arrivals::kConstant
                    ? static_cast<double>(count_) * gap_ns_
                    : after_ns_ - std::log(1 - random_.Unit()) * gap_ns_;
  }

 private:
  double gap_ns_;
  Arrivals arrivals_;
  uint64_t start_ns_;
  Random random_;
  uint64_t count_ = 0;
  double after_ns_ = 0;
};

}  // namespace sluice::engine::workload
