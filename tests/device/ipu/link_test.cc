// SPDX-License-Identifier: BSD-3-Clause
//
// Tests links of regions, which replace rings: registers, receiving, transmitting and steering.
#include <gtest/gtest.h>

#include "link_host.h"

namespace sluice::device::ipu::test {
namespace {

using Frames = std::vector<std::string>;

TEST(IpuLink, ALinkIsEnabledOnceSoundMemoryIsNamed) {
  LinkHost host;
  swap::LinkMemory::Format(host.Memory(0), kSmallLink);
  EXPECT_EQ(host.EnableLink(0, 1), 1u);
  EXPECT_EQ(host.nic.ReadRegister(QueuePage(0) + kLinkBlock + kLinkBase, 8),
            Host::kBus + LinkHost::kLinkOffset);
  EXPECT_EQ(host.nic.ReadRegister(QueuePage(0) + kLinkBlock + kLinkBytes, 8),
            LinkHost::kLinkStride);
  EXPECT_EQ(host.nic.ReadRegister(QueuePage(0) + kLinkBlock + kLinkEpoch, 4), 1u);
  EXPECT_EQ(host.WriteLink(0, kLinkControl, 0), 0u) << "disabled";
  EXPECT_EQ(host.Stat(kStatLinkFaults), 0u);
}

TEST(IpuLink, MemoryWithoutASoundLinkIsRefusedAndCounted) {
  LinkHost host;
  EXPECT_EQ(host.EnableLink(0, 1), 0u) << "never formatted";
  swap::LinkMemory::Format(host.Memory(0), kSmallLink);
  host.WriteLink(0, kLinkBytes, swap::LinkMemory::BytesFor(kSmallLink) - 1, 8);
  EXPECT_EQ(host.WriteLink(0, kLinkControl, kLinkEnable), 0u) << "a byte short";
  host.WriteLink(0, kLinkBytes, ~uint64_t{0}, 8);
  EXPECT_EQ(host.WriteLink(0, kLinkControl, kLinkEnable), 0u) << "not mapped";
  host.WriteLink(0, kLinkBytes, LinkHost::kLinkStride, 8);
  host.WriteLink(0, kLinkBase, Host::kBus + LinkHost::kLinkOffset + 64, 8);
  EXPECT_EQ(host.WriteLink(0, kLinkControl, kLinkEnable), 0u) << "not on a page";
  EXPECT_EQ(host.Stat(kStatLinkFaults), 4u);
}

TEST(IpuLink, WithoutMasteringNoneIsTakenUpAndItsMemoryStays) {
  LinkHost host;
  const swap::LinkMemory link = swap::LinkMemory::Format(host.Memory(0), kSmallLink);
  // A device clears these counts when it enables the link.
  for (uint32_t i = 0; i < kSmallLink.regions; ++i) link.region(i).header().count = 5;
  const std::string before(host.Memory(0).begin(), host.Memory(0).end());
  host.nic.SetMastering(false);
  EXPECT_EQ(host.EnableLink(0, 1), 0u);
  EXPECT_EQ(host.Stat(kStatLinkFaults), 1u);
  EXPECT_EQ(std::string(host.Memory(0).begin(), host.Memory(0).end()), before);
  host.nic.SetMastering(true);
  EXPECT_EQ(host.EnableLink(0, 1), 1u);
  EXPECT_NE(std::string(host.Memory(0).begin(), host.Memory(0).end()), before);
}

TEST(IpuLink, AQueuePairHasRingsOrALink) {
  LinkHost host;
  swap::LinkMemory::Format(host.Memory(0), kSmallLink);
  host.StartRx(64, 2048, 0);
  EXPECT_EQ(host.EnableLink(0, 1), 0u) << "the RX ring is on";
  host.Write(0, kRxBlock, kRingControl, 0);
  host.StartTx(64);
  EXPECT_EQ(host.EnableLink(0, 1), 0u) << "the TX ring is on";
  host.Write(0, kTxBlock, kRingControl, 0);
  EXPECT_EQ(host.EnableLink(0, 1), 1u);
  host.StartRx(64, 2048, 0);
  host.StartTx(64);
  EXPECT_EQ(host.Read(0, kRxBlock, kRingStatus), 0u) << "the link is on";
  EXPECT_EQ(host.Read(0, kTxBlock, kRingStatus), 0u) << "the link is on";
  host.StartRx(64, 2048, 0, false, 1);
  EXPECT_EQ(host.Read(1, kRxBlock, kRingStatus), 1u) << "another queue pair";
}

TEST(IpuLink, FramesOfTheWireComeInTheRegionThatASwapBrings) {
  LinkHost host;
  host.StartLink(kSmallLink);
  const Frames sent = {PlainFrame(60, 1), PlainFrame(1514, 2), PlainFrame(14, 3)};
  for (const std::string& frame : sent) EXPECT_EQ(host.Receive(frame), 1u);
  ASSERT_TRUE(host.Swap(0, true));
  EXPECT_EQ(host.Frames(), sent);
  EXPECT_EQ(host.Stat(kStatRxFrames), 3u);
  EXPECT_EQ(host.Stat(kStatRxBytes), 60u + 1514 + 14);
  EXPECT_EQ(host.Stat(kStatLinkSwaps), 1u);
}

class IpuLinkSize : public ::testing::TestWithParam<uint32_t> {};

TEST_P(IpuLinkSize, EveryByteArrivesAndLeaves) {
  LinkHost host;
  host.StartLink(kSmallLink);
  const std::string frame = PlainFrame(GetParam(), 9);
  host.Receive(frame);
  ASSERT_TRUE(host.Swap(0, true));
  ASSERT_EQ(host.Frames(), Frames{frame});
  ASSERT_TRUE(host.Swap(1, false)) << "sent from where it arrived";
  EXPECT_EQ(host.sink.frames, Frames{frame});
}
INSTANTIATE_TEST_SUITE_P(Sizes, IpuLinkSize,
                         ::testing::Values(14, 15, 31, 32, 33, 60, 63, 64, 65, 96, 127, 128, 1023,
                                           1024, 1025, 1514, 2048, 9728));

TEST(IpuLink, FramesOfAGivenRegionLeaveInOrderAndHolesAreSkipped) {
  LinkHost host;
  host.StartLink(kSmallLink);
  host.Fill({PlainFrame(60, 1), PlainFrame(61, 2), PlainFrame(1514, 3)});
  host.links[0]->region().entries()[1] = 0;
  ASSERT_TRUE(host.Swap(3, false));
  EXPECT_EQ(host.sink.frames, (Frames{PlainFrame(60, 1), PlainFrame(1514, 3)}));
  EXPECT_EQ(host.Stat(kStatTxFrames), 2u);
  EXPECT_EQ(host.Stat(kStatTxBytes), 60u + 1514);
  EXPECT_EQ(host.Stat(kStatLinkBadEntry), 0u) << "a hole is nothing bad";
}

TEST(IpuLink, EntriesThatDescribeNoFrameAreCountedAndTheOthersLeave) {
  LinkHost host;
  host.StartLink(kSmallLink);
  host.Fill({PlainFrame(60, 1), PlainFrame(60, 2), PlainFrame(60, 3), PlainFrame(60, 4),
             PlainFrame(60, 5)});
  swap::Entry* const entries = host.links[0]->region().entries();
  entries[0] = swap::MakeEntry(swap::EntryOffset(entries[0]), 13);
  entries[1] = swap::MakeEntry(0, 60);  // The header is not a frame.
  entries[2] = swap::MakeEntry(kSmallLink.region_bytes - 59, 60);
  entries[3] = swap::MakeEntry(swap::EntryOffset(entries[3]), 9729);
  ASSERT_TRUE(host.Swap(5, false));
  EXPECT_EQ(host.sink.frames, Frames{PlainFrame(60, 5)});
  EXPECT_EQ(host.Stat(kStatLinkBadEntry), 4u);
}

TEST(IpuLink, WithoutRoomTheFrameIsCountedAndWithPauseItWaits) {
  LinkHost host;
  host.StartLink(kSmallLink);
  const uint32_t room = 2 * kSmallLink.max_frames;  // the host holds the third region
  for (uint32_t i = 0; i < room; ++i) {
    ASSERT_EQ(host.Receive(PlainFrame(60, static_cast<uint8_t>(i)), true), 1u);
  }
  EXPECT_EQ(host.Receive(PlainFrame(60), true), 0u);
  EXPECT_EQ(host.Stat(kStatRxNoRegion), 0u);
  EXPECT_EQ(host.Receive(PlainFrame(60), false), 1u);
  EXPECT_EQ(host.Stat(kStatRxNoRegion), 1u);
  EXPECT_EQ(host.Stat(kStatRxFrames), room);
}

TEST(IpuLink, AFrameWithoutRoomFindsTheRegionThatTheHostOffersAtThatTime) {
  LinkHost host;
  host.StartLink(kSmallLink);
  for (uint32_t i = 0; i < 2 * kSmallLink.max_frames; ++i) host.Receive(PlainFrame(60), true);
  host.links[0]->Give(0, true);
  EXPECT_EQ(host.Receive(PlainFrame(60), false), 1u);
  EXPECT_EQ(host.Stat(kStatRxNoRegion), 0u);
  EXPECT_EQ(host.Stat(kStatLinkSwaps), 1u);
}

TEST(IpuLink, FramesLongerThanARegionHoldsAreOversize) {
  LinkHost host;
  host.StartLink({.regions = 3, .region_bytes = 4096, .max_frames = 16, .headroom_bytes = 256});
  const uint32_t most = 4096 - 64 - 16 * 4 - 256;
  host.Receive(PlainFrame(most, 5));
  host.Receive(PlainFrame(most + 1));
  EXPECT_EQ(host.Stat(kStatRxOversize), 1u);
  host.nic.WriteRegister(kMaxFrame, 4, 1000);
  host.Receive(PlainFrame(1001));
  host.nic.WriteRegister(kMaxFrame, 4, 10);
  host.Receive(PlainFrame(14));
  EXPECT_EQ(host.Stat(kStatRxOversize), 3u);
  host.Receive(PlainFrame(13));
  EXPECT_EQ(host.Stat(kStatRxUndersize), 1u);
  ASSERT_TRUE(host.Swap(0, true));
  EXPECT_EQ(host.Frames(), Frames{PlainFrame(most, 5)});
}

TEST(IpuLink, RssAndFlowRulesSteerToLinksAsTheyDoToQueues) {
  LinkHost host;
  for (uint32_t queue = 0; queue < 3; ++queue) host.StartLink(kSmallLink, queue);
  const std::string to_rule = Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, 7, 9});
  const std::string to_reta = Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, 7, 10});
  host.nic.WriteRegister(kReta, 4, 0x01010101);  // Without RSS, all frames use entry 0.
  host.nic.WriteRegister(kFlowFields, 4, kFlowMatchDestinationPort | kFlowMatchProtocol);
  host.nic.WriteRegister(kFlowProtocol, 4, 4 << 8 | 17);
  host.nic.WriteRegister(kFlowPorts, 4, 9);
  host.nic.WriteRegister(kFlowAction, 4, kFlowActionQueue | 2);
  host.nic.WriteRegister(kFlowCommand, 4, static_cast<uint32_t>(FlowCommand::kAdd));
  host.Receive(to_rule);
  host.Receive(to_reta);
  EXPECT_FALSE(host.Swap(0, true, 0)) << "nothing for link 0";
  ASSERT_TRUE(host.Swap(0, true, 1));
  ASSERT_TRUE(host.Swap(0, true, 2));
  EXPECT_EQ(host.Frames(1), Frames{to_reta});
  EXPECT_EQ(host.Frames(2), Frames{to_rule});
}

