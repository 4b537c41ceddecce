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

  // A period is so short that many lines are missed before the first look.
  RunSchedule late(0, 1e-5);
  usleep(10'000);
  EXPECT_TRUE(late.LineDue());
  EXPECT_LE(late.Rest(), 1e-5);
}

}  // namespace
}  // namespace sluice::host
