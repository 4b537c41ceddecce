// SPDX-License-Identifier: BSD-3-Clause
//
// Tests descriptors, framing and completions (docs/enso-hardware.md, "Transmitting") beyond the
// table of transmit vectors.
#include "host.h"

namespace sluice::device::enso {
namespace {

constexpr uint32_t kNbEntries = 32;

class EnsoTransmit : public testing::Test {
 protected:
  EnsoTransmit() : host({.pipe_flits = 64, .nb_entries = kNbEntries}) {
    host.OpenNb(0);
    host.OpenNb(1);
  }
  Host host;
};

TEST_F(EnsoTransmit, ATransferMayHoldManyFramesEachStartingOnAFlit) {
  const std::vector<Bytes> frames = {MakeFrame(60), MakeFrame(64), MakeFrame(65, {}, 9),
                                     MakeFrame(1514), MakeFrame(128)};
  host.Send(0, frames);
  EXPECT_EQ(host.Transmit(), frames.size());
  EXPECT_EQ(host.wire.frames, frames);
  EXPECT_EQ(host.Count("tx_frames"), frames.size());
  EXPECT_EQ(host.Count("tx_bytes"), 60u + 64 + 65 + 1514 + 128);
}

TEST_F(EnsoTransmit, AFrameMaySpanTransfersThatOneTailStorePublishes) {
  const Bytes frame = MakeFrame(1000, {}, 3), next = MakeFrame(100, {}, 4);
  uint64_t bytes = 0;
  const uint64_t bus = host.Compose({frame, next}, &bytes);
  host.PutData(0, bus, 64);
  host.PutData(0, bus + 64, 512);
  host.PutData(0, bus + 576, bytes - 576);
  host.StoreTxTail(0);
  EXPECT_EQ(host.Transmit(), 2u);
  EXPECT_EQ(host.wire.frames, (std::vector<Bytes>{frame, next}));
}

// The NIC sends the number of bytes that the frame's header claims. Missing bytes are 0: the NIC
// sends neither old content nor host memory after the transfer.
TEST_F(EnsoTransmit, AFrameThatClaimsMoreThanItsTransferEndsInZeros) {
  Bytes full(64, 0xee);
  PutBe16(full, 16, 64 - 14);
  for (int i = 0; i < 10; ++i) {
    host.Send(0, std::vector<Bytes>(64, full));
    ASSERT_EQ(host.Transmit(), 64u);
  }
  const struct {
    uint32_t transfer, claimed;
  } kCases[] = {{18, 64}, {50, 51}, {60, 64}, {63, 64}, {65, 128}, {97, 100}, {1001, 1024}};
  for (const auto& [transfer, claimed] : kCases) {
    Bytes frame(transfer, 0xaa);
    PutBe16(frame, 16, static_cast<uint16_t>(claimed - 14));
    Bytes expected = frame;
    expected.resize(claimed);
    frame.resize(Flits(transfer) * kFlitBytes, 0xee);
    host.PutData(0, host.Compose({frame}), transfer);
    host.StoreTxTail(0);
    ASSERT_EQ(host.Transmit(), 1u);
    EXPECT_EQ(host.wire.frames.back(), expected) << transfer << " of " << claimed;
  }
}

TEST_F(EnsoTransmit, AVlanFrameSwallowsFollowingPacketsOfEveryone) {
  Bytes vlan = MakeFrame(64);
  PutBe16(vlan, 16, 0x0800);  // Claims 2048 + 14 bytes: 33 flits.
  host.Send(0, {vlan});
  host.Send(1, std::vector<Bytes>(33, MakeFrame(64, {}, 5)));
  EXPECT_EQ(host.Transmit(), 2u);
  EXPECT_EQ(host.wire.frames[0].size(), 2062u);
  EXPECT_EQ(host.wire.frames[1], MakeFrame(64, {}, 5)) << "32 of 33 are gone";
}

TEST_F(EnsoTransmit, AFrameOf64FlitsPassesAndOneThatClaimsMoreDeadlocks) {
  Bytes largest = MakeFrame(4096);
  host.Send(0, {largest});
  EXPECT_EQ(host.Transmit(), 1u);
  EXPECT_EQ(host.wire.frames[0], largest);

  Bytes liar = MakeFrame(64);
  PutBe16(liar, 16, 4097 - 14);  // 65 flits
  host.Send(0, {liar});
  for (int i = 0; i < 4; ++i) host.Send(0, std::vector<Bytes>(20, MakeFrame(64)));
  EXPECT_EQ(host.Transmit(), 0u);
  EXPECT_EQ(host.Count("tx_oversize"), 1u);
  host.Send(1, {MakeFrame(64)});
  EXPECT_EQ(host.Transmit(), 0u) << "for everyone, for ever";
}

TEST_F(EnsoTransmit, AMisframedTransferIsCompletedUntilTheFifoIsFull) {
  Bytes liar = MakeFrame(64);
  PutBe16(liar, 16, 0xffff);
  const uint32_t first = host.Send(0, {liar});
  const uint32_t second = host.Send(0, std::vector<Bytes>(63, MakeFrame(64)));
  const uint32_t third = host.Send(0, {MakeFrame(64)});
  host.Transmit();
  EXPECT_EQ(host.TxSlot(0, first).signal, kSignalNone);
  EXPECT_EQ(host.TxSlot(0, second).signal, kSignalNone);
  EXPECT_EQ(host.TxSlot(0, third).signal, kSignalData);
}

TEST_F(EnsoTransmit, ALengthOfZeroWedgesTransmission) {
  host.PutData(0, host.Allocate(64), 0);
  host.StoreTxTail(0);
  host.Send(0, {MakeFrame(64)});
  EXPECT_EQ(host.Transmit(), 0u);
  EXPECT_EQ(host.Count("tx_zero_length"), 1u);
}

TEST_F(EnsoTransmit, TwentyBitsOfLengthAreUsed) {
  uint64_t bytes = 0;
  const uint64_t bus = host.Compose({MakeFrame(64)}, &bytes);
  const uint32_t slot = host.PutData(0, bus, (uint64_t{0xabcde} << 20) | bytes);
  host.StoreTxTail(0);
  EXPECT_EQ(host.Transmit(), 1u);
  EXPECT_EQ(host.TxSlot(0, slot).length, bytes);
  host.PutData(0, bus, 1u << 20);
  host.StoreTxTail(0);
  host.Transmit();
  EXPECT_EQ(host.Count("tx_zero_length"), 1u) << "2^20 is 0";
}

TEST_F(EnsoTransmit, TheLargestTransferIs1048512Bytes) {
  const uint64_t bus = host.Allocate(kMaxTransferBytes);
  const Bytes frame = MakeFrame(64);
  for (uint32_t i = 0; i < kMaxTransferBytes; i += 64) {
    std::memcpy(host.At(bus + i), frame.data(), 64);
  }
  host.PutData(0, bus, kMaxTransferBytes);
  host.StoreTxTail(0);
  EXPECT_EQ(host.Transmit(100'000), kMaxTransferBytes / 64);
  EXPECT_LE(host.wire.largest_burst, 64u);
}

TEST_F(EnsoTransmit, NothingMovesBeforeTheTailStore) {
  uint64_t bytes = 0;
  const uint64_t bus = host.Compose({MakeFrame(64)}, &bytes);
  host.PutData(0, bus, bytes);
  EXPECT_EQ(host.Transmit(), 0u);
  EXPECT_EQ(host.TxSlot(0, 0).signal, kSignalData);
}

TEST_F(EnsoTransmit, TxHeadBecomesTheTailAtTheFetchNotAtCompletion) {
  host.RateLimit(0, 1, kEnable32);  // Data never leaves the read FIFO.
  const uint32_t slot = host.Send(0, {MakeFrame(64)});
  EXPECT_EQ(host.Read32(NbPage(0) + kTxHead), slot);
  host.Transmit();
  EXPECT_EQ(host.Read32(NbPage(0) + kTxHead), slot + 1);
  EXPECT_EQ(host.TxSlot(0, slot).signal, kSignalData);
}

TEST_F(EnsoTransmit, TailStoresBeforeTheFetchCoalesce) {
  for (int i = 0; i < 5; ++i) host.Send(0, {MakeFrame(64, {}, static_cast<uint8_t>(i))});
  EXPECT_EQ(host.Transmit(), 5u);
  EXPECT_EQ(host.Count("tx_slots"), 5u);
}

TEST_F(EnsoTransmit, BuffersAreServedInTheOrderOfTheirTailStoresAndCompletedInThatOrder) {
  host.Send(1, {MakeFrame(64, {}, 1)});
  host.Send(0, {MakeFrame(64, {}, 2)});
  EXPECT_EQ(host.Transmit(/*budget=*/1), 1u);
  EXPECT_EQ(host.wire.frames[0], MakeFrame(64, {}, 1));
  EXPECT_EQ(host.TxSlot(1, 0).signal, kSignalNone);
  EXPECT_EQ(host.TxSlot(0, 0).signal, kSignalData);
  EXPECT_EQ(host.Transmit(), 1u);
  EXPECT_EQ(host.TxSlot(0, 0).signal, kSignalNone);
}

TEST_F(EnsoTransmit, TheBudgetBoundsACallAboutAndNothingIsLost) {
  host.Send(0, std::vector<Bytes>(500, MakeFrame(64)));
  uint32_t total = 0, calls = 0;
  for (uint32_t n; (n = host.Transmit(32)) != 0; total += n, ++calls) EXPECT_LE(n, 32u + 64);
  EXPECT_EQ(total, 500u);
  EXPECT_GE(calls, 5u);
}

TEST_F(EnsoTransmit, AnAddressOutsideRegisteredMemoryIsACountedFaultAndCompleted) {
  const uint32_t slot = host.PutData(0, 0xdead'0000'0000, 64);
  const uint64_t edge = Host::kBus + Host::kMemoryBytes - 64;
  host.PutData(0, edge, 128);
  host.StoreTxTail(0);
  EXPECT_EQ(host.Transmit(), 0u);
  EXPECT_EQ(host.Count("dma_faults"), 2u);
  EXPECT_EQ(host.TxSlot(0, slot).signal, kSignalNone);
  host.Send(0, {MakeFrame(64)});
  EXPECT_EQ(host.Transmit(), 1u) << "and the next one goes out";
}

TEST_F(EnsoTransmit, ARingOutsideRegisteredMemoryIsACountedFault) {
  host.Write64(NbPage(0) + kTxMemLo, 0xdead'0000'0000);
  host.Write32(NbPage(0) + kTxTail, 3);
  EXPECT_EQ(host.Transmit(), 0u);
  EXPECT_EQ(host.Count("dma_faults"), 1u);
}

TEST(EnsoFetch, ARequestOfManyReadsIsServedWholeAcrossTheRingsEnd) {
  Host host({.pipe_flits = 64, .nb_entries = 1024});
  host.OpenNb(0);
  uint64_t bytes = 0;
  const uint64_t bus = host.Compose({MakeFrame(64)}, &bytes);
  for (const uint32_t slots : {900u, 1000u}) {  // The second round starts at slot 900.
    uint32_t last = 0;
    for (uint32_t i = 0; i < slots; ++i) last = host.PutData(0, bus, bytes);
    host.StoreTxTail(0);
    EXPECT_EQ(host.Transmit(1), 1u);
    EXPECT_EQ(host.Transmit(slots), slots - 1);
    EXPECT_EQ(host.TxSlot(0, last).signal, kSignalNone);
    EXPECT_EQ(host.TxSlot(0, last).address, bus);
  }
}

TEST(EnsoRestartTrap, ADescriptorOfAnotherBufferInBetweenDisarmsIt) {
  Host host;
  host.OpenNb(0);
  host.OpenNb(1);
  for (int i = 0; i < 5; ++i) host.Send(0, {MakeFrame(64)});
  host.Send(1, {MakeFrame(64)});
  ASSERT_EQ(host.Transmit(), 6u);
  host.Write64(NbPage(0) + kTxTail, 0);
  uint64_t bytes = 0;
  const uint64_t bus = host.Compose({MakeFrame(64)}, &bytes);
  const TxNotification slot = {kSignalData, bus, bytes, {}};
  std::memcpy(host.At(host.tx_ring(0)), &slot, sizeof(slot));
  host.Write32(NbPage(0) + kTxTail, 1);
  ASSERT_EQ(host.Transmit(), 1u);
  EXPECT_EQ(host.TxSlot(0, 0).signal, kSignalNone);
}

}  // namespace
}  // namespace sluice::device::enso
