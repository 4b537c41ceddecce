// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/link_watch.h"

#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

TEST(LinkWatch, SaysWhenTheLinkGoesDownAndComesUp) {
  LinkWatch watch("port a");
  EXPECT_EQ(watch.Look(true, 0), "");
  EXPECT_EQ(watch.Look(true, 0.5), "");
  EXPECT_EQ(watch.Look(false, 1.25), "    1.2 s  port a: link down");
  EXPECT_FALSE(watch.up());
  EXPECT_EQ(watch.Look(false, 2), "");
  EXPECT_EQ(watch.Look(true, 3.75), "    3.8 s  port a: link up, was down for 2.500 s");
  EXPECT_TRUE(watch.up());
  EXPECT_EQ(watch.Look(false, 5), "    5.0 s  port a: link down");
  watch.End(5.5);
  ASSERT_EQ(watch.downs().size(), 2u);
  EXPECT_EQ(watch.downs()[0].at_s, 1.25);
  EXPECT_EQ(watch.downs()[0].duration_s, 2.5);
  EXPECT_EQ(watch.downs()[1].at_s, 5);
  EXPECT_EQ(watch.downs()[1].duration_s, 0.5);
  EXPECT_EQ(watch.count(), 2u);
  EXPECT_EQ(watch.seconds(), 3);
}

TEST(LinkWatch, BearsWithAPortThatStarts) {
  LinkWatch watch("port a");
  EXPECT_EQ(watch.Look(false, 0), "");
  EXPECT_EQ(watch.Look(false, 0.9), "");
  EXPECT_EQ(watch.Look(true, 0.95), "");
  watch.End(2);
  EXPECT_EQ(watch.count(), 0u);
}

TEST(LinkWatch, SaysThatALinkIsDownSinceTheStart) {
  LinkWatch watch("port a");
  EXPECT_EQ(watch.Look(false, 0.1), "");
  EXPECT_EQ(watch.Look(false, 1), "    0.0 s  port a: link down");
  EXPECT_EQ(watch.Look(false, 2), "");
  watch.End(3);
  EXPECT_EQ(watch.seconds(), 3);
}

TEST(LinkWatch, CountsWhatItDoesNotKeep) {
  LinkWatch watch("port a");
  watch.Look(true, 0);
  for (int i = 1; i <= 100; ++i) {
    watch.Look(false, i);
    watch.Look(true, i + 0.5);
  }
  EXPECT_EQ(watch.downs().size(), LinkWatch::kMostKept);
  EXPECT_EQ(watch.count(), 100u);
  EXPECT_EQ(watch.seconds(), 50);
}

}  // namespace
}  // namespace sluice::runtime