TEST(IpuLink, EnablingAgainGoesOnFromTheMemoryUnderANewEpoch) {
  LinkHost host;
  host.StartLink(kSmallLink);
  host.Receive(PlainFrame(60, 1));
  host.links[0]->Give(0, true);
  host.links[0]->Reset();
  EXPECT_FALSE(host.Settle()) << "the device does not know the new epoch";
  EXPECT_EQ(host.EnableLink(0, host.links[0]->epoch()), 1u);
  ASSERT_TRUE(host.Settle());
  EXPECT_EQ(host.Frames(), Frames{PlainFrame(60, 1)});
}

TEST(IpuLink, AResetDropsAllLinksAndTheirMemoryTellsHowTheyGoOn) {
  LinkHost host;
  host.StartLink(kSmallLink);
  host.Receive(PlainFrame(60, 1));
  host.nic.WriteRegister(kReset, 4, kResetMagic);
  EXPECT_EQ(host.nic.ReadRegister(QueuePage(0) + kLinkBlock + kLinkStatus, 4), 0u);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
  host.Receive(PlainFrame(60, 2));
  EXPECT_EQ(host.Stat(kStatRxDisabled) + host.Stat(kStatRxOversize), 1u);
  host.links[0]->Reset();
  EXPECT_EQ(host.EnableLink(0, host.links[0]->epoch()), 1u);
  ASSERT_TRUE(host.Settle());
  ASSERT_TRUE(host.Swap(0, true));
  EXPECT_EQ(host.Frames(), Frames{PlainFrame(60, 1)});
}

