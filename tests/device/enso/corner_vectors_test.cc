// SPDX-License-Identifier: BSD-3-Clause
//
// Corner cases of the Ensō NIC found in a simulation of its RTL (v0.4.6,
// github.com/crossroadsfpga/enso): behavior that a driver must not rely on, and actions that it
// must not perform. Where the hardware's order is undefined, the tests assume the order that is
// worst for a careless driver.
#include <set>

#include "vector_bench.h"

namespace sluice::device::enso {
namespace {

// Round robin: x becomes (x + 1) & mask in every cycle, regardless of the number of fallback pipes.

class EnsoRoundRobinCorner : public testing::Test {
 protected:
  static constexpr uint32_t kPipes = 8;

  EnsoRoundRobinCorner() : host({.pipe_flits = 256, .nb_entries = 64}) {
    host.OpenNb(0);
    for (uint32_t i = 0; i < kPipes; ++i) host.OpenPipe(i, 0);
    host.nic->SetTime(cycle * 5);
  }
  /// Advances the clock by `cycles` cycles and receives one frame. Returns the frame's pipe.
  uint32_t PipeAfter(uint64_t cycles) {
    host.nic->SetTime((cycle += cycles) * 5);
    uint32_t tails[kPipes];
    for (uint32_t i = 0; i < kPipes; ++i) tails[i] = host.Tail(i);
    EXPECT_TRUE(host.Receive(MakeFrame(64)));
    for (uint32_t i = 0; i < kPipes; ++i) {
      if (host.Tail(i) != tails[i]) return i;
    }
    ADD_FAILURE() << "no pipe got the frame";
    return kPipes;
  }
  std::set<uint32_t> Reached(uint32_t count, uint32_t mask) {
    host.Fallback(count, mask, kEnable64);
    std::set<uint32_t> pipes;
    for (uint64_t i = 0; i < 60; ++i) pipes.insert(PipeAfter(2 + i % 7));
    return pipes;
  }

