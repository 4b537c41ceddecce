// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the vectors of this processor, and the portable vectors, with scalar loops.
#include "cpu/vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <random>
#include <vector>

namespace sluice::cpu {
namespace {

using Lanes = std::array<uint32_t, 4>;
using Halves = std::array<uint64_t, 2>;
using Sixteen = std::array<uint8_t, 16>;

Words Make(const Lanes& lanes) { return std::bit_cast<Words>(lanes); }
Lanes Read(Words vector) { return std::bit_cast<Lanes>(vector); }
Halves HalvesOf(const Lanes& lanes) { return std::bit_cast<Halves>(lanes); }

/// Returns samples with every edge value in every lane, and random samples.
std::vector<Lanes> Samples() {
  constexpr std::array<uint32_t, 8> kEdges = {0,           1,           2,           0x7fffffff,
                                              0x80000000u, 0x80000001u, 0xfffffffeu, 0xffffffffu};
  std::vector<Lanes> samples;
  for (size_t i = 0; i < kEdges.size(); ++i) {
    samples.push_back({kEdges[i], kEdges[(i + 1) % 8], kEdges[(i + 3) % 8], kEdges[(i + 6) % 8]});
  }
  std::mt19937 random(1);
  for (int i = 0; i < 64; ++i) {
    Lanes lanes;
    for (uint32_t& lane : lanes) lane = static_cast<uint32_t>(random());
    samples.push_back(lanes);
  }
  return samples;
}

/// Compares the results for all pairs of samples, either per lane or for the whole vector.
template <typename Result, typename Native, typename Portable>
void ExpectOfAll(Native native, Portable portable,
                 const std::function<Result(const Lanes&, const Lanes&)>& expected) {
  const std::vector<Lanes> samples = Samples();
  for (const Lanes& a : samples) {
    for (const Lanes& b : samples) {
      const Result result = expected(a, b);
      ASSERT_EQ(native(Make(a), Make(b)), result);
      ASSERT_EQ(portable(Make(a), Make(b)), result);
    }
  }
}
#define EXPECT_LANES(function, ...)                                         \
  ExpectOfAll<Lanes>([](Words a, Words b) { return Read(function(a, b)); }, \
                     [](Words a, Words b) { return Read(portable::function(a, b)); }, __VA_ARGS__)
#define EXPECT_VALUE(Type, function, ...)                               \
  ExpectOfAll<Type>([](Words a, Words) -> Type { return function(a); }, \
                    [](Words a, Words) -> Type { return portable::function(a); }, __VA_ARGS__)

Lanes EachLane(const Lanes& a, const Lanes& b, uint32_t (*of)(uint32_t, uint32_t)) {
  return {of(a[0], b[0]), of(a[1], b[1]), of(a[2], b[2]), of(a[3], b[3])};
}

TEST(Vector, OfEachLane) {
  EXPECT_LANES(Least, [](const Lanes& a, const Lanes& b) {
    return EachLane(a, b, [](uint32_t x, uint32_t y) { return std::min(x, y); });
  });
  EXPECT_LANES(EqualLanes, [](const Lanes& a, const Lanes& b) {
    return EachLane(a, b, [](uint32_t x, uint32_t y) { return x == y ? ~0u : 0u; });
  });
  ExpectOfAll<Lanes>([](Words a, Words) { return Read(Doubled(a)); },
                     [](Words a, Words) { return Read(portable::Doubled(a)); },
                     [](const Lanes& a, const Lanes& b) {
                       return EachLane(a, b, [](uint32_t x, uint32_t) { return 2 * x; });
                     });
}

TEST(Vector, OfLanesThatMove) {
  EXPECT_LANES(LowHalves, [](const Lanes& a, const Lanes& b) {
    return Lanes{a[0], a[1], b[0], b[1]};
  });
  EXPECT_LANES(HighHalves, [](const Lanes& a, const Lanes& b) {
    return Lanes{a[2], a[3], b[2], b[3]};
  });
  EXPECT_LANES(InterleaveHigh, [](const Lanes& a, const Lanes& b) {
    return Lanes{a[2], b[2], a[3], b[3]};
  });
  EXPECT_LANES(FirstSixOf, [](const Lanes& a, const Lanes& b) {
    return Lanes{a[0], (a[1] & 0xffff) | (b[1] & 0xffff0000), b[2], b[3]};
  });
}

TEST(Vector, OfTheWhole) {
  EXPECT_VALUE(uint64_t, LowHalf, [](const Lanes& a, const Lanes&) { return HalvesOf(a)[0]; });
  EXPECT_VALUE(uint64_t, HighHalf, [](const Lanes& a, const Lanes&) { return HalvesOf(a)[1]; });
  EXPECT_VALUE(uint32_t, Sum,
               [](const Lanes& a, const Lanes&) { return a[0] + a[1] + a[2] + a[3]; });
  EXPECT_VALUE(uint32_t, SignBits, [](const Lanes& a, const Lanes&) {
    return a[0] >> 31 | a[1] >> 31 << 1 | a[2] >> 31 << 2 | a[3] >> 31 << 3;
  });
  ExpectOfAll<bool>(
      [](Words a, Words b) { return SignsWithin(a, b); },
      [](Words a, Words b) { return portable::SignsWithin(a, b); },
      [](const Lanes& a, const Lanes& b) {
        return ((a[0] & ~b[0]) | (a[1] & ~b[1]) | (a[2] & ~b[2]) | (a[3] & ~b[3])) >> 31 == 0;
      });
  ExpectOfAll<bool>([](Words a, Words b) { return AnyInCommon(a, b); },
                    [](Words a, Words b) { return portable::AnyInCommon(a, b); },
                    [](const Lanes& a, const Lanes& b) {
                      return ((a[0] & b[0]) | (a[1] & b[1]) | (a[2] & b[2]) | (a[3] & b[3])) != 0;
                    });
}

TEST(Vector, PicksBytesAndZeroes) {
  const auto bytes =
      std::bit_cast<Words>(Sixteen{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25});
  const Sixteen expected = {20, 21, 0, 0, 18, 19, 0, 0, 18, 19, 0, 0, 10, 11, 12, 25};
  EXPECT_EQ(std::bit_cast<Sixteen>(
                PickBytes<10, 11, -1, -1, 8, 9, -1, -1, 8, 9, -1, -1, 0, 1, 2, 15>(bytes)),
            expected);
  EXPECT_EQ(
      std::bit_cast<Sixteen>(
          portable::PickBytes<10, 11, -1, -1, 8, 9, -1, -1, 8, 9, -1, -1, 0, 1, 2, 15>(bytes)),
      expected);
}

TEST(Vector, LoadsAndStoresAtAnyAddress) {
  for (size_t at = 0; at < 16; ++at) {
    alignas(16) std::array<uint8_t, 48> from, native, portable;
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i + 1);
    native.fill(0);
    portable.fill(0);
    Store(&native[at], Load(&from[16 - at]));
    portable::Store(&portable[at], portable::Load(&from[16 - at]));
    EXPECT_EQ(native, portable);
    EXPECT_TRUE(std::equal(&native[at], &native[at] + 16, &from[16 - at]));
    EXPECT_EQ(std::count(native.begin(), native.end(), 0), 32);
  }
  alignas(16) Lanes aligned = {1, 2, 3, 4}, copy{};
  StoreAligned(&copy, LoadAligned(&aligned));
  EXPECT_EQ(copy, aligned);
  portable::StoreAligned(&copy, portable::LoadAligned(&aligned) + AllOf(1));
  EXPECT_EQ(copy, (Lanes{2, 3, 4, 5}));
}

TEST(Vector, IsMadeOfNumbers) {
  EXPECT_EQ(Read(AllOf(7)), (Lanes{7, 7, 7, 7}));
  EXPECT_EQ(Read(FromLongs(0x1'0000'0002, 0x3'0000'0004)), (Lanes{2, 1, 4, 3}));
  EXPECT_EQ(Read(AddLongs(FromLongs(0xffff'ffff, ~uint64_t{0}), FromLongs(1, 1))),
            (Lanes{0, 1, 0, 0}));
}

TEST(BytesOfMemory, AreEqualUnderAMaskThatExcludesTheirDifference) {
  using Bytes32 = std::array<uint8_t, 33>;
  std::mt19937 random(3);
  Bytes32 a, mask;
  for (uint8_t& byte : a) byte = static_cast<uint8_t>(random());
  for (uint8_t& byte : mask) byte = static_cast<uint8_t>(random());
  EXPECT_TRUE(EqualUnder(&a[1], &a[1], &mask[1]));
  for (size_t bit = 8; bit < 8 * a.size(); ++bit) {
    Bytes32 b = a;
    const auto flipped = static_cast<uint8_t>(1 << bit % 8);
    b[bit / 8] ^= flipped;
    const bool equal = (mask[bit / 8] & flipped) == 0;
    ASSERT_EQ(EqualUnder(&a[1], &b[1], &mask[1]), equal) << bit;
    ASSERT_EQ(portable::EqualUnder(&a[1], &b[1], &mask[1]), equal) << bit;
  }
}

TEST(WordsOfMemory, ThatAreEqualHaveABitEach) {
  for (uint32_t wanted = 0; wanted < 16; ++wanted) {
    alignas(32) std::array<uint64_t, 4> words;
    for (uint32_t i = 0; i < 4; ++i) words[i] = (wanted >> i & 1) != 0 ? 0x1234'0000'5678 : i;
    EXPECT_EQ(EqualOf4(words.data(), 0x1234'0000'5678), wanted);
    EXPECT_EQ(portable::EqualOf4(words.data(), 0x1234'0000'5678), wanted);
  }
}

TEST(WordsOfMemory, WhoseTopsAreEqualHaveABitEach) {
  std::mt19937_64 random(2);
  for (uint32_t wanted = 0; wanted < 256; ++wanted) {
    alignas(64) std::array<uint64_t, 8> words;
    for (uint32_t i = 0; i < 8; ++i) {
      const uint64_t top = (wanted >> i & 1) != 0 ? 0xfedc : 0xfedd - 2 * (i % 2);
      words[i] = top << 48 | random() >> 16;
    }
    EXPECT_EQ(TopsEqualOf8(words.data(), 0xfedc), wanted);
    EXPECT_EQ(portable::TopsEqualOf8(words.data(), 0xfedc), wanted);
  }
  // Only the highest 16 bits of a word may differ from the value.
  for (const uint16_t value : {0x0001, 0x7fff, 0x8000, 0xffff}) {
    const uint64_t below = uint64_t{value} << 32 | uint64_t{value} << 16 | value;
    for (uint32_t wanted = 0; wanted < 256; ++wanted) {
      alignas(64) std::array<uint64_t, 8> words;
      for (uint32_t i = 0; i < 8; ++i) {
        const uint64_t wrong = (wanted >> i & 1) != 0 ? 0 : uint64_t{1} << random() % 16;
        words[i] = (value ^ wrong) << 48 | below;
      }
      EXPECT_EQ(TopsEqualOf8(words.data(), value), wanted);
      EXPECT_EQ(portable::TopsEqualOf8(words.data(), value), wanted);
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
