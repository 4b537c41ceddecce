// SPDX-License-Identifier: BSD-3-Clause
//
// One filter's metric: matching events and their values by minute and by dimensions.
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

/// Events of one minute that have the same dimensions.
struct Series {
  std::vector<std::string> dimensions;  ///< Values, by dimension.
  uint64_t events = 0;
  uint64_t values = 0;  ///< Events that had one, or 1 for the default value.
  double sum = 0, min = 0, max = 0;
  std::unique_ptr<ValueHistogram> histogram;  ///< Null without values.

  void Add(std::optional<double> value);
  /// As if all of `other` had been added here.
  void Merge(const Series& other);
};

struct MinuteReport {
  int64_t minute = 0;  ///< Since 1970.
  uint64_t lines = 0;  ///< Matching or not.
  std::vector<Series> series;
  Series overflow;  ///< Of all dimensions for which there was no room; mostly without events.
};

struct TallyOptions {
  uint32_t minutes = 5;      ///< That are open at a time.
  uint32_t max_series = 50;  ///< In a minute.
  /// What a minute counts that had lines, and no event that matched.
  std::optional<double> default_value = {};
};

/// Clocks step, and events come late: an event is counted in its own minute as long as that is
/// open, or can be opened again; what was reported before is then reported in two parts, which add
/// up. One thread's.
class Tally {
 public:
  explicit Tally(const TallyOptions& options);

  void AddLines(int64_t minute, uint64_t lines);
  void AddEvent(int64_t minute, std::optional<double> value,
                std::span<const std::string_view> dimensions);

  /// As if the lines and events of `report`, another tally's without a default value, had been
  /// added here.
  void Merge(const MinuteReport& report);

  /// A minute that is over: before `now`, or so far ahead that a clock must have been wrong.
  /// Nothing if there is none (left).
  std::optional<MinuteReport> Take(int64_t now) { return TakeFirst(now); }
  /// The minutes that are open, too: for the end.
  std::optional<MinuteReport> TakeAny() { return TakeFirst(std::nullopt); }

  /// Events and lines whose minute has a newer one in its place.
  uint64_t late() const { return late_; }
  /// Minutes that nobody took in time.
  uint64_t lost_minutes() const { return lost_minutes_; }

 private:
  struct Minute {
    MinuteReport report;
    absl::flat_hash_map<std::string, size_t> places;  // Of series, by their dimensions.
  };
  Minute* MinuteOf(int64_t minute);
  /// Those of events with these dimensions, or of the overflow.
  template <typename Text>
  Series& SeriesOf(Minute& minute, std::span<const Text> dimensions);
  void Close(std::optional<Minute>& minute);
  /// The earliest of those that are over at `now`, or of all; null if there is none.
  std::optional<Minute>* FirstOpen(std::optional<int64_t> now);
  std::optional<MinuteReport> TakeFirst(std::optional<int64_t> now);

  const TallyOptions options_;
  std::vector<std::optional<Minute>> open_;  // A minute's place is its number modulo their count.
  std::deque<MinuteReport> closed_;
  std::string key_;
  uint64_t late_ = 0;
  uint64_t lost_minutes_ = 0;
};

}  // namespace sluice::engine::logmon
