// SPDX-License-Identifier: BSD-3-Clause
//
// Estimates flows from a sketch at the end of an epoch, with error bounds.
#pragma once

#include <cstdint>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/flow_counter.h"
#include "engine/telemetry/flow_record.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// Estimates flows of one level of one counter of `epoch`. `level` and `epoch` must outlive the
/// estimator.
///
/// Bounds are computed from the measured counters instead of worst-case assumptions. A row of a
/// count sketch has the variance Σc²/columns from collisions and (1/p - 1)·f from sampling, for a
/// flow of f packets. The trimmed mean of `rows` rows has at most π/2 / rows times that variance
/// (the median's factor). Known flows are few and collide in few rows, which trimming excludes.
/// Therefore Σc² omits their counters if few enough rows are affected with the required
/// probability. A flow that is known from its first packet on is not affected by collisions.
///
/// Deviations are computed from variances as for sums of many small terms: √(2·ln(2/δ)) standard
/// deviations. The error of a count-min row exceeds L1/(q·columns) with a probability below q
/// (Markov). q is chosen so that, with probability 1 - δ, enough rows stay within this error. If L1
/// omits the counters of known flows, q is reduced by the probability of a collision with a known
/// flow.
class Estimator {
 public:
  struct Counts {
    Estimate packets;
    Estimate bytes;
  };

  Estimator(const Level& level, const Epoch& epoch);

  /// Returns the estimated counts of a flow of level.known.
  Counts Of(const KnownFlows::Flow& flow) const;
  /// Returns the estimated counts of any flow by its hash.
  Counts Of(uint64_t hash) const;

 private:
  /// Parameters of the bounds, for packets or for bytes.
  struct Noise {
    /// Variance of a row due to collisions. Count-min: the sampling variance of colliding flows.
    double collisions = 0;
    double excess = 0;   ///< Count-min: bound on the error due to collisions.
    double samples = 0;  ///< Sampling variance of a row per counted packet or byte.
  };

  void MeasureCollisions();
  Estimate Combine(double* rows, const Noise& noise) const;
  Estimate OfWhole(int64_t count, const Noise& noise) const;
  Estimate OfLater(int64_t count, const Noise& noise) const;
  double Bound(double value, const Noise& noise, double factor) const;
  Counts FromSketch(uint64_t hash) const;

  const Level& level_;
  const bool every_packet_;
  const double delta_;
  Noise packets_, bytes_;
};

/// Returns √(2·ln(2/δ)) for δ = `delta`: a sum of many small terms deviates by more than this
/// number of standard deviations with a probability of at most δ (Hoeffding).
double DeviationsOf(double delta);

}  // namespace sluice::engine::telemetry
