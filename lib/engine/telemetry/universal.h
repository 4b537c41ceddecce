// SPDX-License-Identifier: BSD-3-Clause
//
// Distinct flows and entropy from UnivMon's levels (Liu et al., SIGCOMM'16, section 4.2).
#pragma once

#include "engine/telemetry/epoch.h"
#include "engine/telemetry/flow_record.h"

namespace sluice::engine::telemetry {

struct Universal {
  Range distinct_flows;
  Range entropy;  ///< Bits.
};

/// Of `epoch.counters[key]`, with any number of levels.
///
/// What the table of ExactFlows counted is known: those sums are exact. The levels say what the
/// packets that it did not count add to them: of a flow of e packets in the table and s in the
/// sketch, g(e + s) - g(e). That of flows without such packets is 0, so the levels need not know
/// which flows the table has.
///
/// Of the flows of the first level that knows all of its flows everything is known; those above
/// follow from it, as one half of each level's is the next. The bounds hold the randomness of these
/// halves, and what samples hide: a flow of f packets is not seen with a probability of
/// (1-p)^(rows·f), which is at most c = (1-p)/(rows·p) times that of being seen in one sample
/// alone; so there are at most c·(flows of one sample) that nobody saw. And samples make Σ f·log f
/// too large, by E[w·log w] ≤ f·log(f + c) for a flow of f (Jensen), which log2(1 +
/// c·flows/packets) bounds for all that a sketch counted.
Universal EstimateUniversal(const Epoch& epoch, size_t key);

}  // namespace sluice::engine::telemetry
