// SPDX-License-Identifier: BSD-3-Clause
//
// With what probability rows are updated: Setup::pace, by time and by what was counted.
#pragma once

#include <cstdint>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/setup.h"

namespace sluice::engine::telemetry {

/// True if `epoch`, counted with a probability of 1 so far, has seen enough traffic for its bounds
/// to hold when it goes on with `probability`. NitroSketch (SIGCOMM'19, section 5): a count
/// sketch of ε once the median row has Σ c² > 121·(1 + ε√p)·ε⁻⁴·p⁻²; a count-min of ε after
/// 10·ε⁻²·√ln(1/δ) packets, δ = 2^-rows. ε is what the columns suffice for: 8·ε⁻²/p and 4/(ε·p)
/// of them. The heavy flows of a counter's table are part of the stream, too, though nothing
/// collides there. A counter whose table counts all packets needs no sketch.
bool HasConverged(const Epoch& epoch, double probability);

class Pacer {
 public:
  /// AlwaysLineRate looks at the rate this often.
  static constexpr uint64_t kPacesPerSecond = 10;
  static constexpr double kLeastLineRate = 0x1p-7;
  /// AlwaysCorrect looks for convergence after so many packets each time.
  static constexpr uint64_t kPktsPerLook = 1 << 15;

  Pacer(const Setup& setup, uint64_t cycles_per_second, uint64_t now);

  /// For the first packet of an epoch; `pkts` of the one before.
  double BeginEpoch(uint64_t pkts);
  /// Within an epoch that has seen `pkts`.
  double Adapt(uint64_t now, uint64_t pkts, const Epoch& epoch);

  /// 1, 2^-1 … 2^-7: such that rate · p does not exceed `full_rate`, if it can be.
  static double LineRateProbability(double rate, double full_rate);

 private:
  double AdaptToRate(uint64_t now, uint64_t all_pkts);

  const Pace pace_;
  const double target_;
  const double full_rate_;
  const uint64_t cycles_per_second_;
  double probability_;
  uint64_t earlier_pkts_ = 0;  ///< Of the epochs before.
  uint64_t next_look_ = kPktsPerLook;
  uint64_t window_start_;
  uint64_t window_pkts_ = 0;
};

}  // namespace sluice::engine::telemetry
