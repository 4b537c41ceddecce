// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/logmon/metric/alert.h"
#include "engine/logmon/metric/dimensions.h"
#include "engine/logmon/metric/tally.h"
#include "engine/logmon/metric/value_histogram.h"

namespace sluice::engine::logmon {
namespace {

TEST(ValueHistogram, PercentilesAreOffByLessThanItsBuckets) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> values(0, 4);
  ValueHistogram histogram;
  std::vector<double> sorted;
  for (int i = 0; i < 10'000; ++i) {
    sorted.push_back(values(random));
    histogram.Record(sorted.back());
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = sorted[static_cast<size_t>(std::ceil(share * 10'000)) - 1];
    EXPECT_NEAR(histogram.Percentile(share), exact, exact * 0.032) << share;
  }
}

TEST(ValueHistogram, HoldsAnyFiniteValue) {
  ValueHistogram histogram;
  EXPECT_EQ(histogram.Percentile(0.5), 0);
  const double max = std::numeric_limits<double>::max();
  for (const double value : {-max, -1.0, 0.0, 1e-300, 1.0, max}) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(0), -max);
  EXPECT_EQ(histogram.Percentile(1), max);
  EXPECT_NEAR(histogram.Percentile(5.0 / 6), 1, 0.032);
  ValueHistogram one;
  one.Record(7.3);
  EXPECT_EQ(one.Percentile(0.5), 7.3);
}

TEST(ValueHistogram, MergedHasTheLeastAndTheGreatestOfAll) {
  // These values are outside the histogram's range, so only the minimum and maximum below are
  // known.
  const struct {
    std::vector<std::vector<double>> parts;
    double least, greatest;
  } kCases[] = {{{{-5, 1e15}, {-7, 3e15}, {-6, 2e15}}, -7, 3e15},
                {{{}, {1e-7, 1e15}, {}, {2e-7, 1e14}}, 1e-7, 1e15}};
  for (const auto& [parts, least, greatest] : kCases) {
    ValueHistogram merged;
    size_t count = 0;
    for (const std::vector<double>& values : parts) {
      ValueHistogram part;
      for (const double value : values) part.Record(value);
      merged.Merge(part);
      count += values.size();
    }
    EXPECT_EQ(merged.count(), count);
    EXPECT_EQ(merged.Percentile(0), least);
    EXPECT_EQ(merged.Percentile(1), greatest);
  }
}

TEST(ValueHistogram, HoldsMoreValuesThan32BitsCount) {
  ValueHistogram all;
  for (int i = 0; i < 3; ++i) all.Record(5);
  for (int i = 0; i < 33; ++i) all.Merge(ValueHistogram(all));
  EXPECT_EQ(all.count(), uint64_t{3} << 33);
  EXPECT_NEAR(all.Percentile(0.5), 5, 5 * 0.032);
  EXPECT_NEAR(all.Percentile(0.99), 5, 5 * 0.032);
}

TEST(Tally, CountsEventsAndValuesByMinute) {
  Tally tally({});
  tally.AddLines(10, 5);
  tally.AddEvent(10, 2.5, {});
  tally.AddEvent(10, std::nullopt, {});
  tally.AddEvent(10, -1, {});
  tally.AddEvent(11, 4, {});
  const auto report = tally.PopEnded(11);
  ASSERT_TRUE(report && report->series.size() == 1);
  EXPECT_EQ(report->minute, 10);
  EXPECT_EQ(report->lines, 5u);
  const Series& series = report->series[0];
  EXPECT_EQ(series.events, 3u);
  EXPECT_EQ(series.values, 2u);
  EXPECT_EQ(series.sum, 1.5);
  EXPECT_EQ(series.min, -1);
  EXPECT_EQ(series.max, 2.5);
  EXPECT_EQ(series.histogram->count(), 2u);
  EXPECT_FALSE(tally.PopEnded(11));
  EXPECT_EQ(tally.PopAny()->minute, 11);
  EXPECT_FALSE(tally.PopAny());
}

TEST(Tally, ReportsTheDefaultValueOfMinutesWithLinesOnly) {
  Tally tally({.default_value = 0.5});
  tally.AddLines(1, 3);
  tally.AddLines(2, 3);
  tally.AddEvent(2, 9, {});
  const auto without = tally.PopEnded(9), with = tally.PopEnded(9);
  ASSERT_TRUE(without && without->series.size() == 1);
  EXPECT_EQ(without->series[0].events, 0u);
  EXPECT_EQ(without->series[0].sum, 0.5);
  ASSERT_TRUE(with && with->series.size() == 1);
  EXPECT_EQ(with->series[0].sum, 9);
  EXPECT_FALSE(tally.PopEnded(9));
}

TEST(Tally, TellsDimensionsApartUpToItsBound) {
  Tally tally({.max_series = 2});
  using View = std::string_view;
  // These tuples would be equal if their texts were concatenated.
  const View ab_c[] = {"ab", "c"}, a_bc[] = {"a", "bc"}, other[] = {"x", "y"};
  tally.AddEvent(0, 1, ab_c);
  tally.AddEvent(0, 1, a_bc);
  tally.AddEvent(0, 1, ab_c);
  tally.AddEvent(0, 5, other);
  tally.AddEvent(0, 6, other);
  const auto report = tally.PopAny();
  ASSERT_EQ(report->series.size(), 2u);
  EXPECT_EQ(report->series[0].events, 2u);
  EXPECT_EQ(report->series[0].dimensions, (std::vector<std::string>{"ab", "c"}));
  EXPECT_EQ(report->series[1].events, 1u);
  EXPECT_EQ(report->overflow.events, 2u);
  EXPECT_EQ(report->overflow.sum, 11);
}

TEST(Tally, MergesWhatOthersCounted) {
  Tally one({}), other({}), both({.max_series = 2});
  const std::string_view a[] = {"a"}, b[] = {"b"}, c[] = {"c"};
  one.AddLines(7, 3);
  one.AddEvent(7, 1, a);
  other.AddLines(7, 4);
  other.AddEvent(7, -2, a);
  other.AddEvent(7, std::nullopt, b);
  other.AddEvent(7, 8, c);
  both.Merge(*one.PopAny());
  both.Merge(*other.PopAny());
  const auto report = both.PopAny();
  EXPECT_EQ(report->minute, 7);
  EXPECT_EQ(report->lines, 7u);
  ASSERT_EQ(report->series.size(), 2u);
  EXPECT_EQ(report->series[0].events, 2u);
  EXPECT_EQ(report->series[0].sum, -1);
  EXPECT_EQ(report->series[0].min, -2);
  EXPECT_EQ(report->series[0].max, 1);
  EXPECT_EQ(report->series[0].histogram->count(), 2u);
  EXPECT_EQ(report->series[1].values, 0u);
  EXPECT_EQ(report->overflow.sum, 8);
}

TEST(Tally, CountsLateEventsInTheirMinuteWhileItIsOpen) {
  Tally tally({.minutes = 3});
  tally.AddEvent(100, 1, {});
  tally.AddEvent(102, 1, {});
  tally.AddEvent(101, 1, {});
  tally.AddEvent(100, 1, {});
  EXPECT_EQ(tally.late(), 0u);
  tally.AddEvent(99, 1, {});  // The slot of minute 99 now belongs to minute 102.
  tally.AddLines(99, 2);
  EXPECT_EQ(tally.late(), 3u);
  EXPECT_EQ(tally.PopEnded(103)->series[0].events, 2u);
}

TEST(Tally, LosesNoEventToAClockThatStepsForthAndBack) {
  Tally tally({.minutes = 5});
  uint64_t events = 0, seen = 0;
  const auto take = [&](int64_t now) {
    while (auto report = tally.PopEnded(now)) {
      for (const Series& series : report->series) seen += series.events;
    }
  };
  for (const int64_t start : {1000L, 900'000L, 1010L, -500L, 1020L, 0L}) {
    for (int64_t minute = start; minute < start + 20; ++minute) {
      for (int i = 0; i < 3; ++i, ++events) tally.AddEvent(minute, 1, {});
      take(minute);
    }
  }
  while (auto report = tally.PopAny()) {
    for (const Series& series : report->series) seen += series.events;
  }
  // After each of the five clock steps, the three events of one minute may count as late, because a
  // minute with a wrong time still occupies their slot.
  EXPECT_EQ(seen + tally.late(), events);
  EXPECT_LE(tally.late(), 5u * 3);
  EXPECT_EQ(tally.lost_minutes(), 0u);
}

TEST(Tally, IsBoundedIfNobodyTakes) {
  Tally tally({.minutes = 2});
  for (int64_t minute = 0; minute < 100; ++minute) tally.AddEvent(minute, 1, {});
  int reports = 0;
  while (tally.PopAny()) ++reports;
  EXPECT_EQ(reports, 10);
  EXPECT_EQ(tally.lost_minutes(), 90u);
}

TEST(Dimensions, AreValuesOfTheLine) {
  std::string error;
  const auto filter = Filter::CloudWatch("{ $.a = * }", &error);
  const auto dimensions =
      Dimensions::Compile({{"A", "$.a"}, {"B", "$.b[0]"}, {"C", "$.c"}}, *filter, &error);
  ASSERT_TRUE(dimensions) << error;
  Scratch scratch;
  Dimensions::Values values;
  const std::string line = R"({"a":"x\ty","b":[1.5],"d":0})";
  dimensions->Of(line, scratch, values);
  EXPECT_EQ(values.texts[0], "x\ty");
  EXPECT_EQ(values.texts[1], "1.5");
  EXPECT_EQ(values.texts[2], "");
  const std::string longer = "{\"a\":\"" + std::string(300, 'x') + "\"}";
  dimensions->Of(longer, scratch, values);
  EXPECT_EQ(values.texts[0].size(), 255u);
}

TEST(Dimensions, AreAtMostThreeWithNames) {
  std::string error;
  const auto filter = Filter::CloudWatch("[a, b]", &error);
  using List = std::vector<Dimensions::Named>;
  EXPECT_TRUE(Dimensions::Compile(List{{"x", "$a"}, {"y", "$b"}}, *filter, &error));
  EXPECT_FALSE(Dimensions::Compile(List(4, {"x", "$a"}), *filter, &error));
  EXPECT_EQ(error, "a metric may have at most three dimensions");
  EXPECT_FALSE(Dimensions::Compile(List(2, {"x", "$a"}), *filter, &error));
  EXPECT_FALSE(Dimensions::Compile(List{{"", "$a"}}, *filter, &error));
  EXPECT_EQ(error, "each dimension must have a unique name");
  EXPECT_FALSE(Dimensions::Compile(List{{"x", "$c"}}, *filter, &error));
}

Alert Make(uint64_t threshold, uint64_t window, bool sliding) {
  std::string error;
  return *Alert::Create({threshold, window, sliding}, &error);
}
using Edge = Alert::Edge;

TEST(Alerts, FireOnceUntilThereAreFewerEvents) {
  Alert alert = Make(3, 10, true);
  EXPECT_EQ(alert.OnEvent(100), Edge::kNone);
  EXPECT_EQ(alert.OnEvent(105), Edge::kNone);
  EXPECT_EQ(alert.OnEvent(109), Edge::kFired);
  EXPECT_EQ(alert.OnEvent(109), Edge::kNone);
  EXPECT_EQ(alert.OnTime(114), Edge::kNone);  // Events at 105, 109 and 109 count.
  EXPECT_EQ(alert.OnTime(115), Edge::kCleared);
  EXPECT_EQ(alert.OnEvent(116), Edge::kFired);
  EXPECT_TRUE(alert.is_firing());
}

TEST(Alerts, OfSlidingWindowsCountExactly) {
  std::mt19937_64 random(2);
  Alert alert = Make(5, 20, true);
  std::deque<uint64_t> events;
  bool firing = false;
  uint64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += random() % 8;
    const bool is_event = random() % 4 != 0;
    while (!events.empty() && now - events.front() >= 20) events.pop_front();
    if (events.size() < 5 && is_event) firing = false;
    if (is_event) events.push_back(now);
    const bool reached = events.size() >= 5;
    const Edge expected = reached == firing ? Edge::kNone : reached ? Edge::kFired : Edge::kCleared;
    firing = reached;
    ASSERT_EQ(is_event ? alert.OnEvent(now) : alert.OnTime(now), expected) << i;
  }
}

TEST(Alerts, OfFixedWindowsCountFromZero) {
  Alert alert = Make(2, 10, false);
  EXPECT_EQ(alert.OnEvent(9), Edge::kNone);
  EXPECT_EQ(alert.OnEvent(10), Edge::kNone);  // The next window.
  EXPECT_EQ(alert.OnEvent(19), Edge::kFired);
  EXPECT_EQ(alert.OnEvent(20), Edge::kNone);
  EXPECT_EQ(alert.OnEvent(21), Edge::kNone);  // The value did not fall below the threshold.
  EXPECT_EQ(alert.OnTime(30), Edge::kNone);
  EXPECT_EQ(alert.OnTime(40), Edge::kCleared);  // The window from 30 was empty.
  EXPECT_EQ(alert.OnEvent(41), Edge::kNone);
  EXPECT_EQ(alert.OnEvent(42), Edge::kFired);
}

TEST(Alerts, AreAtRestWhenNoEventCounts) {
  Alert sliding = Make(2, 10, true), fixed = Make(2, 10, false);
  for (Alert* alert : {&sliding, &fixed}) {
    EXPECT_TRUE(alert->IsAtRest(5));
    alert->OnEvent(5);
    EXPECT_FALSE(alert->IsAtRest(9));
    EXPECT_EQ(alert->IsAtRest(10), alert == &fixed);  // Another window begins at 10.
    EXPECT_EQ(alert->IsAtRest(14), alert == &fixed);
    EXPECT_TRUE(alert->IsAtRest(15));
    alert->OnEvent(16);
    EXPECT_EQ(alert->OnEvent(17), Edge::kFired);
    EXPECT_FALSE(alert->IsAtRest(50)) << "the clear has not been reported";
    EXPECT_EQ(alert->OnTime(50), Edge::kCleared);
    EXPECT_TRUE(alert->IsAtRest(50));
  }
}

TEST(Alerts, BearClockSteps) {
  for (const bool sliding : {true, false}) {
    Alert alert = Make(2, 10, sliding);
    EXPECT_EQ(alert.OnEvent(1'000'000), Edge::kNone);
    EXPECT_EQ(alert.OnEvent(5), Edge::kNone);   // Too far in the past; ignored.
    EXPECT_EQ(alert.OnEvent(4), Edge::kFired);  // Slightly in the past; counts at 5.
    EXPECT_EQ(alert.OnTime(UINT64_MAX), Edge::kCleared);
    EXPECT_EQ(alert.OnEvent(0), Edge::kNone);
  }
}

TEST(Alerts, HaveBounds) {
  std::string error;
  EXPECT_FALSE(Alert::Create({.threshold = 0}, &error));
  EXPECT_FALSE(Alert::Create({.threshold = kMaxAlertThreshold + 1}, &error));
  EXPECT_FALSE(Alert::Create({.window = 0}, &error));
}

}  // namespace
}  // namespace sluice::engine::logmon
