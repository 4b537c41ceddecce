// SPDX-License-Identifier: BSD-3-Clause
#include "packet/checksum.h"

#include <gtest/gtest.h>

#include <random>

#include "fixtures.h"
#include "oracle.h"

namespace sluice::packet {
namespace {

using test::Bytes;

/// Converts a value in network order to a stored field.
uint16_t Be(uint16_t value) { return __builtin_bswap16(value); }

TEST(Checksum, SumsTheExampleOfRfc1071Section3) {
  const Bytes bytes{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(FoldSum(SumBytes(bytes.data(), bytes.size())), Be(0xddf2));
  EXPECT_EQ(FinishChecksum(SumBytes(bytes.data(), bytes.size())), Be(0x220d));
}

TEST(Checksum, PadsAnOddByteWithZero) {
  const Bytes bytes{0x12, 0x34, 0x56};
  EXPECT_EQ(FoldSum(SumBytes(bytes.data(), bytes.size())), Be(0x1234 + 0x5600));
}

TEST(Checksum, FoldsEveryCarry) {
  EXPECT_EQ(FoldSum(0), 0);
  EXPECT_EQ(FoldSum(0xffff), 0xffff);
  EXPECT_EQ(FoldSum(0x1'0000), 1);
  EXPECT_EQ(FoldSum(0xffff'ffff), 0xffff);
  EXPECT_EQ(FoldSum(0xffff'ffff'ffff'ffff), 0xffff);
  EXPECT_EQ(FoldSum(0xffff'0000'0000'0001), 1);  // 2^16 is 1 modulo 0xffff.
  EXPECT_EQ(FoldSum(0x0001'ffff'0000'0002), 3);
}

TEST(Checksum, HoldsIfTheFoldedSumIsAllOnes) {
  EXPECT_FALSE(ChecksumHolds(0)) << "no word was added";
  std::mt19937_64 random(1);
  for (int round = 0; round < 100'000; ++round) {
    const uint64_t any = random() >> random() % 64, multiple = any - any % 0xffff;
    for (const uint64_t sum : {any, multiple, multiple - 1, multiple + 1, ~any, ~multiple}) {
      ASSERT_EQ(ChecksumHolds(sum), FoldSum(sum) == 0xffff) << sum;
    }
  }
}

TEST(Checksum, AgreesWithTheOracleOnRandomBytesOfEveryLength) {
  std::mt19937_64 random(1);
  Bytes bytes(2048);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    ASSERT_EQ(FoldSum(SumBytes(bytes.data(), size)), Be(test::NaiveSum({bytes.data(), size})));
  }
}

TEST(Checksum, SurvivesTheLargestSum) {
  const Bytes ones(65536, 0xff);
  EXPECT_EQ(FoldSum(SumBytes(ones.data(), ones.size())), 0xffff);
}

// RFC 1624 section 4: HC is 0xDD2F and a field changes from 0x5555 to 0x3285. RFC 1141's equation
// yields 0xFFFF; the correct result is 0x0000.
TEST(IncrementalChecksum, SolvesTheExampleOfRfc1624Section4) {
  EXPECT_EQ(UpdateChecksum(Be(0xdd2f), Be(0x5555), Be(0x3285)), Be(0x0000));
}

TEST(IncrementalChecksum, ReversesTheExampleOfRfc1624) {
  EXPECT_EQ(UpdateChecksum(Be(0x0000), Be(0x3285), Be(0x5555)), Be(0xdd2f));
}

TEST(IncrementalChecksum, UdpSendsZeroAsAllOnes) {
  EXPECT_EQ(UpdateUdpChecksum(Be(0xdd2f), Be(0x5555), Be(0x3285)), 0xffff);
}

TEST(IncrementalChecksum, UdpLeavesNoChecksumAlone) {
  for (uint32_t word = 0; word <= 0xffff; ++word) {
    ASSERT_EQ(UpdateUdpChecksum(0, static_cast<uint16_t>(word), 0x1234), 0);
  }
}

/// Edge cases of 16-bit words, and some other values.
const uint16_t kWords[] = {0x0000, 0x0001, 0x00ff, 0x0100, 0x7fff, 0x8000,
                           0x8001, 0xff00, 0xfffe, 0xffff, 0x5555, 0x3285};

/// Changes the second of two words. If the first word is not 0, the incremental result must equal
/// the recomputed checksum bit for bit.
TEST(IncrementalChecksum, EqualsRecomputationAtTheCorners) {
  for (uint16_t fixed : kWords) {
    for (uint16_t before : kWords) {
      for (uint16_t after : kWords) {
        if (fixed == 0) continue;
        const uint16_t stored = FinishChecksum(uint64_t{fixed} + before);
        ASSERT_EQ(UpdateChecksum(stored, before, after), FinishChecksum(uint64_t{fixed} + after))
            << std::hex << fixed << " " << before << " " << after;
      }
    }
  }
}

/// A sender may store either form of zero. Both must still be valid after an update.
TEST(IncrementalChecksum, KeepsEitherZeroValid) {
  for (uint16_t before : kWords) {
    const uint16_t fixed = static_cast<uint16_t>(~before);  // The sum is 0xffff, so the checksum is
                                                            // zero in one of its two forms.
    if (fixed == 0) continue;
    for (uint16_t stored : {uint16_t{0x0000}, uint16_t{0xffff}}) {
      for (uint16_t after : kWords) {
        const uint16_t updated = UpdateChecksum(stored, before, after);
        ASSERT_TRUE(ChecksumHolds(uint64_t{fixed} + after + updated));
      }
    }
  }
}

TEST(IncrementalChecksum, EqualsRecomputationOverRandomEdits) {
  std::mt19937_64 random(2);
  Bytes bytes(64);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  bytes[0] = 0x45;  // The data must not be all zero.
  uint16_t stored = FinishChecksum(SumBytes(bytes.data(), bytes.size()));
  for (int round = 0; round < 200'000; ++round) {
    uint8_t* word = bytes.data() + 2 + random() % 31 * 2;
    const auto before = Load<uint16_t>(word);
    const uint64_t dice = random();
    const uint16_t after = dice % 8 == 0   ? 0x0000
                           : dice % 8 == 1 ? 0xffff
                                           : static_cast<uint16_t>(dice >> 16);
    Store(word, after);
    stored = UpdateChecksum(stored, before, after);
    ASSERT_EQ(stored, Be(static_cast<uint16_t>(~test::NaiveSum(bytes))));
  }
}

TEST(IncrementalChecksum, UdpNeverYieldsZero) {
  for (uint32_t before = 0; before <= 0xffff; ++before) {
    for (uint16_t after : kWords) {
      const uint16_t updated = UpdateUdpChecksum(0xffff, static_cast<uint16_t>(before), after);
      ASSERT_NE(updated, 0);
    }
  }
}

}  // namespace
}  // namespace sluice::packet
