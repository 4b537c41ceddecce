// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the register file, and hosts with wrong addresses, doorbells and ring sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>

#include "host.h"
#include "swap/link_memory.h"

namespace sluice::device::ipu::test {
namespace {

TEST(IpuRegisters, IdentifyTheDevice) {
  Host host;
  EXPECT_EQ(host.nic.ReadRegister(kDeviceId, 4), kDeviceIdValue);
  EXPECT_EQ(host.nic.ReadRegister(kQueuePairs, 4), kMaxQueues);
}

TEST(IpuRegisters, ReadBackWhatWasWritten) {
  Host host;
  host.nic.WriteRegister(kStationAddress, 8, 0x0000'1122'3344'5566);
  EXPECT_EQ(host.nic.ReadRegister(kStationAddress, 8), 0x0000'1122'3344'5566u);
  host.nic.WriteRegister(kReta + 4, 4, 0x03020100);
  EXPECT_EQ(host.nic.ReadRegister(kReta + 4, 4), 0x03020100u);
}

TEST(IpuRegisters, AccessesThatDecodeToNothingReadAsAllOnes) {
  Host host;
  EXPECT_EQ(host.nic.ReadRegister(kBarBytes, 4), ~uint64_t{0});
  EXPECT_EQ(host.nic.ReadRegister(kDeviceId + 2, 4), ~uint64_t{0});
  EXPECT_EQ(host.nic.ReadRegister(kDeviceId, 2), ~uint64_t{0});
  EXPECT_EQ(host.nic.ReadRegister(QueuePage(kMaxQueues), 4), 0xffff'ffffu);
  host.nic.WriteRegister(kBarBytes, 4, 1);
  host.nic.WriteRegister(0xffff'fffc, 4, 1);
}

TEST(IpuRegisters, ResetTurnsAllOffAndKeepsTheStatistics) {
  Host host;
  host.StartRx(64, 2048, 64);
  host.Receive(PlainFrame(60));
  host.nic.WriteRegister(kReset, 4, 1);  // Not the magic value.
  EXPECT_EQ(host.Read(0, kRxBlock, kRingStatus), 1u);
  host.nic.WriteRegister(kReset, 4, kResetMagic);
  EXPECT_EQ(host.Read(0, kRxBlock, kRingStatus), 0u);
  EXPECT_EQ(host.nic.ReadRegister(kPortControl, 4), 0u);
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
}

TEST(IpuRegisters, CountersHaveTheNamesOfTheRegisterMap) {
  Host host;
  host.Receive(PlainFrame(60));
  const auto counters = host.nic.Counters();
  ASSERT_EQ(counters.size(), size_t{kStatisticCount});
  EXPECT_EQ(counters[kStatRxDisabled].name, "rx_disabled");
  EXPECT_EQ(counters[kStatRxDisabled].value, 1u);
}

TEST(IpuHostileHost, RingsThatCannotBeAreRefused) {
  Host host;
  const auto try_ring = [&](uint64_t base, uint32_t entries, uint32_t buffer) {
    host.Write(0, kRxBlock, kRingBase, base);
    host.Write(0, kRxBlock, kRingEntries, entries);
    host.Write(0, kRxBlock, kRingBuffer, buffer);
    host.Write(0, kRxBlock, kRingControl, kRingEnable);
    return host.Read(0, kRxBlock, kRingStatus);
  };
  EXPECT_EQ(try_ring(Host::kBus, 64, 2048), 1u);
  EXPECT_EQ(try_ring(Host::kBus, 65, 2048), 0u);
  EXPECT_EQ(try_ring(Host::kBus, 32, 2048), 0u);
  EXPECT_EQ(try_ring(Host::kBus, 8192, 2048), 0u);
  EXPECT_EQ(try_ring(Host::kBus, 0, 2048), 0u);
  EXPECT_EQ(try_ring(Host::kBus + 8, 64, 2048), 0u);
  EXPECT_EQ(try_ring(Host::kBus, 64, kMinBuffer - 1), 0u);
  EXPECT_EQ(try_ring(Host::kBus, 64, 1u << 20), 0u);
  EXPECT_EQ(try_ring(Host::kBus + Host::kBytes - 512, 64, 2048), 0u) << "half of it is unmapped";
  EXPECT_EQ(try_ring(~uint64_t{0} - 1023 + 64 - 64, 64, 2048), 0u);
}

TEST(IpuHostileHost, DoorbellsBeyondTheRingAreCountedAndIgnored) {
  Host host;
  host.StartRx(64, 2048, 64);
  host.Write(0, kRxBlock, kRingTail, 65);
  host.Write(0, kRxBlock, kRingTail, 0x8000'0000);
  host.Write(1, kRxBlock, kRingTail, 1);  // not enabled
  host.StartTx(64);
  host.Write(0, kTxBlock, kRingTail, 65);
  EXPECT_EQ(host.Stat(kStatBadDoorbell), 4u);
  host.Receive(PlainFrame(60));
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
}

TEST(IpuHostileHost, ABufferAddressThatIsNotMappedCostsItsFrameAndComesBackEmpty) {
  Host host;
  host.StartRx(64, 2048, 0);
  host.Rx(0) = {0xdead'beef'0000, 0};
  host.Rx(1) = {Host::kBus + Host::kBytes - 100, 0};  // Extends beyond the mapping.
  host.Rx(2) = {Host::kBus + Host::Buffer(2), 0};
  host.Write(0, kRxBlock, kRingTail, 3);
  for (int i = 0; i < 3; ++i) host.Receive(PlainFrame(60));
  EXPECT_EQ(host.Stat(kStatRxDmaFault), 2u);
  EXPECT_EQ(host.Stat(kStatRxFrames), 1u);
  EXPECT_EQ(host.Rx(0).high, kDone | kRxEndOfPacket);
  EXPECT_EQ(host.Rx(1).high, kDone | kRxEndOfPacket);
  EXPECT_EQ(host.Received(2), PlainFrame(60));
}

TEST(IpuHostileHost, AFaultInAScatteredFrameCompletesAllItsDescriptorsEmpty) {
  Host host;
  host.StartRx(64, 256, 4, true);
  host.Rx(1) = {0, 0};
  host.Receive(PlainFrame(600));
  EXPECT_EQ(host.Stat(kStatRxDmaFault), 1u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(host.Rx(i).high, kDone | kRxEndOfPacket) << i;
}

/// Checks that a driver can use the device, whatever its state: after a reset, a burst passes in
/// each direction.
void ExpectWorksAfterAReset(Host& host) {
  constexpr uint32_t kBurst = 48;
  host.nic.WriteRegister(kReset, 4, kResetMagic);
  bar::DmaSpace nothing;
  const std::unique_ptr<Device> fresh = MakeNic(nothing);
  for (uint32_t offset = 0; offset < kBarBytes; offset += 4) {
    if (offset >= kStatistics && offset < StatisticRegister(kStatisticCount)) continue;
    ASSERT_EQ(host.nic.ReadRegister(offset, 4), fresh->ReadRegister(offset, 4))
        << "register " << std::hex << offset << " is not as at power-on";
  }
  const uint64_t received = host.Stat(kStatRxFrames), sent = host.Stat(kStatTxFrames);
  host.nic.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
  host.nic.WriteRegister(kMaxFrame, 4, kMaxFrameBytes);
  host.StartRx(64, 2048, 64);
  host.StartTx(64);
  RecordingSink sink;
  std::vector<std::string> frames;
  for (uint32_t i = 0; i < kBurst; ++i) {
    // If the reset had kept flow rules, RSS or checksums, they would affect every second frame.
    frames.push_back(i % 2 == 0 ? PlainFrame(60 + i * 29, static_cast<uint8_t>(i))
                                : Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, uint16_t(i), 80}));
    ASSERT_EQ(host.Receive(frames.back()), 1u);
    ASSERT_EQ(host.Received(i), frames.back()) << i;
    host.PostTx(i, Host::Buffer(i), static_cast<uint32_t>(frames.back().size()), kTxEndOfPacket);
  }
  host.Write(0, kTxBlock, kRingTail, kBurst);
  EXPECT_EQ(host.nic.Transmit(sink, 2 * kBurst), kBurst);
  EXPECT_EQ(sink.frames, frames);
  EXPECT_EQ(host.Stat(kStatRxFrames) - received, kBurst);
  EXPECT_EQ(host.Stat(kStatTxFrames) - sent, kBurst);
}

/// Makes all mistakes of a faulty driver at once, so that everything is dropped, hashed or sent to
/// a queue without a reader.
void MisconfigureEverything(Host& host) {
  const auto store = [&](uint32_t offset, uint32_t value) {
    host.nic.WriteRegister(offset, 4, value);
  };
  for (uint32_t i = 0; i < kRetaEntries; i += 4) store(kReta + i, 0x0f0f'0f0f);
  for (uint32_t i = 0; i < kRssKeyBytes; i += 4) store(kRssKey + i, ~i);
  store(kRssFields, 0x3f);
  store(kFlowFields, kFlowMatchProtocol);
  store(kFlowProtocol, 4 << 8 | 17);
  store(kFlowAction, kFlowActionDrop);
  store(kFlowMark, 7);
  store(kFlowCommand, static_cast<uint32_t>(FlowCommand::kAdd));
  store(kMaxFrame, 64);
  store(kPortControl, kPortReceive | kPortChecksum);
  constexpr swap::Geometry kGeometry{3, 16384, 16, 0};
  const std::span link(host.At(Host::kBuffers), swap::LinkMemory::BytesFor(kGeometry));
  std::ranges::fill(link, uint8_t{0});
  swap::LinkMemory::Format(link, kGeometry);
  host.Write(0, kRxBlock, kRingControl, 0);
  host.Write(0, kTxBlock, kRingControl, 0);
  constexpr uint32_t kBlock = QueuePage(0) + kLinkBlock;
  host.nic.WriteRegister(kBlock + kLinkBase, 8, Host::kBus + Host::kBuffers);
  host.nic.WriteRegister(kBlock + kLinkBytes, 8, link.size());
  store(kBlock + kLinkEpoch, 5);
  store(kBlock + kLinkControl, kLinkEnable);
  EXPECT_EQ(host.nic.ReadRegister(kBlock + kLinkStatus, 4), 1u);
}

/// Stores random values to all registers, with rings full of random words. The device must always
/// respond, count every frame, access only memory that it was granted, and work after a reset.
TEST(IpuHostileHost, RandomRegistersAndRingsDoNoHarm) {
  std::mt19937_64 random(20261);
  uint64_t written = 0, faults = 0;
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    Host host;
    const auto wild_address = [&] {
      const uint64_t kinds[] = {Host::kBus + random() % Host::kBytes,
                                Host::kBus + Host::kBytes - random() % 4096,  // Exceeds the memory.
                                Host::kBus - random() % 4096, random()};
      return kinds[random() % std::size(kinds)];
    };
    for (uint32_t i = 0; i < Host::kBuffers; i += 16) {
      const uint64_t high = random() % 4 == 0 ? random() : random() % (1 << 18);
      const uint64_t words[] = {wild_address(), high};
      std::memcpy(host.At(i), words, sizeof(words));
    }
    for (uint32_t queue = 0; queue < 4; ++queue) {
      host.StartRx(64u << random() % 4, 128u + random() % 4000, 0, random() % 2 != 0, queue);
      host.StartTx(64u << random() % 4, queue);
    }
    uint64_t taken = 0, sent = 0, sent_bytes = 0;
    RecordingSink sink;
    const auto transmit = [&] {
      host.nic.Transmit(sink, 64);
      sent += sink.frames.size();
      for (const std::string& frame : sink.frames) sent_bytes += frame.size();
      sink.frames.clear();
    };
    for (int i = 0; i < 300; ++i) {
      const auto queue = static_cast<uint32_t>(random() % 5);
      host.Write(queue, random() % 2 ? kRxBlock : kTxBlock, kRingTail, random() % 300);
      if (random() % 4 == 0) {
        // Three of four offsets belong to registers.
        const uint32_t page = static_cast<uint32_t>(random() % 6) * kPageBytes;
        const uint64_t at = random() % 4 == 0 ? random() % kBarBytes : page + random() % 0x220;
        host.nic.WriteRegister(static_cast<uint32_t>(at) & ~3u, 4, random() >> random() % 64);
      }
      if (i == 200) MisconfigureEverything(host);
      taken += host.Receive(PlainFrame(static_cast<uint32_t>(random() % 3000)), random() % 2 != 0);
      taken += host.Receive(Ipv4Frame({{10, 0, 0, 1}, {10, 0, 0, 2}, 1, 80}), random() % 2 != 0);
      transmit();
      ASSERT_EQ(host.nic.ReadRegister(kDeviceId, 4), kDeviceIdValue);
    }
    transmit();
    host.nic.WriteRegister(kFlowCommand, 4, static_cast<uint32_t>(FlowCommand::kQuery));
    uint64_t endings = 0;
    for (const Statistic statistic :
         {kStatRxFrames, kStatRxNoDescriptor, kStatRxOversize, kStatRxUndersize, kStatRxFiltered,
          kStatRxFlowDrop, kStatRxDisabled, kStatRxDmaFault, kStatRxNoRegion}) {
      endings += host.Stat(statistic);
    }
    EXPECT_EQ(endings, taken);
    EXPECT_EQ(host.Stat(kStatTxFrames), sent);
    EXPECT_EQ(host.Stat(kStatTxBytes), sent_bytes);
    written += host.Stat(kStatRxFrames) + sent;
    faults += host.Stat(kStatRxDmaFault) + host.Stat(kStatTxDmaFault);
    ASSERT_NO_FATAL_FAILURE(ExpectWorksAfterAReset(host));
    EXPECT_TRUE(host.StayedInside());
  }
  EXPECT_GT(written, 1000u) << "frames moved";
  EXPECT_GT(faults, 100u) << "and were kept from leaving";
}

}  // namespace
}  // namespace sluice::device::ipu::test
