// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/metric/tally.h"

#include <algorithm>
#include <utility>

namespace sluice::engine::logmon {

void Series::Add(std::optional<double> value) {
  ++events;
  if (!value) return;
  min = values == 0 ? *value : std::min(min, *value);
  max = values == 0 ? *value : std::max(max, *value);
  sum += *value;
  ++values;
  if (histogram == nullptr) histogram = std::make_unique<ValueHistogram>();
  histogram->Record(*value);
}

void Series::Merge(const Series& other) {
  events += other.events;
  if (other.values == 0) return;
  min = values == 0 ? other.min : std::min(min, other.min);
  max = values == 0 ? other.max : std::max(max, other.max);
  sum += other.sum;
  values += other.values;
  if (histogram == nullptr) histogram = std::make_unique<ValueHistogram>();
  histogram->Merge(*other.histogram);
}

Tally::Tally(const TallyOptions& options)
    : options_(options), open_(std::max(options.minutes, 1u)) {}

Tally::Minute* Tally::MinuteOf(int64_t minute) {
  const auto count = static_cast<int64_t>(open_.size());
  auto& place = open_[static_cast<size_t>(((minute % count) + count) % count)];
  if (place && place->report.minute > minute) return nullptr;
  if (place && place->report.minute < minute) Close(place);
  if (!place) {
    place.emplace();
    place->report.minute = minute;
  }
  return &*place;
}

void Tally::AddLines(int64_t minute, uint64_t lines) {
  if (Minute* in = MinuteOf(minute)) {
    in->report.lines += lines;
  } else {
    late_ += lines;
  }
}

void Tally::AddEvent(int64_t minute, std::optional<double> value,
                     std::span<const std::string_view> dimensions) {
  Minute* in = MinuteOf(minute);
  if (in == nullptr) {
    ++late_;
    return;
  }
  SeriesOf(*in, dimensions).Add(value);
}

void Tally::Merge(const MinuteReport& report) {
  Minute* in = MinuteOf(report.minute);
  if (in == nullptr) {
    late_ += report.lines;
    for (const Series& series : report.series) late_ += series.events;
    late_ += report.overflow.events;
    return;
  }
  in->report.lines += report.lines;
  for (const Series& series : report.series) {
    SeriesOf(*in, std::span<const std::string>(series.dimensions)).Merge(series);
  }
  in->report.overflow.Merge(report.overflow);
}

template <typename Text>
Series& Tally::SeriesOf(Minute& in, std::span<const Text> dimensions) {
  key_.clear();
  for (const std::string_view text : dimensions) {
    const auto bytes = static_cast<uint32_t>(text.size());
    key_.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    key_ += text;
  }
  MinuteReport& report = in.report;
  const auto place = in.places.find(key_);
  if (place != in.places.end()) return report.series[place->second];
  if (report.series.size() >= options_.max_series) return report.overflow;
  in.places.emplace(key_, report.series.size());
  Series& series = report.series.emplace_back();
  for (const std::string_view text : dimensions) series.dimensions.emplace_back(text);
  return series;
}

void Tally::Close(std::optional<Minute>& minute) {
  MinuteReport report = std::move(minute->report);
  minute.reset();
  const bool has_events = !report.series.empty() || report.overflow.events > 0;
  if (!has_events && report.lines > 0 && options_.default_value) {
    Series& series = report.series.emplace_back();
    series.Add(options_.default_value);
    series.events = 0;
  }
  // Limits the memory used, because a clock that jumps back and forth can close minutes faster than
  // the caller reads them.
  if (closed_.size() >= 4 * open_.size()) {
    closed_.pop_front();
    ++lost_minutes_;
  }
  closed_.push_back(std::move(report));
}

std::optional<Tally::Minute>* Tally::FirstOpen(std::optional<int64_t> now) {
  const auto ahead = static_cast<int64_t>(open_.size());
  std::optional<Minute>* first = nullptr;
  for (auto& minute : open_) {
    if (!minute) continue;
    const int64_t number = minute->report.minute;
    if (now && number >= *now && number - *now < ahead) continue;
    if (first == nullptr || number < (*first)->report.minute) first = &minute;
  }
  return first;
}

std::optional<MinuteReport> Tally::PopFirst(std::optional<int64_t> now) {
  if (closed_.empty()) {
    std::optional<Minute>* first = FirstOpen(now);
    if (first == nullptr) return std::nullopt;
    Close(*first);
  }
  MinuteReport report = std::move(closed_.front());
  closed_.pop_front();
  return report;
}

}  // namespace sluice::engine::logmon
