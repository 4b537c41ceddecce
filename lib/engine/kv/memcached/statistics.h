// SPDX-License-Identifier: BSD-3-Clause
//
// What `stats` tells, by memcached's names (protocol.txt, "Statistics"), as far as it is true of
// this server: it has no connections, no LRU lists and no slabs. The classes of `items` and `slabs`
// are its partitions, from 1 on. All figures are of all workers, as they are at the moment.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

enum class StatisticsList : uint8_t { kGeneral, kSettings, kItems, kSlabs };

/// By the word behind `stats`, which may be empty. Nothing: there is no such list.
std::optional<StatisticsList> StatisticsListOf(std::string_view word);

/// Takes one figure. False: no more, please.
using TellStatistic = absl::FunctionRef<bool(std::string_view name, std::string_view value)>;
/// Calls `tell` for each figure of a list. False: it did not take all.
bool TellStatistics(StatisticsList list, const Exchange& exchange, const Store& store,
                    TellStatistic tell);

/// `stats reset`: what memcached counts from 0 again. Reports and telemetry do not see it.
inline constexpr std::string_view kResetWord = "reset";
void ResetStatistics(Store& store);

}  // namespace sluice::engine::kv::memcached
