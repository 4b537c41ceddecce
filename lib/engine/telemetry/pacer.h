// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses the probability of row updates according to Setup::pace, from time and counts.
#pragma once

#include <cstdint>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/setup.h"

namespace sluice::engine::telemetry {

/// Returns true if `epoch`, counted with a probability of 1 so far, has seen enough traffic for its
/// bounds to hold when it continues with `probability`. NitroSketch (SIGCOMM'19, section 5): a
/// count sketch of ε has converged once the median row has Σ c² > 121·(1 + ε√p)·ε⁻⁴·p⁻²; a
/// count-min of ε after 10·ε⁻²·√ln(1/δ) packets, δ = 2^-rows. ε follows from the number of columns,
/// which is 8·ε⁻²/p for a count sketch and 4/(ε·p) for a count-min. The heavy flows of a counter's
/// table are included, although they do not collide. A counter with a table that counts all packets
/// needs no sketch.
bool HasConverged(const Epoch& epoch, double probability);

class Pacer {
 public:
  /// Frequency at which kAlwaysLineRate measures the rate.
  static constexpr uint64_t kPacesPerSecond = 10;
  static constexpr double kLeastLineRate = 0x1p-7;
  /// Number of packets between convergence checks of kAlwaysCorrect.
  static constexpr uint64_t kPktsPerLook = 1 << 15;

  Pacer(const Setup& setup, uint64_t cycles_per_second, uint64_t now);

  /// Returns the probability for the start of an epoch; `pkts` is the number of packets of the
  /// previous one.
  double BeginEpoch(uint64_t pkts);
  /// Returns the probability within an epoch that has counted `pkts` packets.
  double Adapt(uint64_t now, uint64_t pkts, const Epoch& epoch);

  /// Returns the largest of 1, 2^-1 … 2^-7 with rate · p ≤ `full_rate`, or 2^-7 if none satisfies
  /// it.
  static double LineRateProbability(double rate, double full_rate);

 private:
  double AdaptToRate(uint64_t now, uint64_t all_pkts);

  const Pace pace_;
  const double target_;
  const double full_rate_;
  const uint64_t cycles_per_second_;
  double probability_;
  uint64_t earlier_pkts_ = 0;  ///< Packets of earlier epochs.
  uint64_t next_look_ = kPktsPerLook;
  uint64_t window_start_;
  uint64_t window_pkts_ = 0;
};

}  // namespace sluice::engine::telemetry
