// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the handling of received frames (docs/enso-hardware.md, "Receiving") beyond the table of
// receive vectors.
#include <numeric>

#include "host.h"

namespace sluice::device::enso {
namespace {

constexpr uint32_t kPipeFlits = 64;

/// All traffic goes to pipe 0, which notifies buffer 0.
class EnsoReceive : public testing::Test {
 protected:
  EnsoReceive() : host({.pipe_flits = kPipeFlits, .nb_entries = 32}) { host.OpenFallback(1, 0); }

  void ExpectInPipe(uint32_t flit, const Bytes& frame) {
    for (uint32_t i = 0; i < frame.size(); ++i) {
      const uint32_t at = (flit + i / kFlitBytes) % kPipeFlits;
      ASSERT_EQ(host.Flit(0, at)[i % kFlitBytes], frame[i]) << "byte " << i;
    }
  }

  Host host;
};

TEST_F(EnsoReceive, EachPacketStartsOnAFlitBoundaryAndNoLengthIsStored) {
  const Bytes a = MakeFrame(60, {}, 1), b = MakeFrame(65, {}, 2), c = MakeFrame(128, {}, 3);
  EXPECT_EQ(host.ReceiveAll({a, b, c}), 3u);
  ExpectInPipe(0, a);
  ExpectInPipe(1, b);
  ExpectInPipe(3, c);
  EXPECT_EQ(host.Tail(0), 5u);
  EXPECT_EQ(host.Count("rx_frames"), 3u);
  EXPECT_EQ(host.Count("rx_bytes"), 60u + 65 + 128);
}

TEST_F(EnsoReceive, EveryLengthUpTo1536BytesArrivesUnchangedAndWritesNoOtherFlit) {
  uint32_t tail = 0;
  for (uint32_t length = 1; length <= 1536; ++length) {
    Bytes frame(length);
    std::iota(frame.begin(), frame.end(), static_cast<uint8_t>(length));
    const uint32_t flits = (length + 63) / 64;
    for (uint32_t i = 0; i <= flits; ++i) {
      std::memset(host.Flit(0, (tail + i) % kPipeFlits), 0xee, kFlitBytes);
    }
    const uint8_t* beyond = host.Flit(0, (tail + flits) % kPipeFlits);
    ASSERT_TRUE(host.Receive(frame));
    frame.resize(flits * kFlitBytes);  // The model pads with zeros.
    ASSERT_NO_FATAL_FAILURE(ExpectInPipe(tail, frame)) << length;
    for (uint32_t i = 0; i < kFlitBytes; ++i) ASSERT_EQ(beyond[i], 0xee) << length;
    tail = (tail + flits) % kPipeFlits;
    ASSERT_EQ(host.Tail(0), tail);
    host.StoreHead(0, tail);
  }
  EXPECT_EQ(host.Count("rx_frames"), 1536u);
}

TEST_F(EnsoReceive, APacketThatDoesNotFitIsDroppedWholeAndASmallerOneStillFits) {
  for (uint32_t i = 0; i < kPipeFlits - 3; ++i) ASSERT_TRUE(host.Receive(MakeFrame(64)));
  std::memset(host.Flit(0, kPipeFlits - 3), 0xee, 3 * kFlitBytes);
  ASSERT_TRUE(host.Receive(MakeFrame(192)));  // 3 flits; 2 are free.
  EXPECT_EQ(host.Tail(0), kPipeFlits - 3);
  EXPECT_EQ(host.Flit(0, kPipeFlits - 3)[0], 0xee) << "no byte of a dropped packet is written";
  EXPECT_EQ(host.Count("rx_pipe_full"), 1u);
  ASSERT_TRUE(host.Receive(MakeFrame(128)));
  EXPECT_EQ(host.Tail(0), kPipeFlits - 1);
}

TEST_F(EnsoReceive, PauseStopsBeforeThePacketThatDoesNotFit) {
  std::vector<Bytes> frames(kPipeFlits + 8, MakeFrame(64));
  EXPECT_EQ(host.ReceiveAll(frames, /*pause=*/true), kPipeFlits - 1);
  EXPECT_EQ(host.ReceiveAll(frames, /*pause=*/true), 0u);
  EXPECT_EQ(host.Count("rx_pipe_full"), 0u);
  host.StoreHead(0, 10);
  EXPECT_EQ(host.ReceiveAll(frames, /*pause=*/true), 10u);
  EXPECT_EQ(host.Count("rx_frames"), kPipeFlits - 1 + 10);
}

TEST_F(EnsoReceive, FramesBeyond24FlitsAreNotTaken) {
  ASSERT_TRUE(host.Receive(MakeFrame(1536)));
  ASSERT_TRUE(host.Receive(MakeFrame(1537)));
  ASSERT_TRUE(host.Receive(Bytes(100'000)));
  EXPECT_EQ(host.Tail(0), 24u);
  EXPECT_EQ(host.Count("rx_oversize"), 2u);
}

TEST_F(EnsoReceive, AnEmptyFrameIsCountedAndNothingElse) {
  ASSERT_TRUE(host.Receive(Bytes{}));
  EXPECT_EQ(host.Count("rx_empty"), 1u);
  EXPECT_EQ(host.Tail(0), 0u);
}

TEST_F(EnsoReceive, EveryFrameTakenIsInExactlyOneCounter) {
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 200; ++i) frames.push_back(Bytes(i * 17 % 1700));
  EXPECT_EQ(host.ReceiveAll(frames), frames.size());
  EXPECT_EQ(host.Count("rx_frames") + host.Count("rx_pipe_full") + host.Count("rx_oversize") +
                host.Count("rx_empty"),
            frames.size());
  EXPECT_GT(host.Count("rx_pipe_full"), 0u);
}

TEST(EnsoReceiveDisabled, TheWholeAddressDecidesSoAPipeOfBufferZeroNeedsABase) {
  Host host;
  host.OpenFallback(1, 0);
  host.Write64(PipePage(0) + kRxMemLo, 0);
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(host.Count("rx_pipe_disabled"), 1u);
  host.OpenPipe(0, 0);
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(host.Count("rx_frames"), 1u);
}

TEST(EnsoReceiveAddress, TheLowTenBitsOfAPipesAddressNameItsNotificationBuffer) {
  Host host;
  host.OpenNb(0);
  host.OpenNb(1023);
  host.OpenPipe(0, 1023);
  host.Fallback(1, 0, 0);
  const Bytes frame = MakeFrame(64);
  ASSERT_TRUE(host.Receive(frame));
  EXPECT_EQ(std::memcmp(host.Flit(0, 0), frame.data(), 64), 0) << "the id is not part of the base";
  EXPECT_EQ(host.NbTail(1023), 1u);
  EXPECT_EQ(host.NbTail(0), 0u);
  ExpectNotification(host.Slot(1023, 0), 0, 1);
}

TEST(EnsoReceiveAddress, APipeOutsideRegisteredMemoryIsACountedFaultAndTouchesNothing) {
  Host host;
  host.OpenFallback(1, 0);
  host.Write64(PipePage(0) + kRxMemLo, 0xdead'0000'0000);
  ASSERT_TRUE(host.Receive(MakeFrame(100)));
  EXPECT_EQ(host.Count("dma_faults"), 2u) << "one a flit";
}

TEST(EnsoReceiveAddress, TwoAddressStoresExposeAHalfAddressWindow) {
  Host host;
  host.OpenFallback(1, 0);
  const uint64_t base = host.Allocate(kPipeFlits * kFlitBytes);
  host.Write64(PipePage(0) + kRxMemLo, 0);
  host.Write32(PipePage(0) + kRxMemLo, static_cast<uint32_t>(base));
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(host.Count("dma_faults"), 1u) << "the pipe counts as enabled, at half an address";
  host.Write32(PipePage(0) + kRxMemHi, static_cast<uint32_t>(base >> 32));
  const Bytes frame = MakeFrame(64);
  ASSERT_TRUE(host.Receive(frame));
  EXPECT_EQ(std::memcmp(host.At(base) + kFlitBytes, frame.data(), 64), 0);
}

TEST(EnsoReceiveAddress, ARingOfWhichOnlyAPartIsReachableReceivesInThatPart) {
  Host host;
  host.OpenFallback(1, 0);
  // The last KiB of the host's memory: 16 of the ring's 64 flits.
  const uint64_t base = Host::kBus + Host::kMemoryBytes - 1024;
  host.Write64(PipePage(0) + kRxMemLo, base);
  for (uint8_t i = 0; i < 20; ++i) ASSERT_TRUE(host.Receive(MakeFrame(64, {}, i)));
  const Bytes last = MakeFrame(64, {}, 15);
  EXPECT_EQ(std::memcmp(host.At(base + 15 * 64), last.data(), 64), 0);
  EXPECT_EQ(host.Count("dma_faults"), 4u);
}

TEST(EnsoWedge, AMultiFlitPacketToAPipeOfADisabledNotificationBufferWedgesToo) {
  Host host;
  host.OpenFallback(1, 0);
  host.Write64(NbPage(0) + kRxMemLo, 0);
  ASSERT_TRUE(host.Receive(MakeFrame(64)));
  EXPECT_EQ(host.Count("wedged"), 0u) << "one flit is lost and does no other harm";
  ASSERT_TRUE(host.Receive(MakeFrame(65)));
  EXPECT_EQ(host.Count("rx_nb_disabled"), 2u);
  EXPECT_EQ(host.Count("wedged"), 1u);
}

TEST(EnsoWedge, APacketThatMisfitsAnEnabledPipeDoesNotWedge) {
  Host host;
  host.OpenFallback(1, 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(host.Receive(MakeFrame(1518)));
  EXPECT_EQ(host.Count("rx_pipe_full"), 3u);
  EXPECT_EQ(host.Count("wedged"), 0u);
}

TEST(EnsoWedge, The1024PacketBuffersFillAndThenFramesAreDroppedNeverHeldBack) {
  Host host;
  host.OpenFallback(1, 0);
  host.Write64(PipePage(0) + kRxMemLo, 0);
  std::vector<Bytes> frames(1 + 1024 + 300, MakeFrame(65));
  EXPECT_EQ(host.ReceiveAll(frames, /*pause=*/true), frames.size());
  EXPECT_EQ(host.Count("rx_pipe_disabled"), 1u);
  EXPECT_EQ(host.Count("rx_stuck"), 1024u);
  EXPECT_EQ(host.Count("rx_no_packet_buffer"), 300u);
}

TEST(EnsoWedge, HeadTriggersBeyond124WaitingOnesAreLostAndCounted) {
  Host host;
  host.OpenFallback(1, 0);
  host.Write64(PipePage(0) + kRxMemLo, 0);
  // The engine is blocked from here on.
  host.ReceiveAll(std::vector<Bytes>(1 + 1024, MakeFrame(65)));
  for (int i = 0; i < 124; ++i) host.StoreHead(0, 0);
  EXPECT_EQ(host.Count("rx_head_triggers_lost"), 0u);
  for (int i = 0; i < 7; ++i) host.StoreHead(0, 0);
  EXPECT_EQ(host.Count("rx_head_triggers_lost"), 7u);
}

}  // namespace
}  // namespace sluice::device::enso
