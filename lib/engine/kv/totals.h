// SPDX-License-Identifier: BSD-3-Clause
//
// What all workers and partitions of a store have counted, added up. Any thread, while workers
// count.
#pragma once

#include "engine/kv/access.h"
#include "engine/kv/counters.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

/// Adds a worker's, or a partition's, as they are now.
void Add(ResponderCounters* sum, const ResponderCounters& more);
void Add(PartitionCounters* sum, const PartitionCounters& more);

ResponderCounters TrafficOf(const Store& store);
PartitionCounters ItemsOf(const Store& store);

}  // namespace sluice::engine::kv
