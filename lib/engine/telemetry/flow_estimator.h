// SPDX-License-Identifier: BSD-3-Clause
//
// What an epoch says about flows: what the table counted of them, and what the sketch estimates of
// the packets that the table did not count.
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

  /// Of a counter of `epoch`, which live longer.
  FlowEstimator(const FlowCounter& counter, const Epoch& epoch)
      : counter_(counter), sketch_(counter.levels()[0], epoch) {}

  /// Of any flow, by its hash.
  Counts Of(uint64_t hash) const;
  /// The flows whose names are known, in no order: those of the table and those of the sketch.
  std::vector<Flow> Flows() const;
  /// Whether nothing but readings of shared counters follows what the table counted of the flow:
  /// among many such flows, some readings are large by chance.
  bool IsGuessed(uint64_t hash) const {
    return !counter_.exact().Counts(hash) && counter_.levels()[0].known.Find(hash) == nullptr;
  }

 private:
  const FlowCounter& counter_;
  const Estimator sketch_;
};

}  // namespace sluice::engine::telemetry
