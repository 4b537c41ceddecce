// SPDX-License-Identifier: BSD-3-Clause
//
// Counts a worker's matching lines, and stores the lines to show. This class is a sink of
// engine::logmon::Monitor.
#pragma once

#include <cstdint>
#include <string_view>

#include "batch.h"
#include "config.h"
#include "runtime/handover.h"
#include "wall_clock.h"

namespace sluice::logmon {

class Recorder {
 public:
  /// All arguments must outlive the object.
  Recorder(const Config& config, const WallClock& clock, runtime::Handover<Batch>& batches);

  void OnMatch(const engine::logmon::Source& source, const engine::logmon::SyslogHeader* header,
               const engine::logmon::MatchedLine& line, uint64_t now);
  /// Counts the new lines and updates the current minute. Call it between bursts, before
  /// Handover::AtRest. `lines`: number of complete lines since the worker's start, matching or not.
  void AtRest(uint64_t now, uint64_t lines);

  uint64_t shown_lines() const { return shown_lines_; }
  uint64_t lost_lines() const { return lost_lines_; }
  uint64_t lost_hosts() const { return lost_hosts_; }

 private:
  /// Returns the counts of the current minute in the current batch.
  MinuteCounts& Counts();
  void CountForAlerts(const engine::logmon::MatchedLine& line);
  void CountMetric(size_t filter, std::string_view line);
  void Show(const engine::logmon::Source& source, const engine::logmon::SyslogHeader* header,
            const engine::logmon::MatchedLine& line, uint64_t now);

  const Config* config_;
  const WallClock* clock_;
  runtime::Handover<Batch>* batches_;
  engine::logmon::FilterSet shown_, metrics_, alerts_, by_host_;
  engine::logmon::Scratch scratch_;
  engine::logmon::Dimensions::Values dimensions_;
  int64_t minute_ = 0;  ///< Minutes since 1970.
  uint64_t lines_ = 0;
  uint64_t shown_lines_ = 0, lost_lines_ = 0, lost_hosts_ = 0;
};

}  // namespace sluice::logmon
