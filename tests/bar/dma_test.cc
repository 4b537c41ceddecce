// SPDX-License-Identifier: BSD-3-Clause
#include "bar/dma.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::bar {
namespace {

TEST(DmaSpace, TranslatesOnlyWhatLiesWhollyInOneRange) {
  std::vector<uint8_t> a(256), b(256);
  DmaSpace space;
  ASSERT_TRUE(space.Add(0x1000, a.data(), 256));
  ASSERT_TRUE(space.Add(0x1100, b.data(), 256));
  EXPECT_EQ(space.Translate(0x1000, 256), a.data());
  EXPECT_EQ(space.Translate(0x11ff, 1), b.data() + 255);
  EXPECT_EQ(space.Translate(0x1000, 257), nullptr) << "adjacent ranges are not one";
  EXPECT_EQ(space.Translate(0x0fff, 1), nullptr);
  EXPECT_EQ(space.Translate(0x1200, 1), nullptr);
  EXPECT_EQ(space.Translate(0x1010, ~uint64_t{0}), nullptr) << "length that wraps";
  EXPECT_EQ(space.Translate(~uint64_t{0}, 2), nullptr);
}

TEST(DmaSpace, RefusesOverlapsEmptyRangesAndWrapsAndForgetsWhatIsRemoved) {
  std::vector<uint8_t> memory(256);
  DmaSpace space;
  ASSERT_TRUE(space.Add(0x1000, memory.data(), 256));
  EXPECT_FALSE(space.Add(0x10ff, memory.data(), 1));
  EXPECT_FALSE(space.Add(0x0fff, memory.data(), 2));
  EXPECT_FALSE(space.Add(0x2000, memory.data(), 0));
  EXPECT_FALSE(space.Add(~uint64_t{0}, memory.data(), 16));
  space.Remove(0x1000);
  EXPECT_EQ(space.Translate(0x1000, 1), nullptr);
  EXPECT_TRUE(space.Add(0x10ff, memory.data(), 1));
}

TEST(DmaBatch, TranslatesAsItsSpaceDoes) {
  std::vector<uint8_t> memory(0x300);
  DmaSpace space;
  ASSERT_TRUE(space.Add(0x1000, memory.data(), 0x100));
  ASSERT_TRUE(space.Add(0x1100, memory.data() + 0x100, 0x100));
  ASSERT_TRUE(space.Add(0x2000, memory.data() + 0x200, 0x100));
  DmaBatch batch(space);
  for (const uint64_t bus :
       {0x0fffu, 0x1000u, 0x1080u, 0x10ffu, 0x1100u, 0x1fffu, 0x20ffu, 0x2100u, 0x1000u}) {
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{0x80},
                                 uint64_t{0x100}, uint64_t{0x101}, ~uint64_t{0}}) {
      EXPECT_EQ(batch.Translate(bus, bytes), space.Translate(bus, bytes)) << bus << " " << bytes;
    }
  }
}

TEST(DmaBatch, EndsWithTheCallOfTheDevice) {
  std::vector<uint8_t> memory(0x100);
  DmaSpace space;
  ASSERT_TRUE(space.Add(0x1000, memory.data(), 0x100));
  EXPECT_EQ(DmaBatch(space).Translate(0x1000, 1), memory.data());
  space.Remove(0x1000);
  EXPECT_EQ(DmaBatch(space).Translate(0x1000, 1), nullptr);
}

TEST(DmaSpace, HoldsAFixedNumberOfRanges) {
  std::vector<uint8_t> memory(DmaSpace::kMaxRanges + 1);
  DmaSpace space;
  for (uint32_t i = 0; i < DmaSpace::kMaxRanges; ++i) ASSERT_TRUE(space.Add(2 * i, &memory[i], 1));
  EXPECT_FALSE(space.Add(1'000'000, &memory[0], 1));
  for (uint32_t i = 0; i < DmaSpace::kMaxRanges; ++i)
    ASSERT_EQ(space.Translate(2 * i, 1), &memory[i]);
}

TEST(DmaSpace, ReplaceMergesAndSplitsRangesAndIsAllOrNothing) {
  std::vector<uint8_t> memory(0x300);
  DmaSpace space;
  ASSERT_TRUE(space.Add(0x1000, memory.data(), 0x100));
  ASSERT_TRUE(space.Add(0x1200, memory.data() + 0x200, 0x100));
  const DmaSpace::Mapping whole = {0x1000, memory.data(), 0x300};
  const uint64_t first_only[] = {0x1000};
  EXPECT_FALSE(space.Replace(first_only, {&whole, 1})) << "overlaps the range that stays";
  EXPECT_EQ(space.Translate(0x1000, 0x100), memory.data()) << "a refusal changes nothing";

  const uint64_t both[] = {0x1000, 0x1200};
  ASSERT_TRUE(space.Replace(both, {&whole, 1}));
  EXPECT_EQ(space.Translate(0x1000, 0x300), memory.data());

  const DmaSpace::Mapping pieces[] = {{0x1000, memory.data(), 0x80},
                                      {0x1180, memory.data() + 0x180, 0x180}};
  ASSERT_TRUE(space.Replace(first_only, pieces));
  EXPECT_EQ(space.Translate(0x107f, 1), memory.data() + 0x7f);
  EXPECT_EQ(space.Translate(0x1080, 1), nullptr);
  EXPECT_EQ(space.Translate(0x117f, 1), nullptr);
  EXPECT_EQ(space.Translate(0x1180, 0x180), memory.data() + 0x180);
  const DmaSpace::Mapping overlapping[] = {{0x5000, memory.data(), 2}, {0x5001, memory.data(), 2}};
  EXPECT_FALSE(space.Replace({}, overlapping)) << "additions that overlap each other";
}

}  // namespace
}  // namespace sluice::bar
