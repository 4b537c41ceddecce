// SPDX-License-Identifier: BSD-3-Clause
//
// The register file, and hosts that lie: wild addresses, doorbells, ring sizes.
#include <gtest/gtest.h>

#include <random>

#include "host.h"

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
  host.nic.WriteRegister(kReset, 4, 1);  // not the magic
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
  host.Rx(1) = {Host::kBus + Host::kBytes - 100, 0};  // runs out of the mapping
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

/// Random stores to all registers, over rings full of random words: no crash, no
/// byte outside the mapped memory (the sanitizers watch), no endless loop.
TEST(IpuHostileHost, RandomRegistersAndRingsDoNoHarm) {
  std::mt19937_64 random(20261);
  for (int round = 0; round < 60; ++round) {
    Host host;
    RecordingSink sink;
    for (uint32_t i = 0; i < (2u << 20); i += 8) {
      const uint64_t word = random() % 4 == 0 ? Host::kBus + random() % Host::kBytes : random();
      std::memcpy(host.At(i), &word, 8);
    }
    for (uint32_t queue = 0; queue < 4; ++queue) {
      host.StartRx(64u << random() % 4, 128u + random() % 4000, 0, random() % 2 != 0, queue);
      host.StartTx(64u << random() % 4, queue);
    }
    for (int i = 0; i < 300; ++i) {
      const auto queue = static_cast<uint32_t>(random() % 5);
      host.Write(queue, random() % 2 ? kRxBlock : kTxBlock, kRingTail, random() % 300);
      if (random() % 8 == 0) {
        host.nic.WriteRegister(static_cast<uint32_t>(random() % kBarBytes) & ~3u, 4, random());
      }
      host.Receive(PlainFrame(static_cast<uint32_t>(random() % 3000)), random() % 2 != 0);
      host.nic.Transmit(sink, 64);
    }
  }
}

}  // namespace
}  // namespace sluice::device::ipu::test
