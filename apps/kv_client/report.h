// SPDX-License-Identifier: BSD-3-Clause
//
// Reports of a run.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kv/client/client.h"
#include "settings.h"

namespace sluice::kv_client {

struct Figures {
  double seconds = 0;  ///< Duration of the measured run.
  engine::kv::client::ClientCounters counters;
  engine::workload::Histogram gets, sets;
  uint64_t send_errors = 0, strangers = 0;
  uint64_t servers = 0;      ///< Number of servers at the end.
  uint64_t changes = 0;      ///< Number of changes to the server list during the run.
  uint64_t items_moved = 0;  ///< Number of items moved by all changes.
};

/// Returns one line about the period between two moments. `later` contains only the latencies of
/// this period.
std::string PeriodLine(const Figures& earlier, const Figures& later);
/// Returns several lines about the whole run.
std::string Totals(const Settings& settings, const Figures& run);
/// Returns the data of Totals as JSON.
std::string Json(const Settings& settings, const Figures& run);

}  // namespace sluice::kv_client
