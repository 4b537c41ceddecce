// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of counters for reports and telemetry.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/kv/counters.h"
#include "engine/kv/partition.h"

namespace sluice::kv {

/// Adds the members "mica", "memcached" and "workers" to `report`.
void AppendCounters(const engine::kv::ResponderCounters& sum, nlohmann::ordered_json* report);
nlohmann::ordered_json ToJson(const engine::kv::PartitionCounters& sum);

}  // namespace sluice::kv
