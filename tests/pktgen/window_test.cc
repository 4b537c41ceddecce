// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the tags of frames, and compares windows of returned frames with std::set.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <set>
#include <span>

#include "engine/pktgen/sequence_window.h"
#include "engine/pktgen/tag.h"
#include "packet/checksum.h"

namespace sluice::engine::pktgen {
namespace {

using Marked = SequenceWindow::Marked;

const Tag kTag{.sequence = 0x1234'5678,
               .departure_ns = 0xab'cdef'0123,
               .worker = 5,
               .run = 0x9876,
               .stream = 17};

TEST(PktgenTag, LiesAsItIsDescribed) {
  std::array<uint8_t, kTagBytes> bytes;
  kTag.Store(bytes.data());
  const std::array<uint8_t, 14> expected{0x78, 0x56, 0x34, 0x12, 0x23, 0x01, 0xef,
                                         0xcd, 0xab, 5,    0x76, 0x98, 17,   0};
  EXPECT_TRUE(std::ranges::equal(expected, std::span(bytes).first(14)));
  Tag read;
  EXPECT_TRUE(Tag::Load(bytes.data(), &read));
  EXPECT_EQ(read, kTag);
}

TEST(PktgenTag, ShowsEveryWrongBit) {
  for (uint32_t bit = 0; bit < 8 * kTagBytes; ++bit) {
    std::array<uint8_t, kTagBytes> bytes;
    kTag.Store(bytes.data());
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    Tag read;
    EXPECT_FALSE(Tag::Load(bytes.data(), &read)) << bit;
  }
}

TEST(PktgenTag, NothingIsNone) {
  const std::array<uint8_t, kTagBytes> zeros{};
  Tag read;
  EXPECT_FALSE(Tag::Load(zeros.data(), &read));
}

// RFC 1071: the sum does not change, at any offset of the tag in the packet.
TEST(PktgenTag, LeavesChecksumsAlone) {
  std::mt19937 random(1);
  for (uint32_t offset : {0u, 1u, 2u, 7u}) {
    std::array<uint8_t, 64> packet{};
    for (uint8_t& byte : packet) byte = static_cast<uint8_t>(random());
    std::fill_n(packet.begin() + offset, kTagBytes, uint8_t{0});
    const uint16_t before = packet::FinishChecksum(packet::SumBytes(packet.data(), 64));
    for (int i = 0; i < 1000; ++i) {
      Tag{.sequence = static_cast<uint32_t>(random()),
          .departure_ns = random() & kDepartureMask,
          .worker = static_cast<uint8_t>(random()),
          .run = static_cast<uint16_t>(random()),
          .stream = static_cast<uint16_t>(random())}
          .Store(packet.data() + offset);
      ASSERT_EQ(packet::FinishChecksum(packet::SumBytes(packet.data(), 64)), before);
    }
  }
}

std::vector<Gone> RangesOf(const std::set<uint64_t>& missing) {
  std::vector<Gone> ranges;
  for (const uint64_t number : missing) {
    if (!ranges.empty() && ranges.back().first + ranges.back().count == number) {
      ++ranges.back().count;
    } else {
      ranges.push_back({number, 1});
    }
  }
  return ranges;
}

TEST(PktgenWindow, KnowsWhatCameLikeASet) {
  constexpr uint64_t kNumbers = 16 * SequenceWindow::kMargin;
  for (const bool shared : {false, true}) {
    std::mt19937_64 random(3);
    SequenceWindow window(kNumbers, shared);
    std::set<uint64_t> came;
    std::set<uint64_t> missing;
    std::deque<uint64_t> under_way;
    uint64_t next = 0;
    while (next < 5 * kNumbers) {
      const uint64_t more = random() % 64;
      window.Reach(next + more);
      for (uint64_t i = 0; i < more; ++i, ++next) {
        // Losses are rare, so that all ranges stay in use.
        if (random() % 4000 == 0) {
          missing.insert(next);
        } else {
          under_way.push_back(next);
        }
      }
      while (under_way.size() > 500) {
        const size_t which = random() % 100;  // Frames arrive out of order.
        const uint64_t number = under_way[which];
        if (random() % 50 != 0) under_way.erase(under_way.begin() + static_cast<long>(which));
        uint64_t found = 0;
        const Marked marked = window.Mark(static_cast<uint32_t>(number), &found);
        ASSERT_EQ(found, number);
        // Ignores numbers that happened to stay in flight until the window had moved past them.
        if (next - number < kNumbers - SequenceWindow::kMargin - 64) {
          ASSERT_EQ(marked, came.insert(number).second ? Marked::kNew : Marked::kTwice);
        }
      }
    }
    for (const uint64_t number : under_way) {
      if (!came.contains(number)) missing.insert(number);
    }
    std::vector<Gone> expected = RangesOf(missing);
    expected.resize(std::min(expected.size(), GoneList::kMost));
    EXPECT_EQ(window.Missing(next), expected);
  }
}

TEST(PktgenWindow, KnowsWhatWasNeverSent) {
  SequenceWindow window(16 * SequenceWindow::kMargin, false);
  uint64_t number = 0;
  EXPECT_EQ(window.Mark(0, &number), Marked::kUnsent);
  window.Reach(10);
  EXPECT_EQ(window.Mark(9, &number), Marked::kNew);
  EXPECT_EQ(window.Mark(10, &number), Marked::kUnsent);
  EXPECT_EQ(window.Mark(0x8000'0000, &number), Marked::kUnsent);
  EXPECT_EQ(window.Mark(0xffff'ffff, &number), Marked::kUnsent);
}

TEST(PktgenWindow, ExtendsNumbersBeyond32Bits) {
  SequenceWindow window(16 * SequenceWindow::kMargin, false);
  constexpr uint64_t kNext = (uint64_t{1} << 32) + 100;
  for (uint64_t next = 0; next < kNext; next += 4096) window.Reach(std::min(next, kNext));
  window.Reach(kNext);
  uint64_t number = 0;
  EXPECT_EQ(window.Mark(99, &number), Marked::kNew);
  EXPECT_EQ(number, kNext - 1);
  EXPECT_EQ(window.Mark(0xffff'ffff, &number), Marked::kNew);
  EXPECT_EQ(number, 0xffff'ffffu);
  EXPECT_EQ(window.Mark(100, &number), Marked::kUnsent);
}

TEST(PktgenWindow, CallsTheTooOldLate) {
  constexpr uint64_t kNumbers = 16 * SequenceWindow::kMargin;
  SequenceWindow window(kNumbers, false);
  for (uint64_t next = 0; next <= 2 * kNumbers; next += 64) window.Reach(next);
  uint64_t number = 0;
  EXPECT_EQ(window.Mark(5, &number), Marked::kLate);
  EXPECT_EQ(number, 5u);
  EXPECT_EQ(window.Missing(2 * kNumbers), (std::vector<Gone>{{0, 2 * kNumbers}}));
}

}  // namespace
}  // namespace sluice::engine::pktgen
