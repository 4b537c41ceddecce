// SPDX-License-Identifier: BSD-3-Clause
//
// Counters that others write, added up and told. Read relaxed: any thread, at any time.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/kv/partition.h"
#include "engine/kv/responder.h"

namespace sluice::kv {

void Add(engine::kv::ResponderCounters* sum, const engine::kv::ResponderCounters& more);
void Add(engine::kv::PartitionCounters* sum, const engine::kv::PartitionCounters& more);

/// "mica", "memcached" and "workers", of a sum.
void Tell(const engine::kv::ResponderCounters& sum, nlohmann::ordered_json* report);
nlohmann::ordered_json ToJson(const engine::kv::PartitionCounters& sum);

}  // namespace sluice::kv
