// SPDX-License-Identifier: BSD-3-Clause
//
// The metric of one filter: counts of matching events and their values, by minute and dimensions.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/metric/value_histogram.h"

namespace sluice::engine::logmon {

/// Events of one minute with the same dimensions.
struct Series {
  std::vector<std::string> dimensions;  ///< Values in the order of the dimensions.
  uint64_t events = 0;
  uint64_t values = 0;  ///< Number of events with a value; 1 for the default value.
  double sum = 0, min = 0, max = 0;
  std::unique_ptr<ValueHistogram> histogram;  ///< Null without values.

  void Add(std::optional<double> value);
  /// Adds the events of `other`.
  void Merge(const Series& other);
};

struct MinuteReport {
  int64_t minute = 0;  ///< Minutes since 1970.
  uint64_t lines = 0;  ///< Number of all lines, matching or not.
  std::vector<Series> series;
  /// Events counted here after max_series is reached, because their dimensions differ from those of
  /// all series.
  Series overflow;
};

struct TallyOptions {
  uint32_t minutes = 5;      ///< Number of minutes that are open at the same time.
  uint32_t max_series = 50;  ///< Maximum number of series per minute.
  /// Value of a minute with lines but without matching events.
  std::optional<double> default_value = {};
};

/// Collects events, even if the clock steps or events arrive late. An event counts in its minute as
/// long as the minute is open or can be reopened. A minute that is reopened after its report is
/// reported again; the reports add up. Used by one thread.
class Tally {
 public:
  explicit Tally(const TallyOptions& options);

  void AddLines(int64_t minute, uint64_t lines);
  void AddEvent(int64_t minute, std::optional<double> value,
                std::span<const std::string_view> dimensions);

  /// Adds the lines and events of `report`, which comes from a tally without a default value.
  void Merge(const MinuteReport& report);

  /// Removes and returns a minute that is over: a minute before `now`, or a minute so far after
  /// `now` that a clock must have been wrong. Returns nullopt if there is none.
  std::optional<MinuteReport> PopEnded(int64_t now) { return PopFirst(now); }
  /// Like PopEnded, but also removes minutes that are not over. Used at shutdown.
  std::optional<MinuteReport> PopAny() { return PopFirst(std::nullopt); }

  /// Returns the number of events and lines whose minute could not be opened because a newer minute
  /// uses its slot.
  uint64_t late() const { return late_; }
  /// Returns the number of closed minutes that were dropped before the caller read them.
  uint64_t lost_minutes() const { return lost_minutes_; }

 private:
  struct Minute {
    MinuteReport report;
    absl::flat_hash_map<std::string, size_t> places;  // Indices of the series by their dimensions.
  };
  Minute* MinuteOf(int64_t minute);
  /// Returns the series with these dimensions, or the overflow series.
  template <typename Text>
  Series& SeriesOf(Minute& minute, std::span<const Text> dimensions);
  void Close(std::optional<Minute>& minute);
  /// Returns the earliest open minute that PopEnded may return at `now`, or the earliest open
  /// minute if `now` is not set. Returns null if there is no such minute.
  std::optional<Minute>* FirstOpen(std::optional<int64_t> now);
  std::optional<MinuteReport> PopFirst(std::optional<int64_t> now);

  const TallyOptions options_;
  std::vector<std::optional<Minute>> open_;  // Indexed by the minute's number modulo the size.
  std::deque<MinuteReport> closed_;
  std::string key_;
  uint64_t late_ = 0;
  uint64_t lost_minutes_ = 0;
};

}  // namespace sluice::engine::logmon
