// SPDX-License-Identifier: BSD-3-Clause
//
// Estimates an epoch's flows: the table's count plus the sketch's estimate for the packets that the
// table did not count.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/estimator.h"
#include "engine/telemetry/flow_record.h"

namespace sluice::engine::telemetry {

class FlowEstimator {
 public:
  struct Counts {
    Estimate packets;
    Estimate bytes;
    CountedBy counted_by = CountedBy::kSketch;
  };
  struct Flow {
    packet::FlowKey key;
    uint64_t hash;
  };

  /// Estimates flows of a counter of `epoch`; both must outlive the estimator.
  FlowEstimator(const FlowCounter& counter, const Epoch& epoch)
      : counter_(counter), sketch_(counter.levels()[0], epoch) {}

  /// Returns the estimated counts of any flow by its hash.
  Counts Of(uint64_t hash) const;
  /// Returns the flows with known keys, from the table and the sketch, unordered.
  std::vector<Flow> Flows() const;
  /// Returns whether the sketch estimates the flow only from counters that other flows share. Among
  /// many such flows, some estimates are large by chance.
  bool IsGuessed(uint64_t hash) const {
    return !counter_.exact().Counts(hash) && counter_.levels()[0].known.Find(hash) == nullptr;
  }

 private:
  const FlowCounter& counter_;
  const Estimator sketch_;
};

}  // namespace sluice::engine::telemetry
