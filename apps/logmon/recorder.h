// SPDX-License-Identifier: BSD-3-Clause
//
// What a worker does with lines that match: counts them, and keeps those that are to be shown.
// A sink of engine::logmon::Monitor.
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
  /// All outlive it.
  Recorder(const Config& config, const WallClock& clock, runtime::Handover<Batch>& batches);

  void OnMatch(const engine::logmon::Source& source, const engine::logmon::SyslogHeader* header,
               const engine::logmon::MatchedLine& line, uint64_t now);
  /// Between bursts, before a batch may be handed over. `lines` ended since the worker began,
  /// matching or not.
  void AtRest(uint64_t now, uint64_t lines);

  uint64_t shown_lines() const { return shown_lines_; }
  uint64_t lost_lines() const { return lost_lines_; }
  uint64_t lost_hosts() const { return lost_hosts_; }

 private:
  /// Those of the present minute, in the batch at hand.
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
  int64_t minute_ = 0;  ///< Since 1970.
  uint64_t lines_ = 0;
  uint64_t shown_lines_ = 0, lost_lines_ = 0, lost_hosts_ = 0;
};

}  // namespace sluice::logmon