  Host host;
  uint64_t cycle = 1'000'000;
};

TEST_F(EnsoRoundRobinCorner, PipesThatTheMaskDoesNotReachGetNothing) {
  EXPECT_EQ(Reached(3, 1), (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(Reached(5, 3), (std::set<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(Reached(6, 3), (std::set<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(Reached(8, 7).size(), 8u);
}

TEST_F(EnsoRoundRobinCorner, AnyMaskFollowsTheStepCycleByCycle) {
  uint32_t x = 0;  // The value after reset, with a mask of zero.
  for (const uint32_t mask : {7u, 5u, 6u, 3u, 4u, 0u, 1u, 7u, 2u}) {
    host.Fallback(8, mask, kEnable64);
    for (uint64_t step = 2; step < 30; ++step) {
      for (uint64_t i = 0; i < step; ++i) x = (x + 1) & mask;
      ASSERT_EQ(PipeAfter(step), x) << "mask " << mask << ", step " << step;
    }
  }
}

// A configuration is applied when its slot is fetched, while data of earlier slots may still be
// unread.

class EnsoConfigurationOrder : public testing::Test {
 protected:
  EnsoConfigurationOrder() : nic({}, /*buffers=*/2) { nic.nic->SetTime(5 * 77); }

  VectorBench nic;
  const Bytes frame = MakeFrame(64);
  const uint64_t a = nic.Data("A", {frame});
  const TimestampConfig stamp = {kSignalConfig, 2, kEnable64, 18, {}};
};

TEST_F(EnsoConfigurationOrder, ItActsAheadOfDataInTheSameBatch) {
  nic.PutSlot(0, 0, a, 64);
  nic.PutSlot(0, 1, stamp);
  EXPECT_EQ(nic.Publish(0, 2),
            "C[0]{A,64} C[1]{2," + std::to_string(kEnable64 & 0xf'ffff) + "} W(64)")
      << "completed in the order of the slots all the same";
  EXPECT_EQ(Be32(nic.wire.frames[0].data() + 18), 77u) << "the frame before it is stamped";
}

TEST_F(EnsoConfigurationOrder, ItActsAheadOfDataThatAnotherBufferPublishedBefore) {
  nic.PutSlot(0, 0, a, 64);
  nic.PutSlot(1, 0, stamp);
  nic.TxTail(0, 1);
  nic.Publish(1, 1);
  EXPECT_EQ(Be32(nic.wire.frames[0].data() + 18), 77u);
}

TEST_F(EnsoConfigurationOrder, ItActsAheadOfDataThatTheRateLimiterHolds) {
  nic.RateLimit(0, 1, kEnable32);
  nic.PutSlot(0, 0, a, 64);
  EXPECT_EQ(nic.Publish(0, 1), "") << "held for ever";
  nic.PutSlot(1, 0, RateLimitConfig{kSignalConfig, 3, 1, 1, 0, {}});
  EXPECT_EQ(nic.Publish(1, 1), "C[0]{A,64} C1[0]{3,65537} W(64)");
}

TEST_F(EnsoConfigurationOrder, OfTwoInOneBatchTheLastStays) {
  nic.PutSlot(0, 0, TimestampConfig{kSignalConfig, 2, 0, 0, {}});
  nic.PutSlot(0, 1, a, 64);
  nic.PutSlot(0, 2, stamp);
  nic.PutSlot(0, 3, TimestampConfig{kSignalConfig, 2, 0, 0, {}});
  nic.Publish(0, 4);
  EXPECT_EQ(nic.wire.frames, std::vector<Bytes>{frame}) << "off again before the frame is read";
}

// A pipe is enabled while its notification buffer is disabled.

TEST(EnsoBufferOff, AFrameOfOneFlitIsSkippedAndALaterHeadStoreNotifiesIt) {
  VectorBench nic;
  nic.Enable(5);
  nic.Write64(NbPage(0) + kRxMemLo, 0);
  Play(nic, {{"neither data nor notification", Packets(5, 1), ""}});
  EXPECT_EQ(nic.Tail(5), 1u);
  EXPECT_EQ(nic.Count("rx_nb_disabled"), 1u);
  EXPECT_EQ(nic.Count("rx_frames"), 0u);
  nic.Write64(NbPage(0) + kRxMemLo, nic.rx_ring(0));
  Play(nic, {
                {"the status is set", Packets(5, 1), "D(5,1)"},
                {"head", Head(5, 0), "N[0]{5,2}"},
            });
}

// The host stores to rx_head of a disabled pipe.

TEST(EnsoHeadOfADisabledPipe, LeavesAHoleInBufferZeroThatStopsItsPoller) {
  VectorBench nic;
  nic.Enable(5);
  nic.Write32(PipePage(9) + kRxTail, 3);
  Play(nic, {{"head ≠ tail", Head(9, 1), ""}});
  EXPECT_EQ(nic.NbTail(0), 1u) << "a slot was counted and none written";
  Play(nic, {{"the next notification", Packets(5, 1), "N[1]{5,1} D(5,0)"}});
}

TEST(EnsoHeadOfADisabledPipe, DoesNothingIfItEqualsTheTail) {
  VectorBench nic;
  nic.Write32(PipePage(9) + kRxTail, 3);
  Play(nic, {{"head = tail", Head(9, 3), ""}});
  EXPECT_EQ(nic.NbTail(0), 0u);
}

TEST(EnsoHeadOfADisabledPipe, LeavesTheTailOfBufferZeroThatIsOff) {
  VectorBench nic;
  nic.Write64(NbPage(0) + kRxMemLo, 0);
  nic.Write32(PipePage(9) + kRxTail, 3);
  Play(nic, {{"head ≠ tail", Head(9, 1), ""}});
  EXPECT_EQ(nic.NbTail(0), 0u);
}

// The NIC compares a head beyond the ring without applying the mask.

TEST(EnsoHeadBeyondTheRing, DiffersFromATailOfTheSameSlot) {
  VectorBench nic({.pipe_flits = 16, .nb_entries = 16});
  nic.Enable(5);
  Play(nic, {
                {"the ring's size, tail 0", Head(5, 16), "N[0]{5,0}"},
                {"again", Head(5, 16), "N[1]{5,0}"},
                {"the status is set", Packets(5, 1), "D(5,0)"},
                {"head = tail", Head(5, 1), ""},
                {"beyond the ring", Head(5, 17), "N[2]{5,1}"},
            });
}

// The NIC is wedged: a frame of two flits reached the disabled pipe 9.

class EnsoBehindAWedge : public testing::Test {
 protected:
  EnsoBehindAWedge() {
    nic.Enable(5);
    nic.Enable(6);
    nic.Steer(9);
  }
  void Wedge() { EXPECT_EQ(nic.Packets(9, 2), ""); }
  VectorBench nic;
};

TEST_F(EnsoBehindAWedge, TailsOfHealthyPipesAndBuffersAdvanceAndNothingIsWritten) {
  Wedge();
  Play(nic, {
                {"a packet", Packets(5, 3), ""},
                {"another", Packets(5, 1), ""},
                {"another pipe's", Packets(6, 1), ""},
                {"head", Head(5, 1), ""},
            });
  EXPECT_EQ(nic.Tail(5), 4u);
  EXPECT_EQ(nic.Tail(6), 1u);
  EXPECT_EQ(nic.Tail(9), 0u);
  EXPECT_EQ(nic.NbTail(0), 3u) << "two packets and one head store asked for notifications";
}

// The hardware sent 15 of 41 frames; the number depends on its queues.
TEST_F(EnsoBehindAWedge, TransmissionEndsAfterWhatWasInFlight) {
  const uint64_t a = nic.Data("A", {MakeFrame(64)});
  for (uint32_t slot = 0; slot < 41; ++slot) nic.PutSlot(0, slot, a, 64);
  nic.TxTail(0, 41);
  EXPECT_EQ(nic.nic->Transmit(nic.wire, /*budget=*/15), 15u);
  ASSERT_TRUE(nic.Receive(MakeFrame(128, {.dst_port = 9})));
  while (nic.Transmit() != 0) {
  }
  EXPECT_GE(nic.wire.frames.size(), 15u);
  EXPECT_LE(nic.wire.frames.size(), 41u);
  EXPECT_EQ(nic.TxSlot(0, 15).signal, kSignalData) << "no completion since";

  nic.PutSlot(0, 41, a, 64);
  EXPECT_EQ(nic.Publish(0, 42).find('W'), std::string::npos) << "published later, never sent";
}

TEST(EnsoRateLimiterPhase, ThePeriodBeginsWithTheConfiguration) {
  for (const uint64_t start : {1000u, 1003u, 1007u}) {
    Host host;
    host.OpenNb(0);
    host.nic->SetTime(start * 5);
    host.RateLimit(2, 10, kEnable32);
    host.Send(0, std::vector<Bytes>(20, MakeFrame(64)));
    std::string passed;
    for (uint64_t cycle = 1; cycle <= 20; ++cycle) {
      host.nic->SetTime((start + cycle) * 5);
      passed += std::to_string(host.Transmit());
    }
    EXPECT_EQ(passed, "11000000001100000000") << "configured in cycle " << start;
  }
}

}  // namespace
}  // namespace sluice::device::enso
