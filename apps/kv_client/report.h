// SPDX-License-Identifier: BSD-3-Clause
//
// What a run has to say.
#pragma once

#include <cstdint>
#include <string>

#include "engine/kv/client/client.h"
#include "settings.h"

namespace sluice::kv_client {

struct Figures {
  double seconds = 0;  ///< Of the measured run.
  engine::kv::client::ClientCounters counters;
  engine::workload::Histogram gets, sets;
  uint64_t send_errors = 0, strangers = 0;
  uint64_t servers = 0;      ///< At the end.
  uint64_t changes = 0;      ///< Of the servers, while it ran.
  uint64_t items_moved = 0;  ///< By all of them.
};

/// One line of what happened between two moments. `later` has the latencies of this time alone.
std::string PeriodLine(const Figures& earlier, const Figures& later);
/// Several lines about the whole run.
std::string Totals(const Settings& settings, const Figures& run);
/// The same as JSON.
std::string Json(const Settings& settings, const Figures& run);

}  // namespace sluice::kv_client
