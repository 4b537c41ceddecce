// SPDX-License-Identifier: BSD-3-Clause
//
// Data that a worker passes to the collector: counts since the last batch, and the lines to show.
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

/// Counts of lines and events in a minute, without metric values.
struct MinuteCounts {
  int64_t minute = 0;            ///< Minutes since 1970.
  uint64_t lines = 0;            ///< All lines, matching or not.
  std::vector<uint64_t> events;  ///< Indexed by filter.
};

/// Totals of a worker since its start.
struct WorkerFigures {
  engine::logmon::ScanCounters scan;
  engine::logmon::SourceCounters sources;
  uint64_t known_sources = 0;
  uint64_t state_bytes = 0;  ///< Memory of sources, waiting segments and unfinished lines.
  uint64_t shown_lines = 0;
  uint64_t lost_lines = 0;  ///< Lines not shown because the collector was too slow.
  uint64_t lost_hosts = 0;  ///< Events that the worker could not pass on, because AlertEvents
                            ///< already had kMaxHosts (filter, host) pairs.
};

struct Batch {
  explicit Batch(const Config& config);

  std::vector<MinuteCounts> counts;  ///< The last element is the current minute.
  /// Indexed by filter; unused for filters without a metric.
  std::deque<engine::logmon::Tally> metrics;
  AlertEvents alerts;
  ShownLines shown;
  WorkerFigures figures;
};

}  // namespace sluice::logmon
