// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses the probability of row updates from the time and packet counts, according to Setup::pace.
#pragma once

#include <cstdint>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/setup.h"

namespace sluice::engine::telemetry {

/// Returns whether `epoch` can continue with `probability`, that is, whether it has counted enough
/// traffic with a probability of 1 for its bounds to hold. The criterion is NitroSketch's
/// (SIGCOMM'19, section 5), with p = `probability`:
/// - A count sketch has converged once the median row has Σ c² > 121·(1 + ε√p)·ε⁻⁴·p⁻². Its number
///   of columns is 8·ε⁻²/p.
/// - A count-min has converged after 10·ε⁻²·√ln(1/δ) packets, with δ = 2^-rows. Its number of
///   columns is 4/(ε·p).
///
/// Σ c² includes the heavy flows in a counter's table, although these do not collide. A counter
/// whose table counts all packets needs no sketch, so it counts as converged.
bool HasConverged(const Epoch& epoch, double probability);

class Pacer {
 public:
  /// Number of rate measurements per second for kAlwaysLineRate.
  static constexpr uint64_t kPacesPerSecond = 10;
  static constexpr double kLeastLineRate = 0x1p-7;
  /// Number of packets between convergence checks of kAlwaysCorrect.
  static constexpr uint64_t kPktsPerLook = 1 << 15;

  Pacer(const Setup& setup, uint64_t cycles_per_second, uint64_t now);

  /// Returns the probability for the start of an epoch. `pkts` is the number of packets in the
  /// previous epoch.
  double BeginEpoch(uint64_t pkts);
  /// Adapts the probability and returns it. `epoch` is the current epoch, which has counted `pkts`
  /// packets so far.
  double Adapt(uint64_t now, uint64_t pkts, const Epoch& epoch);

  /// Returns the largest p of 1, 2^-1 … 2^-7 with rate · p ≤ `full_rate`, or 2^-7 if none satisfies
  /// it.
  static double LineRateProbability(double rate, double full_rate);

 private:
  double AdaptToRate(uint64_t now, uint64_t all_pkts);

  const Pace pace_;
  const double target_;
  const double full_rate_;
  const uint64_t cycles_per_second_;
  double probability_;
  uint64_t earlier_pkts_ = 0;  ///< Packets in earlier epochs.
  uint64_t next_look_ = kPktsPerLook;
  uint64_t window_start_;
  uint64_t window_pkts_ = 0;
};

}  // namespace sluice::engine::telemetry
