// SPDX-License-Identifier: BSD-3-Clause
#include "host/run_schedule.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

namespace sluice::host {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(RunSchedule, WithoutDurationAndLinesHasNoEvent) {
  RunSchedule schedule(0, 0);
  usleep(2'000);
  EXPECT_GE(schedule.Seconds(), 0.002);
  EXPECT_FALSE(schedule.IsOver());
  EXPECT_FALSE(schedule.LineDue());
  EXPECT_EQ(schedule.Rest(), kNever);
}

TEST(RunSchedule, EndsAfterItsDuration) {
  const RunSchedule schedule(0.01, 0);
  EXPECT_LE(schedule.Rest(), 0.01);
  while (schedule.Seconds() < 0.01) usleep(1'000);
  EXPECT_TRUE(schedule.IsOver());
  EXPECT_EQ(schedule.Rest(), 0);
}

TEST(RunSchedule, ReportsALineOnceAndSkipsMissedLines) {
  RunSchedule schedule(0, 3600);
  EXPECT_FALSE(schedule.LineDue());
  EXPECT_GT(schedule.Rest(), 0);
  EXPECT_LE(schedule.Rest(), 3600);

  // Lines are missed before the first look. The second look is within the next period, unless this
  // thread does not get a CPU for that long.
  for (double period_s = 0.02;; period_s *= 4) {
    RunSchedule late(0, period_s);
    while (late.Seconds() < 2.2 * period_s) usleep(1'000);
    EXPECT_TRUE(late.LineDue());
    const bool again = late.LineDue();
    const double rest_s = late.Rest();
    if (late.Seconds() > 2.9 * period_s) continue;
    EXPECT_FALSE(again);
    EXPECT_GT(rest_s, 0);
    EXPECT_LE(rest_s, period_s);
    break;
  }
}

}  // namespace
}  // namespace sluice::host
