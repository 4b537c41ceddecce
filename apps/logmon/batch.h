// SPDX-License-Identifier: BSD-3-Clause
//
// What a worker hands to the collector: what it counted since the last time, and the lines that
// are to be shown.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "alert_events.h"
#include "config.h"
#include "engine/logmon/metric/tally.h"
#include "engine/logmon/scan/line_scanner.h"
#include "engine/logmon/source/counters.h"
#include "shown_lines.h"

namespace sluice::logmon {

/// Lines and events of a minute, without their values.
struct MinuteCounts {
  int64_t minute = 0;            ///< Since 1970.
  uint64_t lines = 0;            ///< Matching or not.
  std::vector<uint64_t> events;  ///< By filter.
};

/// Figures of a worker since it began.
struct WorkerFigures {
  engine::logmon::ScanCounters scan;
  engine::logmon::SourceCounters sources;
  uint64_t known_sources = 0;
  uint64_t state_bytes = 0;  ///< Of sources and segments that wait, and of unfinished lines.
  uint64_t shown_lines = 0;
  uint64_t lost_lines = 0;  ///< To be shown, but the collector did not keep up.
  uint64_t lost_hosts = 0;  ///< Events whose alert had no room for another host.
};

struct Batch {
  explicit Batch(const Config& config);

  std::vector<MinuteCounts> counts;           ///< The last one is the present minute's.
  std::deque<engine::logmon::Tally> metrics;  ///< By filter; unused where it has no metric.
  AlertEvents alerts;
  ShownLines shown;
  WorkerFigures figures;
};

}  // namespace sluice::logmon
