// SPDX-License-Identifier: BSD-3-Clause
//
// Transmit rings: gathering, reports, checksums, bad chains.
#include <gtest/gtest.h>

#include "host.h"

namespace sluice::device::ipu::test {
namespace {

constexpr uint32_t kData = Host::kBuffers;

class Transmit : public ::testing::Test {
 protected:
  Transmit() {
    host.StartTx(64);
    for (uint32_t i = 0; i < 65536; ++i)
      *host.At(kData + i) = static_cast<uint8_t>(i * 13 + i / 256);
  }
  std::string Bytes(uint32_t offset, uint32_t length) {
    return {reinterpret_cast<char*>(host.At(offset)), length};
  }
  uint32_t Ring(uint32_t tail, uint32_t budget = 256) {
    host.Write(0, kTxBlock, kRingTail, tail);
    return host.nic.Transmit(sink, budget);
  }
  Host host;
  RecordingSink sink;
};

TEST_F(Transmit, SendsOneDescriptorAndReportsOnlyWhereAsked) {
  host.PostTx(0, kData, 60, kTxEndOfPacket);
  host.PostTx(1, kData + 64, 99, kTxEndOfPacket | kTxReport);
  EXPECT_EQ(Ring(2), 2u);
  ASSERT_EQ(sink.frames.size(), 2u);
  EXPECT_EQ(sink.frames[0], Bytes(kData, 60));
  EXPECT_EQ(sink.frames[1], Bytes(kData + 64, 99));
  EXPECT_EQ(host.Tx(0).high, 60 | kTxEndOfPacket) << "no report, no write";
  EXPECT_EQ(host.Tx(1).high, kDone);
  EXPECT_EQ(host.Stat(kStatTxFrames), 2u);
  EXPECT_EQ(host.Stat(kStatTxBytes), 159u);
  EXPECT_EQ(host.Read(0, kTxBlock, kRingHead), 2u);
}

TEST_F(Transmit, GathersSegmentsAndWaitsForTheLastOne) {
  host.PostTx(0, kData, 20, kTxReport);
  host.PostTx(1, kData + 1000, 30, 0);
  EXPECT_EQ(Ring(2), 0u);
  EXPECT_TRUE(sink.frames.empty());
  EXPECT_NE(host.Tx(0).high, kDone);
  host.PostTx(2, kData + 2000, 10, kTxEndOfPacket);
  EXPECT_EQ(Ring(3), 1u);
  EXPECT_EQ(sink.frames.at(0),
            Bytes(kData, 20) + Bytes(kData + 1000, 30) + Bytes(kData + 2000, 10));
  EXPECT_EQ(host.Tx(0).high, kDone);
}

TEST_F(Transmit, BurstsNeverExceed64AndTheBudgetHolds) {
  for (uint32_t i = 0; i < 64; ++i) host.PostTx(i, kData + i * 64, 60, kTxEndOfPacket);
  EXPECT_EQ(Ring(64, 10), 10u);
  EXPECT_EQ(Ring(64), 54u);
  EXPECT_EQ(sink.frames.size(), 64u);
  EXPECT_LE(sink.largest_burst, 64u);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(sink.frames[i], Bytes(kData + i * 64, 60)) << i;
}

TEST_F(Transmit, LongFramesLeaveInOrderWhateverTheStagingHolds) {
  for (uint32_t i = 0; i < 20; ++i) {
    host.PostTx(i, kData + i * 100, i % 2 == 0 ? kMaxFrameBytes : 60, kTxEndOfPacket);
  }
  EXPECT_EQ(Ring(20), 20u);
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(sink.frames[i], Bytes(kData + i * 100, i % 2 == 0 ? kMaxFrameBytes : 60)) << i;
  }
}

TEST_F(Transmit, QueuesTakeTurns) {
  host.StartTx(64, 1);
  for (uint32_t i = 0; i < 8; ++i) {
    host.PostTx(i, kData, 60, kTxEndOfPacket);
    host.Tx(i, 1) = {Host::kBus + kData, 70 | kTxEndOfPacket};
  }
  host.Write(0, kTxBlock, kRingTail, 8);
  host.Write(1, kTxBlock, kRingTail, 8);
  EXPECT_EQ(host.nic.Transmit(sink, 256), 16u);
  EXPECT_EQ(host.Stat(kStatTxBytes), 8u * 60 + 8 * 70);
}

TEST_F(Transmit, FillsInChecksumsWhereTheDescriptorAsks) {
  // The frame of the receive test (RFC 1071 by hand), checksums blank; the UDP field
  // holds the pseudo-header's sum: c0a8 + 0001 + c0a8 + 0002 + 0011 + 000c = 8171 + carry.
  const uint8_t bytes[] = {0, 0,  0, 0, 0, 0, 0,  0,  0,    0,    0,   0,   0x08, 0x00, 0x45, 0,
                           0, 32, 0, 0, 0, 0, 64, 17, 0,    0,    192, 168, 0,    1,    192,  168,
                           0, 2,  0, 1, 0, 2, 0,  12, 0x81, 0x71, 'a', 'b', 'c',  'd'};
  std::memcpy(host.At(kData), bytes, sizeof(bytes));
  host.PostTx(0, kData, sizeof(bytes),
              kTxEndOfPacket | kTxIpChecksum | kTxL4Checksum | uint64_t{14} << kTxIpOffsetShift |
                  uint64_t{20} << kTxIpLengthShift | uint64_t{6} << kTxL4FieldShift);
  EXPECT_EQ(Ring(1), 1u);
  const std::string& sent = sink.frames.at(0);
  EXPECT_EQ(sent.substr(24, 2), "\xf9\x79");
  EXPECT_EQ(sent.substr(40, 2), "\xb9\xb8");
}

TEST_F(Transmit, AUdpChecksumOfZeroLeavesAsAllOnes) {
  // The frame above with a first word that is b9b8 more: 6162 + b9b8 = 1b1b, with the carry. All
  // words now sum to ffff. RFC 768: a computed 0 is sent as all ones, for 0 says "none".
  const uint8_t bytes[] = {0, 0,  0, 0, 0, 0, 0,  0,  0,    0,    0,    0,    0x08, 0x00, 0x45, 0,
                           0, 32, 0, 0, 0, 0, 64, 17, 0,    0,    192,  168,  0,    1,    192,  168,
                           0, 2,  0, 1, 0, 2, 0,  12, 0x81, 0x71, 0x1b, 0x1b, 'c',  'd'};
  std::memcpy(host.At(kData), bytes, sizeof(bytes));
  host.PostTx(0, kData, sizeof(bytes),
              kTxEndOfPacket | kTxL4Checksum | uint64_t{14} << kTxIpOffsetShift |
                  uint64_t{20} << kTxIpLengthShift | uint64_t{6} << kTxL4FieldShift);
  EXPECT_EQ(Ring(1), 1u);
  EXPECT_EQ(sink.frames.at(0).substr(40, 2), "\xff\xff");
}

TEST_F(Transmit, ChecksumOffsetsOutsideTheFrameAreRefused) {
  host.PostTx(0, kData, 40,
              kTxEndOfPacket | kTxIpChecksum | uint64_t{30} << kTxIpOffsetShift |
                  uint64_t{20} << kTxIpLengthShift);
  host.PostTx(1, kData, 40,
              kTxEndOfPacket | kTxL4Checksum | uint64_t{14} << kTxIpOffsetShift |
                  uint64_t{20} << kTxIpLengthShift | uint64_t{255} << kTxL4FieldShift);
  host.PostTx(2, kData, 40, kTxEndOfPacket | kTxIpChecksum | uint64_t{14} << kTxIpOffsetShift);
  EXPECT_EQ(Ring(3), 3u);
  EXPECT_TRUE(sink.frames.empty());
  EXPECT_EQ(host.Stat(kStatTxBadDescriptor), 3u);
}

TEST_F(Transmit, ChainsThatMakeNoFrameAreCountedCompletedAndPassed) {
  host.PostTx(0, kData, 0, kTxEndOfPacket | kTxReport);
  host.PostTx(1, kData, 13, kTxEndOfPacket);
  host.PostTx(2, kData, kMaxFrameBytes + 1, kTxEndOfPacket);
  host.Tx(3) = {0xdead'0000'0000, 60 | kTxEndOfPacket | kTxReport};
  host.PostTx(4, kData, 60, kTxEndOfPacket);
  EXPECT_EQ(Ring(5), 5u);
  EXPECT_EQ(sink.frames.size(), 1u);
  EXPECT_EQ(host.Stat(kStatTxBadDescriptor), 3u);
  EXPECT_EQ(host.Stat(kStatTxDmaFault), 1u);
  EXPECT_EQ(host.Tx(0).high, kDone);
  EXPECT_EQ(host.Tx(3).high, kDone);
}

TEST_F(Transmit, AChainWithoutEndIsCutOffAndCounted) {
  for (uint32_t i = 0; i < 63; ++i) host.PostTx(i, kData, 60, i == 50 ? kTxReport : 0);
  host.PostTx(63, kData + 5, 60, kTxEndOfPacket | kTxReport);
  Ring(64);
  EXPECT_EQ(host.Read(0, kTxBlock, kRingHead), 64u);
  EXPECT_GE(host.Stat(kStatTxBadDescriptor), 1u);
  EXPECT_EQ(host.Tx(63).high, kDone);
}

}  // namespace
}  // namespace sluice::device::ipu::test
