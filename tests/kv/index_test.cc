// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/index.h"

#include <gtest/gtest.h>

namespace sluice::engine::kv {
namespace {

TEST(Index, AChainTakesAllExtraBucketsAndNotOneMore) {
  constexpr uint32_t kExtra = 3;
  Index index(2, kExtra);
  Bucket& head = index.bucket(1);
  Slot slot = 0;
  while (slot < 1000 && index.Add(head, slot + 1)) ++slot;
  EXPECT_EQ(slot, Slot{Bucket::kSlots} * (1 + kExtra));
  EXPECT_EQ(index.extra_in_use(), kExtra);
  Slot found = 0;
  for (Bucket* bucket = &head; bucket != nullptr; bucket = index.Next(*bucket)) {
    for (const Slot held : bucket->slots) EXPECT_EQ(held, ++found);
  }
  EXPECT_EQ(found, slot);
}

TEST(Index, ABucketThatWasFreedIsTakenAgain) {
  Index index(2, 1);
  for (uint32_t round = 0; round < 3; ++round) {
    for (const uint32_t at : {0u, 1u}) {
      Bucket& head = index.bucket(at);
      for (Slot slot = 1; slot <= Bucket::kSlots + 1; ++slot) ASSERT_TRUE(index.Add(head, slot));
      EXPECT_EQ(index.extra_in_use(), 1u);
      for (int left = Bucket::kSlots + 1; left > 0; --left) index.Remove(head, head.slots[0]);
      EXPECT_EQ(index.extra_in_use(), 0u);
    }
  }
}

TEST(Index, ATagMatchesOnlyTheTagsOfSlots) {
  Bucket bucket{.version = 0x0005'0005, .next = 0x0005'0005, .slots = {}};
  bucket.slots[0] = MakeSlot(6, 0x0005'0005'0005);
  bucket.slots[3] = MakeSlot(5, 8);
  bucket.slots[6] = MakeSlot(5, 0x0005'0005'0005);
  EXPECT_EQ(bucket.Matches(5), 1u << 3 | 1u << 6);
  EXPECT_EQ(TagOf(0xabcd'0000), 1u);
  EXPECT_EQ(bucket.Matches(TagOf(0)), 0u) << "empty slots match no key";
}

}  // namespace
}  // namespace sluice::engine::kv
