// SPDX-License-Identifier: BSD-3-Clause
#include "ledger.h"

#include <optional>
#include <utility>

namespace sluice::logmon {

using engine::logmon::MinuteReport;
using engine::logmon::Tally;

Ledger::Ledger(const Config& config) : config_(config), totals_(config.about.size()) {
  for (const FilterConfig& about : config.about) {
    tallies_.emplace_back(engine::logmon::TallyOptions{.default_value = about.default_value});
  }
}

void Ledger::Add(Batch& batch) {
  for (const MinuteCounts& counts : batch.counts) {
    lines_ += counts.lines;
    for (size_t i = 0; i < tallies_.size(); ++i) {
      totals_[i].events += counts.events[i];
      MinuteReport report{
          .minute = counts.minute, .lines = counts.lines, .series = {}, .overflow = {}};
      // Events of filters with a metric are added below, with their values.
      if (!config_.about[i].has_metric() && counts.events[i] != 0) {
        report.series.emplace_back().events = counts.events[i];
      }
      tallies_[i].Merge(report);
    }
  }
  batch.counts.clear();
  for (size_t i = 0; i < tallies_.size(); ++i) {
    while (const std::optional<MinuteReport> report = batch.metrics[i].PopAny()) {
      tallies_[i].Merge(*report);
      for (const engine::logmon::Series& series : report->series) {
        totals_[i].metric.Merge(series);
      }
      totals_[i].metric.Merge(report->overflow);
    }
  }
}

template <typename RemoveOne>
std::vector<FilterMinute> Ledger::RemoveEach(RemoveOne remove) {
  std::vector<FilterMinute> minutes;
  for (size_t i = 0; i < tallies_.size(); ++i) {
    while (std::optional<MinuteReport> report = remove(tallies_[i])) {
      minutes.push_back({i, *std::move(report)});
    }
  }
  return minutes;
}

std::vector<FilterMinute> Ledger::RemoveBefore(int64_t minute) {
  return RemoveEach([minute](Tally& tally) { return tally.PopEnded(minute); });
}

std::vector<FilterMinute> Ledger::RemoveAll() {
  return RemoveEach([](Tally& tally) { return tally.PopAny(); });
}

}  // namespace sluice::logmon
