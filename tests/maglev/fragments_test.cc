// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the contract of the table of first fragments (fragments.h).
#include "engine/maglev/fragments.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace sluice::engine::maglev {
namespace {

constexpr uint32_t kTimeout = 30;
constexpr uint32_t kArrival = 7000;

/// Returns tags that share a bucket in tables of up to 2^14 entries.
uint64_t CrowdedTag(uint64_t number) { return 0x123 | number << 12; }

TEST(FragmentTable, WhatAFirstFragmentDecidedIsFound) {
  FragmentTable table(1000, kTimeout);
  EXPECT_FALSE(table.Find(42, kArrival));
  table.Put(42, {65535, 65535}, 4095, kArrival);
  const auto found = table.Find(42, kArrival);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->backend, (BackendRef{65535, 65535}));
  EXPECT_EQ(found->vip, 4095);
  EXPECT_FALSE(table.Find(43, kArrival));
}

TEST(FragmentTable, ATagOfZeroIsATag) {
  FragmentTable table(1000, kTimeout);
  EXPECT_FALSE(table.Find(0, 0));
  table.Put(0, {1, 1}, 0, 0);
  EXPECT_TRUE(table.Find(0, 0));
}

TEST(FragmentTable, ItIsFoundWithinTheTimeoutAndNeverAgain) {
  FragmentTable table(1000, kTimeout);
  table.Put(42, {1, 1}, 0, kArrival);
  EXPECT_TRUE(table.Find(42, kArrival + kTimeout));
  for (const uint32_t later : {kTimeout + 1, 32768u, 65536u, 65536u + kTimeout, 1u << 31}) {
    EXPECT_FALSE(table.Find(42, kArrival + later)) << later;
  }
}

TEST(FragmentTable, ADatagramThatUsesTheIdentificationAgainReplacesTheFormer) {
  FragmentTable table(1000, kTimeout);
  for (uint64_t i = 0; i < 4; ++i) table.Put(CrowdedTag(i), {1, 1}, 1, kArrival);
  table.Put(CrowdedTag(2), {2, 1}, 3, kArrival + 10);
  EXPECT_EQ(table.Find(CrowdedTag(2), kArrival + 10)->backend.index, 2);
  EXPECT_EQ(table.Find(CrowdedTag(2), kArrival + 10)->vip, 3);
  EXPECT_TRUE(table.Find(CrowdedTag(2), kArrival + 10 + kTimeout));
  for (const uint64_t i : {0, 1, 3}) {
    EXPECT_EQ(table.Find(CrowdedTag(i), kArrival + 10)->backend.index, 1) << i;
  }
}

TEST(FragmentTable, OfAFullBucketTheOldestGivesWay) {
  FragmentTable table(1 << 12, kTimeout);
  const uint32_t put[] = {2, 1, 4, 3};
  for (uint64_t i = 0; i < 4; ++i) table.Put(CrowdedTag(i), {1, 1}, 0, kArrival + put[i]);
  table.Put(CrowdedTag(4), {1, 1}, 0, kArrival + 5);
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(table.Find(CrowdedTag(i), kArrival + 5).has_value(), i != 1) << i;
  }
  table.Put(CrowdedTag(5), {1, 1}, 0, kArrival + 6);
  EXPECT_FALSE(table.Find(CrowdedTag(0), kArrival + 6));
}

TEST(FragmentTable, TheOldestIsTheOldestThoughTheClockComesRound) {
  FragmentTable table(1 << 12, kTimeout);
  const uint32_t began = ~uint32_t{0} - 1;
  for (uint32_t i = 0; i < 5; ++i) table.Put(CrowdedTag(i), {1, 1}, 0, began + i);
  EXPECT_FALSE(table.Find(CrowdedTag(0), began + 5));
  for (uint64_t i = 1; i < 5; ++i) EXPECT_TRUE(table.Find(CrowdedTag(i), began + 5)) << i;
}

TEST(FragmentTable, CapacityIsAPowerOfTwo) {
  EXPECT_EQ(FragmentTable(0, kTimeout).capacity(), 4u);
  EXPECT_EQ(FragmentTable(5, kTimeout).capacity(), 8u);
  EXPECT_EQ(FragmentTable(1 << 14, kTimeout).capacity(), 1u << 14);
  EXPECT_EQ(FragmentTable((1 << 14) + 1, kTimeout).capacity(), 1u << 15);
}

TEST(FragmentTable, WhateverIsFoundWasPutLastUnderThatTag) {
  std::mt19937_64 random(1);
  FragmentTable table(256, kTimeout);
  std::unordered_map<uint64_t, std::pair<uint16_t, uint32_t>> model;  // Backend and second by tag.
  uint32_t second = 65536 - 100, found = 0, lost = 0;
  for (int step = 0; step < 100'000; ++step) {
    if (random() % 100 == 0) ++second;
    const uint64_t tag = (random() % 600) * 0x9e37'79b9'7f4a'7c15;
    const auto known = model.find(tag);
    const auto hit = table.Find(tag, second);
    const bool within = known != model.end() && second - known->second.second <= kTimeout;
    if (hit) {
      ASSERT_TRUE(within);
      ASSERT_EQ(hit->backend.index, known->second.first);
      ++found;
    } else {
      lost += within;
    }
    if (random() % 2 == 0) {
      const auto backend = static_cast<uint16_t>(random());
      table.Put(tag, {backend, 1}, 0, second);
      model[tag] = {backend, second};
      ASSERT_TRUE(table.Find(tag, second));
    }
  }
  EXPECT_GT(found, 10'000u);
  EXPECT_GT(lost, 100u);  // The table was full.
}

}  // namespace
}  // namespace sluice::engine::maglev
