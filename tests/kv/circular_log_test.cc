// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/circular_log.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "kv/mebibyte.h"

namespace sluice::engine::kv {
namespace {

void WriteHead(CircularLog& log, uint64_t offset, uint64_t bytes) {
  log.item(offset)->lengths = Item::Lengths(8, bytes - Item::SizeOf(8, 0));
}

TEST(CircularLog, IsAPowerOfTwoOfAtLeastFourMebibytes) {
  EXPECT_EQ(CircularLog(0).bytes(), 4 * kMiB);
  EXPECT_EQ(CircularLog(4 * kMiB + 1).bytes(), 8 * kMiB);
  EXPECT_EQ(CircularLog(4 * kMiB).max_item_bytes(), kMiB);
  EXPECT_THROW(CircularLog(~uint64_t{0}), std::bad_alloc);
  EXPECT_THROW(CircularLog((uint64_t{1} << 47) + 1), std::bad_alloc);
}

TEST(CircularLog, DropsTheOldestInOrderAndNoneThatIsNotInTheWay) {
  struct Live {
    uint64_t offset, bytes;
  };
  for (const uint64_t longest : {uint64_t{64}, uint64_t{5000}, kMiB}) {
    CircularLog log(4 * kMiB);
    std::deque<Live> live;
    uint64_t live_bytes = 0;
    uint64_t dropped = 0;
    std::mt19937_64 random(longest);
    for (uint64_t appended = 0; appended < 40 * kMiB;) {
      uint64_t bytes = 40 + random() % longest / 8 * 8;
      bytes = std::min(bytes, log.max_item_bytes());
      for (const Live& item : live) {
        if (longest == 64) break;  // The list of live items is too long to check.
        ASSERT_LT(log.Age(item.offset), log.bytes());
      }
      const bool first_would_drop = !live.empty() && log.WouldDrop(live.front().offset, bytes);
      uint64_t now_dropped = 0;
      const uint64_t offset = log.Append(bytes, [&](uint64_t at, const Item& item) {
        ASSERT_FALSE(live.empty());
        ASSERT_EQ(at, live.front().offset);
        ASSERT_EQ(item.size(), live.front().bytes);
        live_bytes -= live.front().bytes;
        live.pop_front();
        ++now_dropped;
      });
      ASSERT_EQ(now_dropped > 0, first_would_drop);
      ASSERT_LE(offset + bytes, log.bytes());
      for (const Live& item : live) {
        if (longest == 64) break;
        ASSERT_TRUE(offset + bytes <= item.offset || item.offset + item.bytes <= offset);
      }
      ASSERT_EQ(log.Age(offset), bytes % log.bytes());
      WriteHead(log, offset, bytes);
      live.push_back({offset, bytes});
      live_bytes += bytes;
      dropped += now_dropped;
      appended += bytes;
      // The unused space is less than 3 MiB, and less than three of the longest items need.
      if (dropped > 0) {
        ASSERT_GT(live_bytes + 3 * std::min(longest + 40, kMiB), log.bytes());
      }
    }
    EXPECT_GT(dropped, 0u);
  }
}

TEST(CircularLog, AfterClearTheOldItemsAreNotSeenAgain) {
  CircularLog log(4 * kMiB);
  const auto unexpected = [](uint64_t, const Item&) { FAIL() << "dropped"; };
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 5; ++i) {
      const uint64_t bytes = 700'000 + 8 * i;
      WriteHead(log, log.Append(bytes, unexpected), bytes);
      if (i == 3) log.Clear();
    }
    log.Clear();
  }
}

}  // namespace
}  // namespace sluice::engine::kv
