// SPDX-License-Identifier: BSD-3-Clause
//
// The statistics of `stats` with memcached's names (protocol.txt, "Statistics"), as far as they
// apply: this server has no connections, LRU lists or slabs. The classes of `items` and `slabs` are
// its partitions, counted from 1. All values are current sums over all workers.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

enum class StatisticsList : uint8_t { kGeneral, kSettings, kItems, kSlabs };

/// Returns the list for the word after `stats`, which may be empty; nullopt if no list has this
/// name.
std::optional<StatisticsList> StatisticsListOf(std::string_view word);

/// Receives one statistic. Returns false to stop.
using AppendStatistic = absl::FunctionRef<bool(std::string_view name, std::string_view value)>;
/// Calls `append` for each statistic in a list. Returns false if `append` stopped.
bool AppendStatistics(StatisticsList list, const Exchange& exchange, const Store& store,
                      AppendStatistic append);

/// The word after `stats` that resets the statistics, the same ones as in memcached. Reports and
/// telemetry are not affected.
inline constexpr std::string_view kResetWord = "reset";
void ResetStatistics(Store& store);

}  // namespace sluice::engine::kv::memcached
