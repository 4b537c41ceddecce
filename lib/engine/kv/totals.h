// SPDX-License-Identifier: BSD-3-Clause
//
// Sums the counters of all workers and partitions of a store. Any thread may call these functions
// while workers run.
#pragma once

#include "engine/kv/access.h"
#include "engine/kv/counters.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

/// Adds the current counters of a worker or partition to `sum`.
void Add(ResponderCounters* sum, const ResponderCounters& more);
void Add(PartitionCounters* sum, const PartitionCounters& more);

ResponderCounters TrafficOf(const Store& store);
PartitionCounters ItemsOf(const Store& store);

}  // namespace sluice::engine::kv