TEST(IpuLink, ABurstFillsRegionAfterRegionInOrder) {
  LinkHost host;
  host.StartLink({.regions = 8, .region_bytes = 8192, .max_frames = 16, .headroom_bytes = 64});
  Frames sent;
  std::vector<WireFrame> wire;
  for (uint32_t i = 0; i < 60; ++i) {
    sent.push_back(PlainFrame(14 + i * 37 % 1500, static_cast<uint8_t>(i)));
  }
  for (const std::string& frame : sent) {
    wire.push_back(
        {reinterpret_cast<const uint8_t*>(frame.data()), static_cast<uint32_t>(frame.size())});
  }
  Frames got;
  for (uint32_t taken = 0; got.size() < sent.size();) {
    taken += host.nic.Receive(std::span(wire).subspan(taken), true);
    ASSERT_TRUE(host.Swap(0, true)) << got.size();
    for (std::string& frame : host.Frames()) got.push_back(std::move(frame));
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(host.Stat(kStatRxFrames), 60u);
}

TEST(IpuLink, ALargeRegionLeavesWithinTheBudgetOfEachStep) {
  LinkHost host;
  host.StartLink({.regions = 3, .region_bytes = 65536, .max_frames = 512, .headroom_bytes = 0});
  const swap::Region region = host.links[0]->region();
  for (uint32_t i = 0; i < 512; ++i) {
    region.entries()[i] = swap::MakeEntry(host.links[0]->geometry().DataOffset() + 64 * i, 60);
  }
  host.links[0]->Give(512, false);
  host.nic.Transmit(host.sink, 32);
  EXPECT_EQ(host.sink.frames.size(), 32u);
  EXPECT_FALSE(host.links[0]->Poll(1) && !host.links[0]->holding());
  for (int i = 0; i < 15; ++i) host.nic.Transmit(host.sink, 32);
  EXPECT_EQ(host.sink.frames.size(), 512u);
}

}  // namespace
}  // namespace sluice::device::ipu::test
