// SPDX-License-Identifier: BSD-3-Clause
//
// Estimates the number of distinct flows and the entropy from UnivMon's levels (Liu et al.,
// SIGCOMM'16, section 4.2).
#pragma once

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/flow_record.h"

namespace sluice::engine::telemetry {

struct Universal {
  Range distinct_flows;
  Range entropy;  ///< Entropy in bits.
};

/// Returns the estimates of `epoch.counters[key]`, with any number of levels.
///
/// The counts of the table (ExactFlows) are exact. For a sum of g over all flows, the levels
/// estimate the contribution of the packets that the table did not count: g(e + s) - g(e) for a
/// flow with e packets in the table and s packets in the sketch. The contribution is 0 for flows
/// without such packets, so the levels do not need to know the table's flows.
///
/// The first level that knows all of its flows is exact. The sums of the preceding levels follow
/// from it, because half of each level's flows belong to the next. The bounds account for the
/// randomness of this split and of the sampling. The probability that no packet of a flow with f
/// packets is sampled is (1-p)^(rows·f). This probability is at most c = (1-p)/(rows·p) times the
/// probability of exactly one sample. Therefore, if n flows have exactly one sample, at most c·n
/// flows were missed. Sampling also overestimates Σ f·log f, because E[w·log w] ≤ f·log(f + c) for
/// the estimate w of a flow with f packets (Jensen's inequality). Over all packets that a sketch
/// counted, this error is at most log2(1 + c·flows/packets).
Universal EstimateUniversal(const Epoch& epoch, size_t key);

}  // namespace sluice::engine::telemetry
