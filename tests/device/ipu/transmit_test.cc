// SPDX-License-Identifier: BSD-3-Clause
//
// Tests transmit rings: gathering, completion reports, checksums, segmentation and invalid chains.
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
  // The receive test's frame, without checksums. The UDP checksum field contains the pseudo-header
  // sum (RFC 1071): c0a8 + 0001 + c0a8 + 0002 + 0011 + 000c = 8171 with the carry.
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
  // The frame above, with the first payload word increased by b9b8: 6162 + b9b8 = 1b1b with the
  // carry. All words now sum to ffff. RFC 768: a computed 0 is sent as all ones, because 0 means
  // "no checksum".
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

/// Returns a TCP frame over IPv4 or IPv6 with `payload` bytes of payload, zero checksums, and the
/// flags CWR, PSH, ACK and FIN.
std::string LargeTcp(bool v4, uint32_t payload) {
  std::string frame(v4 ? 54 : 74, '\0');
  const auto put = [&](uint32_t at, uint32_t value) { frame[at] = static_cast<char>(value); };
  const uint32_t tcp = v4 ? 34 : 54;
  if (v4) {
    put(12, 0x08), put(14, 0x45), put(18, 0x12), put(19, 0xff), put(22, 64), put(23, 6);
    for (uint32_t i = 26; i < 34; ++i) put(i, i);
  } else {
    put(12, 0x86), put(13, 0xdd), put(14, 0x60), put(20, 6), put(21, 64);
    for (uint32_t i = 22; i < 54; ++i) put(i, i);
  }
  put(tcp + 1, 80), put(tcp + 3, 81);
  for (uint32_t i = 4; i < 8; ++i) put(tcp + i, 0xff);  // The sequence number is about to wrap.
  put(tcp + 12, 0x50), put(tcp + 13, 0x99);
  for (uint32_t i = 0; i < payload; ++i) frame += static_cast<char>(i * 7 + i / 256);
  return frame;
}

/// Returns the sum of 16-bit words (RFC 1071). The sum is ffff if the words include a correct
/// checksum.
uint32_t Sum(const std::string& bytes, uint32_t sum) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<uint8_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

uint64_t Segments(bool v4, uint32_t size) {
  return kTxSegment | uint64_t{14} << kTxIpOffsetShift |
         uint64_t{v4 ? 20u : 40u} << kTxIpLengthShift | uint64_t{20} << kTxL4FieldShift |
         uint64_t{size} << kTxTagShift;
}

TEST_F(Transmit, CutsALargeTcpFrameIntoSegments) {
  for (const bool v4 : {true, false}) {
    SCOPED_TRACE(v4);
    Host fresh;
    fresh.StartTx(64);
    RecordingSink sent;
    const std::string large = LargeTcp(v4, 2500);
    std::memcpy(fresh.At(kData), large.data(), large.size());
    // The frame is sent as three pieces that end within the headers and within a segment.
    fresh.PostTx(0, kData, 30, Segments(v4, 1000));
    fresh.PostTx(1, kData + 30, 1100, 0);
    fresh.PostTx(2, kData + 1130, static_cast<uint32_t>(large.size()) - 1130, kTxEndOfPacket);
    fresh.Write(0, kTxBlock, kRingTail, 3);
    EXPECT_EQ(fresh.nic.Transmit(sent, 8), 1u);
    ASSERT_EQ(sent.frames.size(), 3u);
    const uint32_t tcp = v4 ? 34 : 54, header = tcp + 20;
    const auto word = [&](const std::string& frame, uint32_t at) {
      return static_cast<uint32_t>(static_cast<uint8_t>(frame[at]) << 8 |
                                   static_cast<uint8_t>(frame[at + 1]));
    };
    std::string payload;
    for (uint32_t i = 0; i < 3; ++i) {
      const std::string& frame = sent.frames[i];
      const uint32_t bytes = i < 2 ? 1000 : 500;
      ASSERT_EQ(frame.size(), header + bytes);
      payload += frame.substr(header);
      EXPECT_EQ(frame.substr(0, 14), large.substr(0, 14));
      EXPECT_EQ(word(frame, v4 ? 16 : 18), v4 ? 40 + bytes : 20 + bytes);
      if (v4) {
        EXPECT_EQ(word(frame, 18), 0x12ff + i) << "identification";
        EXPECT_EQ(Sum(frame.substr(14, 20), 0), 0xffffu);
      }
      EXPECT_EQ(word(frame, tcp + 4) << 16 | word(frame, tcp + 6), 0xffffffffu + 1000 * i);
      // CWR is set only on the first segment, FIN and PSH only on the last.
      EXPECT_EQ(static_cast<uint8_t>(frame[tcp + 13]), i == 0 ? 0x90 : i == 1 ? 0x10 : 0x19);
      const std::string addresses = v4 ? frame.substr(26, 8) : frame.substr(22, 32);
      EXPECT_EQ(Sum(frame.substr(tcp), Sum(addresses, 6 + 20 + bytes)), 0xffffu);
    }
    EXPECT_EQ(payload, large.substr(header));
    EXPECT_EQ(fresh.Stat(kStatTxFrames), 3u);
    EXPECT_EQ(fresh.Stat(kStatTxBytes), 3 * header + 2500);
  }
}

TEST_F(Transmit, SegmentsThatCannotBeAreBadDescriptors) {
  const std::string large = LargeTcp(true, 1000);
  std::memcpy(host.At(kData), large.data(), large.size());
  const auto length = static_cast<uint32_t>(large.size());
  const uint64_t sound = Segments(true, 500);
  const auto with = [&](uint32_t shift, uint32_t bits, uint64_t value) {
    return (sound & ~(((uint64_t{1} << bits) - 1) << shift)) | value << shift;
  };
  const struct {
    uint32_t length;
    uint64_t command;
  } kCases[] = {
      {length, with(kTxTagShift, 16, 0)},  // The segment size is missing.
      {length, with(kTxTagShift, 16, kMinSegmentBytes - 1)},
      {length, with(kTxTagShift, 16, kMaxFrameBytes - 53)},  // A segment is too long.
      {length, with(kTxIpOffsetShift, 8, 13)},
      {length, with(kTxIpLengthShift, 8, 19)},
      {length, with(kTxL4FieldShift, 8, 19)},
      {53, sound},                              // The headers are truncated.
      {length, with(kTxIpOffsetShift, 8, 15)},  // Neither IPv4 nor IPv6 at this offset.
  };
  uint32_t tail = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(&c - kCases);
    host.PostTx(tail, kData, c.length, c.command | kTxEndOfPacket);
    Ring(++tail);
    EXPECT_EQ(host.Stat(kStatTxBadDescriptor), tail);
  }
  EXPECT_TRUE(sink.frames.empty());
  // The device rejects a piece of 0 bytes and a frame larger than the maximum datagram.
  host.PostTx(tail, kData, 60, sound);
  host.PostTx(tail + 1, kData, 0, kTxEndOfPacket);
  host.PostTx(tail + 2, kData, 65'535, sound);
  host.PostTx(tail + 3, kData, 15, kTxEndOfPacket);
  Ring(tail + 4);
  EXPECT_EQ(host.Stat(kStatTxBadDescriptor), tail + 2);
  EXPECT_TRUE(sink.frames.empty());
  // A frame of the maximum size is sent.
  host.PostTx(tail + 4, kData, 65'535, sound);
  host.PostTx(tail + 5, kData, 14, kTxEndOfPacket);
  Ring(tail + 6);
  EXPECT_EQ(sink.frames.size(), (65'549u - 54 + 499) / 500);
}

}  // namespace
}  // namespace sluice::device::ipu::test
