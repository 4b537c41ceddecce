// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that Handover passes on each of the worker's counts exactly once. The suite `concurrent`
// also runs under ThreadSanitizer.
#include "runtime/handover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::runtime {
namespace {

using Numbers = std::vector<int>;

std::vector<int> ConsumeAll(Handover<Numbers>& handover) {
  std::vector<int> all;
  handover.Consume([&all](Numbers& half) {
    for (const int number : std::exchange(half, {})) all.push_back(number);
  });
  return all;
}

TEST(Handover, GivesWhenAskedAndAtRest) {
  Handover<Numbers> handover;
  handover.filling() = {1, 2};
  handover.AtRest();
  EXPECT_EQ(ConsumeAll(handover), Numbers{});  // There was no request before AtRest.
  handover.filling().push_back(3);
  EXPECT_EQ(ConsumeAll(handover),
            Numbers{});  // The worker has not called AtRest since the request.
  handover.AtRest();
  handover.filling().push_back(4);
  EXPECT_EQ(ConsumeAll(handover), (Numbers{1, 2, 3}));
  handover.AtRest();
  EXPECT_EQ(ConsumeAll(handover), Numbers{4});
}

TEST(Handover, GivesEverythingInTheEnd) {
  Handover<Numbers> handover;
  handover.filling() = {1};
  EXPECT_EQ(ConsumeAll(handover), Numbers{});
  handover.AtRest();
  handover.filling() = {2};
  handover.Leave();
  Numbers all = ConsumeAll(handover);
  std::ranges::sort(all);
  EXPECT_EQ(all, (Numbers{1, 2}));
  EXPECT_EQ(ConsumeAll(handover), Numbers{});
}

TEST(Handover, LosesNothingBetweenTwoThreads) {
  constexpr int kNumbers = 300'000;
  Handover<Numbers> handover;
  std::thread worker([&handover] {
    for (int i = 0; i < kNumbers; ++i) {
      handover.filling().push_back(i);
      if (i % 3 == 0) handover.AtRest();
    }
    handover.Leave();
  });
  Numbers taken;
  while (taken.size() < kNumbers / 2) {
    for (const int number : ConsumeAll(handover)) taken.push_back(number);
  }
  worker.join();
  for (const int number : ConsumeAll(handover)) taken.push_back(number);
  std::ranges::sort(taken);
  ASSERT_EQ(taken.size(), static_cast<size_t>(kNumbers));
  for (int i = 0; i < kNumbers; ++i) ASSERT_EQ(taken[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace sluice::runtime
