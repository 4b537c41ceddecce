// SPDX-License-Identifier: BSD-3-Clause
//
// The counts of all workers, by filter and minute.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "batch.h"
#include "config.h"
#include "engine/logmon/metric/tally.h"

namespace sluice::logmon {

/// Totals of a filter since the start.
struct FilterTotals {
  uint64_t events = 0;
  engine::logmon::Series metric;  ///< Sum over all dimensions, without default values.
};

/// A closed minute of a filter.
struct FilterMinute {
  size_t filter;
  engine::logmon::MinuteReport report;
};

/// Used by one thread.
class Ledger {
 public:
  /// `config` must outlive the object.
  explicit Ledger(const Config& config);

  /// Adds the counts of a batch, and clears them in the batch.
  void Add(Batch& batch);
  /// Remove and return the minutes before `minute`, or, at the end of the run, all minutes.
  std::vector<FilterMinute> RemoveBefore(int64_t minute);
  std::vector<FilterMinute> RemoveAll();

  uint64_t lines() const { return lines_; }
  const std::vector<FilterTotals>& totals() const { return totals_; }

 private:
  template <typename RemoveOne>
  std::vector<FilterMinute> RemoveEach(RemoveOne remove);

  const Config& config_;
  std::deque<engine::logmon::Tally> tallies_;  ///< Indexed by filter.
  std::vector<FilterTotals> totals_;
  uint64_t lines_ = 0;
};

}  // namespace sluice::logmon
