// SPDX-License-Identifier: BSD-3-Clause
#include "base/backoff.h"

#include <gtest/gtest.h>

namespace sluice::base {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheLongestPauseAndStartsAgain) {
  Backoff pauses(milliseconds(100), milliseconds(500));
  for (const int expected : {100, 200, 400, 500, 500}) {
    EXPECT_EQ(pauses.Next(), milliseconds(expected));
  }
  pauses.Reset();
  EXPECT_EQ(pauses.Next(), milliseconds(100));
}

}  // namespace
}  // namespace sluice::base
