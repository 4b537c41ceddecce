// SPDX-License-Identifier: BSD-3-Clause
//
// Transmission vectors from a simulation of the Ensō RTL (v0.4.6, github.com/crossroadsfpga/enso).
// Rings have their default sizes unless a test sets others.
#include <sstream>

#include "vector_bench.h"

namespace sluice::device::enso {
namespace {

/// Returns a frame with zeros after its headers.
Bytes PlainFrame(uint32_t length) {
  Bytes frame = MakeFrame(length);
  std::fill(frame.begin() + 48, frame.end(), 0);
  return frame;
}

TEST(EnsoTransmitVectors, DataAndConfigurationSlots) {
  VectorBench nic;
  const std::vector<Bytes> frames = {MakeFrame(14 + 46), MakeFrame(14 + 100)};
  nic.PutSlot(0, 0, nic.Data("A", frames), 192);
  EXPECT_EQ(nic.Publish(0, 1), "C[0]{A,192} W(60) W(114)") << "1";
  EXPECT_EQ(nic.wire.frames, frames) << "1";
  EXPECT_EQ(nic.Read32(NbPage(0) + kTxTail), 1u) << "1";
  EXPECT_EQ(nic.Read32(NbPage(0) + kTxHead), 1u) << "1";

  EXPECT_EQ(nic.Publish(0, 1), "") << "2";

  nic.PutSlot(0, 1, FallbackConfig{kSignalConfig, 4, /*count=*/4, /*mask=*/3, 0, {}});
  EXPECT_EQ(nic.Publish(0, 2), "C[1]{4,4}") << "3";

  constexpr uint64_t kOnes = ~uint64_t{0};
  nic.PutSlot(0, 2, TxNotification{kSignalConfig, 3, kOnes, {kOnes, kOnes, kOnes, kOnes, kOnes}});
  EXPECT_EQ(nic.Publish(0, 3), "C[2]{3," + std::to_string(0x0fffff) + "}") << "4";
}

TEST(EnsoTransmitVectors, ARestartFromZeroCompletesTheSlotBehindThePreviousOne) {
  VectorBench nic;
  const uint64_t a = nic.Data("A", {MakeFrame(64)});
  for (uint32_t slot = 0; slot < 4; ++slot) nic.PutSlot(0, slot, a, 64);
  EXPECT_EQ(nic.Publish(0, 4),
            "C[0]{A,64} C[1]{A,64} C[2]{A,64} C[3]{A,64} W(64) W(64) W(64) W(64)");
  nic.Write32(NbPage(0) + kTxHead, 0);
  nic.TxTail(0, 0);
  nic.PutSlot(0, 0, a, 64);
  EXPECT_EQ(nic.Publish(0, 1), "C[4]{A,64} W(64)") << "5";
}

TEST(EnsoTransmitVectors, TheRingWraps) {
  VectorBench nic({.nb_entries = 16});
  const uint64_t a = nic.Data("A", {MakeFrame(64)});
  uint32_t tail = 0;
  for (const char* completed :
       {"0 1 2 3 4 5 6 7 8 9", "10 11 12 13 14 15 0 1 2 3", "4 5 6 7 8 9 10 11 12 13"}) {
    std::string expected, wire, slot;
    for (std::istringstream slots(completed); slots >> slot;) {
      nic.PutSlot(0, tail, a, 64);
      tail = (tail + 1) % 16;
      expected += "C[" + slot + "]{A,64} ";
      wire += " W(64)";
    }
    EXPECT_EQ(nic.Publish(0, tail), expected + wire.substr(1)) << "6";
  }
}

TEST(EnsoTransmitVectors, AFrameOverTwoSlotsOfOneTailStore) {
  VectorBench nic({}, /*buffers=*/2);
  const Bytes frame = MakeFrame(14 + 200), other = MakeFrame(64, {}, 0xee);
  const uint64_t a = nic.Data("A", {frame}), e = nic.Data("E", {other});
  nic.PutSlot(0, 0, a, 128);
  nic.PutSlot(0, 1, nic.Name("B", a + 128), 128);
  nic.PutSlot(1, 0, e, 64);
  nic.TxTail(0, 2);
  EXPECT_EQ(nic.Publish(1, 1), "C[0]{A,128} C[1]{B,128} C1[0]{E,64} W(214) W(64)") << "7";
  EXPECT_EQ(nic.wire.frames, (std::vector<Bytes>{frame, other})) << "7";
}

TEST(EnsoTransmitVectors, AFrameOverTwoTailStoresWithAnotherBufferInBetween) {
  VectorBench nic({}, /*buffers=*/2);
  const Bytes frame = PlainFrame(14 + 200), other = MakeFrame(64, {}, 0xee);
  const uint64_t a = nic.Data("A", {frame}), e = nic.Data("E", {other});
  nic.PutSlot(0, 0, a, 128);
  EXPECT_EQ(nic.Publish(0, 1), "C[0]{A,128}") << "8: start, and a second flit";
  nic.PutSlot(1, 0, e, 64);
  EXPECT_EQ(nic.Publish(1, 1), "C1[0]{E,64}") << "8: the other's flit";
  nic.PutSlot(0, 1, nic.Name("B", a + 128), 128);
  // The third flit ends the frame. The fourth, whose bytes 16 and 17 are zero, starts a frame that
  // was not sent.
  EXPECT_EQ(nic.Publish(0, 2), "C[1]{B,128} W(214) W(14)") << "8";
  Bytes mixed(frame.begin(), frame.begin() + 128);
  mixed.insert(mixed.end(), other.begin(), other.end());
  mixed.insert(mixed.end(), frame.begin() + 128, frame.begin() + 150);
  ASSERT_EQ(nic.wire.frames.size(), 2u);
  EXPECT_EQ(nic.wire.frames[0], mixed) << "8";
}

TEST(EnsoTransmitVectors, AFrameWhoseLengthLiesSwallowsTheFramesOfEveryone) {
  VectorBench nic({}, /*buffers=*/2);
  Bytes liar = MakeFrame(64);
  PutBe16(liar, 16, 0x0800);
  nic.PutSlot(0, 0, nic.Data("A", {liar, MakeFrame(64)}), 128);
  EXPECT_EQ(nic.Publish(0, 1), "C[0]{A,128}") << "9";
  const uint64_t e = nic.Data("E", {MakeFrame(64)});
  nic.PutSlot(1, 0, e, 64);
  EXPECT_EQ(nic.Publish(1, 1), "C1[0]{E,64}") << "9: another's";
  nic.PutSlot(0, 1, e, 64);
  EXPECT_EQ(nic.Publish(0, 2), "C[1]{E,64}") << "9: its own";
}

TEST(EnsoTransmitVectors, ATotalLengthOfZero) {
  VectorBench nic;
  Bytes frame = MakeFrame(64);
  PutBe16(frame, 16, 0);
  nic.PutSlot(0, 0, nic.Data("A", {frame}), 64);
  EXPECT_EQ(nic.Publish(0, 1), "C[0]{A,64} W(14)") << "10";
}

TEST(EnsoTransmitVectors, ATransferThatIsNoMultipleOfAFlit) {
  VectorBench nic;
  nic.PutSlot(0, 0, nic.Data("A", {MakeFrame(60)}), 60);
  EXPECT_EQ(nic.Publish(0, 1), "C[0]{A,60} W(60)") << "11";
  EXPECT_EQ(nic.wire.frames[0], MakeFrame(60)) << "11";
}

TEST(EnsoTransmitVectors, ThreeHundredSlotsOfOneTailStoreCompleteInOrder) {
  VectorBench nic;
  const uint64_t a = nic.Data("A", {MakeFrame(64)});
  for (uint32_t slot = 0; slot < 300; ++slot) nic.PutSlot(0, slot, a, 64);
  nic.TxTail(0, 300);
  for (uint32_t sent = 0; sent <= 300; ++sent) {
    for (uint32_t slot = 0; slot < 300; ++slot) {
      const uint64_t signal = slot < sent ? kSignalNone : kSignalData;
      ASSERT_EQ(nic.TxSlot(0, slot).signal, signal) << "12, slot " << slot << " after " << sent;
    }
    ASSERT_EQ(nic.Transmit(/*budget=*/1), sent < 300 ? 1u : 0u) << "12";
  }
}

TEST(EnsoTransmitVectors, ThreeHundredSlotsAreReadByAtMost256) {
  // The two ranges are adjacent on the bus, but no read may span both.
  constexpr uint32_t kSlots = 256;
  constexpr uint64_t kRing = uint64_t{1} << 50, kRangeBytes = kSlots * kFlitBytes;
  struct alignas(64) Range {
    TxNotification slots[kSlots];
  };
  const auto ranges = std::make_unique<Range[]>(2);
  VectorBench nic;
  ASSERT_TRUE(nic.dma.Add(kRing, &ranges[0], kRangeBytes));
  ASSERT_TRUE(nic.dma.Add(kRing + kRangeBytes, &ranges[1], kRangeBytes));
  nic.Write64(NbPage(0) + kTxMemLo, kRing);
  const uint64_t a = nic.Data("A", {MakeFrame(64)});
  for (uint32_t i = 0; i < 300; ++i) {
    ranges[i / kSlots].slots[i % kSlots] = {kSignalData, a, 64, {}};
  }
  nic.Publish(0, 300);
  EXPECT_EQ(nic.wire.frames.size(), 300u) << "12";
  for (uint32_t i = 0; i < 300; ++i) {
    ASSERT_EQ(ranges[i / kSlots].slots[i % kSlots].signal, kSignalNone) << "12, slot " << i;
  }
}

TEST(EnsoTransmitVectors, ASignalOfThree) {
  VectorBench nic;
  nic.PutSlot(0, 0, TxNotification{3, nic.Data("A", {MakeFrame(64)}), 64, {}});
  EXPECT_EQ(nic.Publish(0, 1), "C[0]{A,64} W(64)") << "13";
}

}  // namespace
}  // namespace sluice::device::enso
