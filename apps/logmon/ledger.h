// SPDX-License-Identifier: BSD-3-Clause
//
// What all workers counted, by filter and minute.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "batch.h"
#include "config.h"
#include "engine/logmon/metric/tally.h"

namespace sluice::logmon {

/// A filter since the beginning.
struct FilterTotals {
  uint64_t events = 0;
  engine::logmon::Series metric;  ///< Of all dimensions; without defaults.
};

/// A minute of a filter that is over.
struct FilterMinute {
  size_t filter;
  engine::logmon::MinuteReport report;
};

/// One thread's.
class Ledger {
 public:
  /// `config` outlives it.
  explicit Ledger(const Config& config);

  /// Adds what a worker counted, and empties it.
  void Add(Batch& batch);
  /// Minutes before `minute` that were not taken yet; all minutes at the end.
  std::vector<FilterMinute> TakeOver(int64_t minute);
  std::vector<FilterMinute> TakeAll();

  uint64_t lines() const { return lines_; }
  const std::vector<FilterTotals>& totals() const { return totals_; }

 private:
  template <typename TakeOne>
  std::vector<FilterMinute> TakeEach(TakeOne take);

  const Config& config_;
  std::deque<engine::logmon::Tally> tallies_;  ///< By filter.
  std::vector<FilterTotals> totals_;
  uint64_t lines_ = 0;
};

}  // namespace sluice::logmon
