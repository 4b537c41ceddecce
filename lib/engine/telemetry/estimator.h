// SPDX-License-Identifier: BSD-3-Clause
//
// What a sketch says about flows at the end of an epoch, and how far off that may be.
#pragma once

#include <cstdint>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/flow_counter.h"
#include "engine/telemetry/flow_record.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

/// Of one level of one counter of `epoch`, which live longer.
///
/// Bounds come from what was measured, not from what was feared. A row of a count sketch has the
/// variance Σc²/columns from collisions and (1/p - 1)·f from samples; that of the middle of
/// `rows` of them is π/2 / rows times as large, at most (that is the median's). Known flows
/// are few and meet each other in few rows, which the middle leaves out: Σc² goes without their
/// counters, as long as too few rows for the middle are concerned with the probability needed. A
/// flow known from its first packet on collides with nothing.
/// Deviations follow from variances as for sums of many small terms: √(2·ln(2/δ)) of them.
/// A row of a count-min is off by more than L1/(q·columns) with a probability below q (Markov); q
/// is such that rows enough are not, less the probability of meeting a known flow.
class Estimator {
 public:
  struct Counts {
    Estimate packets;
    Estimate bytes;
  };

  Estimator(const Level& level, const Epoch& epoch);

  /// Of one of level.known.
  Counts Of(const KnownFlows::Flow& flow) const;
  /// Of any, by its hash.
  Counts Of(uint64_t hash) const;

 private:
  /// What the bounds need to know, of packets or of bytes.
  struct Noise {
    double collisions = 0;  ///< Count sketch: variance of a row.
    double excess = 0;      ///< Count-min: bound of what collisions add.
    double samples = 0;     ///< Variance of a row per packet or byte that it counted.
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

/// The standard deviations within which a sum of many small terms stays but for a probability of
/// `delta`: √(2·ln(2/δ)), Hoeffding's.
double DeviationsOf(double delta);

}  // namespace sluice::engine::telemetry
