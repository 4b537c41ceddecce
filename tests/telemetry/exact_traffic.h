// SPDX-License-Identifier: BSD-3-Clause
//
// One epoch of traffic for benchmarks of counters, with the same flows in each pass.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/workload/popularity.h"
#include "engine/workload/random.h"

namespace sluice::engine::telemetry::test {

struct EpochOptions {
  uint64_t packets = 2'000'000;
  uint32_t flows = 50'000;  ///< Number of concurrent flows, one per rank of Zipf's distribution.
  double exponent = 1.1;
  /// Share of the ranks that get a new flow during the epoch. The distribution does not change;
  /// only the flows do.
  double churn = 0.1;
  /// Share of attack packets at the end of the epoch. It rises from 0 during the epoch. Each attack
  /// packet is a new flow.
  double attack = 0;
  uint64_t seed = 1;
};

/// Generates the traffic. Flows are numbers below kFlows.
class EpochTraffic {
 public:
  static constexpr uint32_t kFlows = 1 << 24;

  explicit EpochTraffic(const EpochOptions& options)
      : options_(options),
        popularity_(options.flows, options.exponent),
        random_(options.seed),
        flow_of_rank_(options.flows) {
    std::iota(flow_of_rank_.begin(), flow_of_rank_.end(), 0u);
    next_flow_ = options.flows;
  }

  uint32_t Next() {
    const double time = static_cast<double>(sent_++) / static_cast<double>(options_.packets);
    for (; changed_ < time * options_.churn * options_.flows; ++changed_) {
      flow_of_rank_[random_.Below(options_.flows)] = NewFlow();
    }
    if (options_.attack > 0 && Fraction() < time * options_.attack) return NewFlow();
    return flow_of_rank_[popularity_.Draw(random_)];
  }

 private:
  uint32_t NewFlow() { return next_flow_++ % kFlows; }
  double Fraction() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }

  const EpochOptions options_;
  const engine::workload::Popularity popularity_;
  engine::workload::Random random_;
  std::vector<uint32_t> flow_of_rank_;
  uint32_t next_flow_;
  uint64_t sent_ = 0;
  uint64_t changed_ = 0;
};

}  // namespace sluice::engine::telemetry::test
