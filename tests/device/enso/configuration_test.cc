// SPDX-License-Identifier: BSD-3-Clause
//
// Tests configuration commands (docs/enso-hardware.md, "Formats") and the effects of the clocked
// commands ("Timestamp and rate limiter").
#include "host.h"

namespace sluice::device::enso {
namespace {

class EnsoConfiguration : public testing::Test {
 protected:
  EnsoConfiguration() : host({.pipe_flits = 64, .nb_entries = 128}) { host.OpenFallback(1, 0); }
  Host host;
};

TEST_F(EnsoConfiguration, ACompletionHoldsTheCommandAndTheLow20BitsOfBytes16To23) {
  const FlowEntryConfig flow = {kSignalConfig, 1, 0x1234, 0x5678, 0xc0a80000, 1, 17, 0, {}};
  const TxNotification done = host.TxSlot(0, host.Configure(flow));
  EXPECT_EQ(done.signal, kSignalNone);
  EXPECT_EQ(done.address, 1u);
  // Bytes 16 to 23 contain dst_ip:src_port:dst_port, here 0xc0a8'0000'5678'1234. The completion
  // contains their low 20 bits.
  EXPECT_EQ(done.length, 0x8'1234u);
  for (const uint64_t word : done.reserved) EXPECT_EQ(word, 0u);
}

TEST_F(EnsoConfiguration, AnyNotificationBufferMaySendACommand) {
  host.OpenNb(7);
  host.Configure(FallbackConfig{kSignalConfig, 4, 0, 0, 0, {}}, /*nb=*/7);
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(host.Count("rx_no_fallback"), 1u);
}

TEST_F(EnsoConfiguration, AnUnknownCommandIsCompletedAndDoesNothing) {
  const TxNotification done =
      host.TxSlot(0, host.Configure(TxNotification{kSignalConfig, 99, 5, {}}));
  EXPECT_EQ(done.signal, kSignalNone);
  EXPECT_EQ(done.address, 99u);
  EXPECT_EQ(done.length, 5u);
  EXPECT_EQ(host.Count("tx_configs_unknown"), 1u);
}

// Timestamps.

TEST_F(EnsoConfiguration, TheStampGoesIntoTheFirstFlitOnlyAndNotIntoHostMemory) {
  host.Timestamp(kEnable64, 18);
  host.nic->SetTime(1'000'000);
  const Bytes frame = MakeFrame(1000);
  uint64_t bytes = 0;
  const uint64_t bus = host.Compose({frame}, &bytes);
  host.PutData(0, bus, bytes);
  host.StoreTxTail(0);
  ASSERT_EQ(host.Transmit(), 1u);
  Bytes expected = frame;
  PutBe32(expected, 18, 200'000);
  EXPECT_EQ(host.wire.frames[0], expected);
  EXPECT_EQ(std::memcmp(host.At(bus), frame.data(), frame.size()), 0);
}

TEST_F(EnsoConfiguration, OnReceptionTheStampBecomesItsAgeInUnitsOf5Ns) {
  host.Timestamp(kEnable64, 18);
  host.nic->SetTime(5'000'000);
  Bytes frame = MakeFrame(200);
  PutBe32(frame, 18, 1'000'000 - 250);
  ASSERT_TRUE(host.Receive(frame));
  Bytes expected = frame;
  PutBe32(expected, 18, 250);
  EXPECT_EQ(std::memcmp(host.Flit(0, 0), expected.data(), expected.size()), 0);
}

TEST_F(EnsoConfiguration, AllReceivedFramesAreRewrittenStampedOrNot) {
  host.Timestamp(kEnable64, 50);
  host.nic->SetTime(500);  // cycle 100
  Bytes arp(60);
  PutBe16(arp, 12, 0x0806);
  ASSERT_TRUE(host.Receive(arp));
  EXPECT_EQ(Be32(host.Flit(0, 0) + 50), 100u);
}

TEST_F(EnsoConfiguration, ReceivedFramesAreRewrittenBeforeTheyAreSteered) {
  host.OpenPipe(1, 0);
  host.Bind(80, 0, 0x0000'0064, 0, 1);  // destination 0.0.0.100
  host.Timestamp(kEnable64, 30);        // the destination address
  host.nic->SetTime(5 * 1000);
  ASSERT_TRUE(host.Receive(MakeFrame(64, {.dst_ip = 900})));
  EXPECT_EQ(host.Tail(1), 1u);
}

TEST_F(EnsoConfiguration, AWildTimestampOffsetStaysInsideTheFlit) {
  host.Timestamp(kEnable64, ~uint64_t{0});
  host.nic->SetTime(5 * 0x0102'0304);
  const Bytes frame = MakeFrame(128);
  host.Send(0, {frame});
  ASSERT_EQ(host.Transmit(), 1u);
  EXPECT_TRUE(std::equal(frame.begin() + 64, frame.end(), host.wire.frames[0].begin() + 64));
  ASSERT_TRUE(host.Receive(frame));
  EXPECT_EQ(std::memcmp(host.Flit(0, 1), frame.data() + 64, 64), 0);
}

// Rate limiter.

class EnsoRateLimit : public EnsoConfiguration {
 protected:
  /// Queues 60 frames of one flit each; a cycle is 5 ns.
  void Queue() { host.Send(0, std::vector<Bytes>(60, MakeFrame(64))); }
  uint32_t TransmitAtCycle(uint64_t cycle) {
    host.nic->SetTime(cycle * 5);
    return host.Transmit();
  }
};

TEST_F(EnsoRateLimit, FlitsAreCountedNotFrames) {
  host.RateLimit(1, 1000, kEnable32);
  host.Send(0, {MakeFrame(256), MakeFrame(64)});
  EXPECT_EQ(TransmitAtCycle(3 * 1000), 0u) << "three of four flits";
  EXPECT_EQ(TransmitAtCycle(4 * 1000), 1u);
  EXPECT_EQ(TransmitAtCycle(5 * 1000), 1u);
}

TEST_F(EnsoRateLimit, ItIsGlobalOverAllNotificationBuffers) {
  host.OpenNb(1);
  host.RateLimit(1, 10, kEnable32);
  for (int i = 0; i < 4; ++i) {
    host.Send(0, {MakeFrame(64)});
    host.Send(1, {MakeFrame(64)});
  }
  EXPECT_EQ(TransmitAtCycle(50), 5u);
}

TEST_F(EnsoRateLimit, CyclesThatPassWhileNothingWaitsAreNotSavedUp) {
  host.RateLimit(1, 10, kEnable32);
  EXPECT_EQ(TransmitAtCycle(1000), 0u);
  Queue();
  EXPECT_EQ(host.Transmit(), 0u);
  EXPECT_EQ(TransmitAtCycle(1020), 2u);
}

}  // namespace
}  // namespace sluice::device::enso
