// SPDX-License-Identifier: BSD-3-Clause
//
// Tests receive rings: write-back, scatter, filters and drops.
#include <gtest/gtest.h>

#include "host.h"

namespace sluice::device::ipu::test {
namespace {

constexpr uint64_t kWhole = kDone | kRxEndOfPacket;

TEST(IpuReceive, WritesTheFrameAndCompletesItsDescriptorInPlace) {
  Host host;
  host.StartRx(64, 2048, 64);
  const std::string frame = PlainFrame(77);
  EXPECT_EQ(host.Receive(frame), 1u);
  EXPECT_EQ(host.Rx(0).high, kWhole | uint64_t{kClassEther} << kRxClassShift | 77);
  EXPECT_EQ(host.Received(0), frame);
  EXPECT_EQ(host.Rx(1).high, 0u) << "the next descriptor is still the host's posting";
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
  EXPECT_EQ(host.Stat(kStatRxBytes), 77u);
  EXPECT_EQ(host.Read(0, kRxBlock, kRingHead), 1u);
}

class IpuReceiveSize : public ::testing::TestWithParam<uint32_t> {};

TEST_P(IpuReceiveSize, EveryByteArrivesAndNoneBeyondIt) {
  Host host;
  host.StartRx(64, 2048, 4);
  std::memset(host.At(Host::Buffer(0)), 0xee, 2048);
  const std::string frame = PlainFrame(GetParam(), 9);
  host.Receive(frame);
  EXPECT_EQ(host.Received(0), frame);
  if (GetParam() < 2048) {
    EXPECT_EQ(*host.At(Host::Buffer(0) + GetParam()), 0xee);
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, IpuReceiveSize,
                         ::testing::Values(14, 15, 31, 32, 33, 60, 63, 64, 65, 96, 127, 128, 1023,
                                           1024, 1025, 1514, 2048));

TEST(IpuReceive, ABurstIsWrittenBackInOrderAcrossTheEndOfTheRing) {
  Host host;
  host.StartRx(64, 2048, 64);
  uint32_t tail = 64;
  for (uint32_t i = 0; i < 300; ++i) {
    const std::string frame = PlainFrame(60, static_cast<uint8_t>(i));
    ASSERT_EQ(host.Receive(frame), 1u);
    ASSERT_EQ(host.Received(i % 64), frame) << i;
    host.Rx(i % 64) = {Host::kBus + Host::Buffer(i % 64), 0};
    host.Write(0, kRxBlock, kRingTail, ++tail);
  }
  EXPECT_EQ(host.Stat(kStatRxFrames), 300u);
}

TEST(IpuReceive, BurstsOfPlainFramesArriveWholeFromAnyPlaceOfAWriteBackBatch) {
  // A batch is 32 descriptors. Bursts start and end at its edges, next to them, and far from them.
  // Frames have different lengths, so that each descriptor differs.
  for (const std::vector<uint32_t>& bursts : std::vector<std::vector<uint32_t>>{
           {1, 31}, {1, 32}, {31, 2}, {32, 33}, {20, 64, 40}, {63, 65}, {128}}) {
    Host host;
    host.StartRx(128, 2048, 128);
    std::vector<std::string> sent;
    for (const uint32_t burst : bursts) {
      std::vector<std::string> frames;
      std::vector<WireFrame> wire;
      for (uint16_t i = 0; i < burst; ++i) {
        frames.push_back(
            Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, i, static_cast<uint16_t>(burst)}));
        frames.back().resize(60 + sent.size() + i, 'x');
      }
      for (const std::string& frame : frames) {
        wire.push_back(
            {reinterpret_cast<const uint8_t*>(frame.data()), static_cast<uint32_t>(frame.size())});
      }
      ASSERT_EQ(host.nic.Receive(wire, false), burst);
      sent.insert(sent.end(), frames.begin(), frames.end());
    }
    for (uint32_t i = 0; i < sent.size(); ++i) {
      ASSERT_EQ(host.Received(i), sent[i])
          << "descriptor " << i << " of bursts that begin with " << bursts[0];
    }
    EXPECT_EQ(host.Stat(kStatRxFrames), sent.size());
  }
}

TEST(IpuReceive, WithoutADescriptorTheFrameIsCountedAndWithPauseItWaits) {
  Host host;
  host.StartRx(64, 2048, 2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(host.Receive(PlainFrame(60)), 1u);
  EXPECT_EQ(host.Stat(kStatRxFrames), 2u);
  EXPECT_EQ(host.Stat(kStatRxNoDescriptor), 1u);
  EXPECT_EQ(host.Receive(PlainFrame(60), true), 0u);
  EXPECT_EQ(host.Stat(kStatRxNoDescriptor), 1u);
  host.Rx(2) = {Host::kBus + Host::Buffer(2), 0};
  host.Write(0, kRxBlock, kRingTail, 3);
  EXPECT_EQ(host.Receive(PlainFrame(60), true), 1u);
}

TEST(IpuReceive, ScattersALongFrameOverBuffersAndMarksTheLast) {
  Host host;
  host.StartRx(64, 256, 64, true);
  const std::string frame = PlainFrame(600);
  host.Receive(frame);
  EXPECT_EQ(host.Received(0) + host.Received(1) + host.Received(2), frame);
  EXPECT_EQ(host.Rx(0).high, kDone | uint64_t{kClassEther} << kRxClassShift | 256);
  EXPECT_EQ(host.Rx(1).high, kDone | 256);
  EXPECT_EQ(host.Rx(2).high, kWhole | 88);
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
}

TEST(IpuReceive, AScatteredFrameNeedsAllItsDescriptors) {
  Host host;
  host.StartRx(64, 256, 2, true);
  host.Receive(PlainFrame(600));
  EXPECT_EQ(host.Stat(kStatRxNoDescriptor), 1u);
  EXPECT_EQ(host.Rx(0).high, 0u);
  EXPECT_EQ(host.Receive(PlainFrame(600), true), 0u);
  EXPECT_EQ(host.Receive(PlainFrame(512), true), 1u);
}

TEST(IpuReceive, AScatteredFrameMayTakeExactlyAllThatIsPosted) {
  for (const bool pause : {false, true}) {
    for (uint32_t posted = 2; posted <= 5; ++posted) {
      SCOPED_TRACE(posted);
      Host host;
      host.StartRx(64, 256, posted, true);
      EXPECT_EQ(host.Receive(PlainFrame(256 * posted + 1), pause), pause ? 0u : 1u);
      EXPECT_EQ(host.Stat(kStatRxNoDescriptor), pause ? 0u : 1u);
      const std::string frame = PlainFrame(256 * posted);
      EXPECT_EQ(host.Receive(frame, pause), 1u);
      EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
      EXPECT_EQ(host.Stat(kStatRxNoDescriptor), pause ? 0u : 1u) << "no other was refused";
      std::string received;
      for (uint32_t i = 0; i < posted; ++i) received += host.Received(i);
      EXPECT_EQ(received, frame);
      EXPECT_EQ(host.Rx(posted - 1).high, kWhole | 256);
    }
  }
}

TEST(IpuReceive, TheLongestFrameFitsTheSmallestBuffers) {
  Host host;
  host.StartRx(128, kMinBuffer, 128, true);
  host.Receive(PlainFrame(kMaxFrameBytes));
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
  EXPECT_EQ(host.Rx(kMaxFrameBytes / kMinBuffer - 1).high, kWhole | kMinBuffer);
}

TEST(IpuReceive, FramesOutsideTheLimitsAreCounted) {
  Host host;
  host.StartRx(64, 512, 64);
  host.nic.WriteRegister(kMaxFrame, 4, 1000);
  host.Receive(PlainFrame(1001));
  host.Receive(PlainFrame(513));
  EXPECT_EQ(host.Stat(kStatRxOversize), 2u);
  host.Receive(PlainFrame(13));
  host.Receive("");
  EXPECT_EQ(host.Stat(kStatRxUndersize), 2u);
  EXPECT_EQ(host.Stat(kStatRxFrames), 0u);
}

TEST(IpuReceive, TheFilterTakesOwnBroadcastAndWantedGroupAddresses) {
  Host host;
  host.StartRx(64, 2048, 64);
  host.nic.WriteRegister(kStationAddress, 8, 0x0000'0504'0302'0100);  // 00:01:02:03:04:05
  const auto to = [](const char* address) {
    std::string frame = PlainFrame(60);
    frame.replace(0, 6, address, 6);
    return frame;
  };
  host.nic.WriteRegister(kPortControl, 4, kPortReceive);
  host.Receive(to("\x00\x01\x02\x03\x04\x05"));
  host.Receive(to("\xff\xff\xff\xff\xff\xff"));
  EXPECT_EQ(host.Stat(kStatRxFrames), 2u);
  host.Receive(to("\x00\x01\x02\x03\x04\x06"));
  host.Receive(to("\x01\x00\x5e\x00\x00\x01"));
  EXPECT_EQ(host.Stat(kStatRxFiltered), 2u);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortAllMulticast);
  host.Receive(to("\x01\x00\x5e\x00\x00\x01"));
  EXPECT_EQ(host.Stat(kStatRxFrames), 3u);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
  host.Receive(to("\x00\x01\x02\x03\x04\x06"));
  EXPECT_EQ(host.Stat(kStatRxFrames), 4u);
}

TEST(IpuReceive, APortOrQueueThatIsOffDropsAndCounts) {
  Host host;
  host.Receive(PlainFrame(60));
  EXPECT_EQ(host.Stat(kStatRxDisabled), 1u);
  host.StartRx(64, 2048, 64);
  host.nic.WriteRegister(kPortControl, 4, kPortPromiscuous);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(host.Stat(kStatRxDisabled), 2u);
  EXPECT_EQ(host.Rx(0).high, 0u);
}

TEST(IpuReceive, AWireThatPausesWaitsForAPortThatIsOff) {
  Host host;
  host.StartRx(64, 2048, 64);
  host.nic.WriteRegister(kPortControl, 4, kPortPromiscuous);
  EXPECT_EQ(host.Receive(PlainFrame(60), true), 0u);
  EXPECT_EQ(host.Stat(kStatRxDisabled), 0u);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
  EXPECT_EQ(host.Receive(PlainFrame(60), true), 1u);
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
}

TEST(IpuReceive, DisablingTakesEffectAtOnceAndARestartBeginsAtZero) {
  Host host;
  host.StartRx(64, 2048, 64);
  host.Receive(PlainFrame(60));
  host.Write(0, kRxBlock, kRingControl, 0);
  EXPECT_EQ(host.Read(0, kRxBlock, kRingStatus), 0u);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(host.Stat(kStatRxDisabled), 1u);
  host.StartRx(64, 2048, 64);
  EXPECT_EQ(host.Read(0, kRxBlock, kRingStatus), 1u);
  EXPECT_EQ(host.Read(0, kRxBlock, kRingHead), 0u);
  const std::string frame = PlainFrame(60, 77);
  host.Receive(frame);
  EXPECT_EQ(host.Received(0), frame);
}

TEST(IpuReceive, EveryFrameIsInExactlyOneCounter) {
  Host host;
  host.StartRx(64, 300, 40);
  uint32_t offered = 0;
  for (uint32_t size = 0; size < 400; size += 5, ++offered) host.Receive(PlainFrame(size));
  uint64_t counted = 0;
  for (const Statistic s : {kStatRxFrames, kStatRxNoDescriptor, kStatRxOversize, kStatRxUndersize,
                            kStatRxFiltered, kStatRxFlowDrop, kStatRxDisabled, kStatRxDmaFault}) {
    counted += host.Stat(s);
  }
  EXPECT_EQ(counted, offered);
}

}  // namespace
}  // namespace sluice::device::ipu::test
