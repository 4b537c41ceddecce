// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/segregated_fit.h"

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <random>
#include <vector>

#include "kv/mebibyte.h"

namespace sluice::engine::kv {
namespace {

TEST(SegregatedFit, GivesAllOfItsMemoryAndTakesItBackAsOnePiece) {
  SegregatedFit heap(kMiB);
  std::vector<uint64_t> blocks;
  while (const auto block = heap.Allocate(64)) blocks.push_back(*block);
  EXPECT_EQ(blocks.size(), kMiB / 64);
  EXPECT_EQ(heap.allocated_bytes(), kMiB);
  EXPECT_TRUE(heap.IsConsistent());
  // Frees every other block first, so that each remaining block merges with both neighbors when it
  // is freed.
  for (size_t i = 0; i < blocks.size(); i += 2) heap.Free(blocks[i]);
  EXPECT_FALSE(heap.Allocate(65));
  EXPECT_TRUE(heap.IsConsistent());
  for (size_t i = 1; i < blocks.size(); i += 2) heap.Free(blocks[i]);
  EXPECT_EQ(heap.allocated_bytes(), 0u);
  EXPECT_TRUE(heap.IsConsistent());
  EXPECT_TRUE(heap.Allocate(kMiB));
}

TEST(SegregatedFit, RefusesWhatIsLongerThanAnyBlock) {
  SegregatedFit heap(kMiB);
  EXPECT_FALSE(heap.Allocate(kMiB + 8));
  EXPECT_FALSE(heap.Allocate(SegregatedFit::kMaxBlock + 8));
  EXPECT_THROW(SegregatedFit(~uint64_t{0}), std::bad_alloc);
}

TEST(SegregatedFit, ShrinksABlockInItsPlace) {
  SegregatedFit heap(4096);
  const auto block = heap.Allocate(4096);
  ASSERT_TRUE(block);
  heap.Shrink(*block, 4096 - 24);  // The remainder is smaller than a block.
  EXPECT_EQ(heap.allocated_bytes(), 4096u);
  heap.Shrink(*block, 1000);
  EXPECT_EQ(heap.allocated_bytes(), 1000u);
  EXPECT_TRUE(heap.IsConsistent());
  EXPECT_TRUE(heap.Allocate(3096));
  EXPECT_TRUE(heap.IsConsistent());
}

TEST(SegregatedFit, BlocksNeverOverlapWhateverTheOrder) {
  for (const uint64_t longest : {uint64_t{100}, uint64_t{3000}, uint64_t{200'000}}) {
    SegregatedFit heap(longest < 1000 ? 65536 : kMiB);
    std::map<uint64_t, uint64_t> live;  // Maps offset to size.
    std::mt19937_64 random(longest);
    uint64_t refused = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 5 < 3) {
        const uint64_t bytes = 1 + random() % longest;
        const auto block = heap.Allocate(bytes);
        if (!block) {
          ++refused;
          continue;
        }
        ASSERT_EQ(*block % 8, 0u);
        ASSERT_LE(*block + bytes, heap.bytes());
        const auto next = live.lower_bound(*block);
        if (next != live.end()) {
          ASSERT_LE(*block + bytes, next->first);
        }
        if (next != live.begin()) {
          ASSERT_LE(std::prev(next)->first + std::prev(next)->second, *block);
        }
        live[*block] = bytes;
      } else if (!live.empty()) {
        auto chosen = live.lower_bound(random() % heap.bytes());
        if (chosen == live.end()) chosen = live.begin();
        if (random() % 4 == 0) {
          chosen->second = 1 + random() % chosen->second;
          heap.Shrink(chosen->first, chosen->second);
        } else {
          heap.Free(chosen->first);
          live.erase(chosen);
        }
      }
      if (i % 64 == 0) {
        ASSERT_TRUE(heap.IsConsistent()) << i;
      }
    }
    EXPECT_GT(refused, 0u);
    for (const auto& [offset, bytes] : live) heap.Free(offset);
    EXPECT_TRUE(heap.IsConsistent());
    EXPECT_TRUE(heap.Allocate(heap.bytes()));
    heap.Clear();
    EXPECT_TRUE(heap.IsConsistent());
  }
}

TEST(SegregatedFit, StretchesLongerThanABlockCanSayAreSeveral) {
  // This uses mainly address space; only a few pages are touched.
  SegregatedFit heap(2 * SegregatedFit::kMaxBlock + 16);
  std::vector<uint64_t> blocks;
  while (const auto block = heap.Allocate(uint64_t{1} << 30)) blocks.push_back(*block);
  EXPECT_GE(blocks.size(), 7u);
  EXPECT_TRUE(heap.IsConsistent());
  for (const uint64_t block : blocks) heap.Free(block);
  EXPECT_TRUE(heap.IsConsistent());
  EXPECT_TRUE(heap.Allocate(uint64_t{3} << 30));
}

}  // namespace
}  // namespace sluice::engine::kv
