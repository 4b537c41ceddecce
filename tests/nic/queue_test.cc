// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the packetized queue and the streaming queue over an ethdev. The test operates the other
// ends of the rings. Every mbuf must be either transmitted or freed.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "contracts.h"
#include "frames.h"
#include "nic/mbuf_pipes.h"
#include "nic/packetized.h"
#include "nic/streaming.h"
#include "ring_port.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::Verdict;

class QueueTest : public RingPort, public ByContract {};
INSTANTIATE_TEST_SUITE_P(Contracts, QueueTest, kContracts, NameOf);

// Handles a frame according to its first byte.
struct ByFirstByte final : packet::Engine {
  Verdict Process(Frame& frame, uint64_t) {
    switch (frame.data[0]) {
      case 1:
        return packet::kConsume;
      case 2:
        return packet::Drop(4);
      case 3:
        frame.data -= 4;
        frame.length += 4;
        frame.data[0] = 0x77;
        break;  // Uses headroom.
      case 4:
        frame.length -= 10;
        break;
      default:
        break;
    }
    return packet::kForward;
  }
};

Bytes Ordered(uint8_t order, uint32_t length) {
  Bytes frame = Ipv4Frame(length);
  frame[0] = order;
  return frame;
}

TEST_P(QueueTest, PacketizedForwardsInOrderWhateverTheBurst) {
  for (uint32_t burst : {1u, 3u, 64u}) {
    PacketizedQueue queue(port_->id(), 0, burst);
    ByFirstByte engine;
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < 200; ++i) {
      frames.push_back(Ordered(0, 60 + i));
      Receive(frames.back());
    }
    uint32_t handled = 0;
    while (const uint32_t count = Poll(queue, engine)) {
      EXPECT_LE(count, burst);
      handled += count;
    }
    EXPECT_EQ(handled, 200u);
    EXPECT_EQ(Sent(), frames);
    EXPECT_EQ(queue.counters().tx_pkts, 200u);
    EXPECT_EQ(queue.counters().tx_bytes, 200u * 60 + 199 * 200 / 2);
    EXPECT_TRUE(queue.counters().Conserved());
  }
}

TEST_P(QueueTest, PacketizedCountsEveryEnding) {
  PacketizedQueue queue(port_->id(), 0);
  ByFirstByte engine;
  for (uint8_t order = 0; order < 5; ++order) Receive(Ordered(order, 100));
  EXPECT_EQ(Poll(queue, engine), 5u);
  const QueueCounters& counters = queue.counters();
  EXPECT_EQ(counters.rx_pkts, 5u);
  EXPECT_EQ(counters.rx_bytes, 500u);
  EXPECT_EQ(counters.consumed_pkts, 1u);
  EXPECT_EQ(counters.engine_drops[4], 1u);
  EXPECT_EQ(counters.tx_pkts, 3u);
  EXPECT_EQ(counters.tx_bytes, 100u + 104 + 90);
  EXPECT_TRUE(counters.Conserved());
  const std::vector<Bytes> sent = Sent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[1].size(), 104u);
  EXPECT_EQ(sent[1][0], 0x77);
  EXPECT_EQ(sent[1][4], 3);
  EXPECT_EQ(sent[2].size(), 90u);
}

TEST_P(QueueTest, PacketizedBringsSegmentsTogetherOrSaysThatTheyDoNotFit) {
  PacketizedQueue queue(port_->id(), 0);
  ByFirstByte engine;
  const Bytes frame = Ordered(0, 300);
  rte_mbuf* const head = Mbuf(Bytes(frame.begin(), frame.begin() + 40));
  ASSERT_EQ(rte_pktmbuf_chain(head, Mbuf(Bytes(frame.begin() + 40, frame.end()))), 0);
  Receive(head);
  rte_mbuf* const huge = Mbuf(Bytes(1500));
  ASSERT_EQ(rte_pktmbuf_chain(huge, Mbuf(Bytes(1500))), 0);
  Receive(huge);
  EXPECT_EQ(Poll(queue, engine), 2u);
  EXPECT_EQ(Sent(), std::vector<Bytes>{frame});
  EXPECT_EQ(queue.counters().rx_scattered, 1u);
  EXPECT_EQ(queue.counters().rx_bytes, 3300u);
  EXPECT_EQ(queue.counters().tx_bytes, 300u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(QueueTest, PacketizedFreesAndCountsWhatThePortDoesNotTake) {
  PacketizedQueue queue(port_->id(), 0);
  ByFirstByte engine;
  for (uint32_t i = 0; i < 300; ++i) Receive(Ordered(0, 60));
  while (Poll(queue, engine) > 0) {
  }
  EXPECT_EQ(queue.counters().tx_pkts, kTransmitRing - 1);
  EXPECT_EQ(queue.counters().tx_full, 300 - (kTransmitRing - 1));
  EXPECT_EQ(queue.counters().tx_bytes, 60ull * (kTransmitRing - 1));
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(QueueTest, PacketizedWaitsForAPortWhoseThreadIsLate) {
  using Clock = std::chrono::steady_clock;
  // An attempt is inconclusive if the hypervisor suspends the port's CPU for longer than the queue
  // waits.
  for (int attempt = 0; attempt < 20; ++attempt) {
    PacketizedQueue queue(port_->id(), 0);
    ByFirstByte engine;
    for (uint32_t i = 0; i < 300; ++i) Receive(Ordered(0, 60));
    // Starts to accept frames again 20 ms after the transmit ring is full, like a port thread that
    // was preempted.
    Clock::time_point taken;
    std::thread port([&] {
      while (rte_ring_count(transmit_) < kTransmitRing - 1) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      Sent();
      taken = Clock::now();
    });
    const auto begin = Clock::now();
    while (Poll(queue, engine) > 0) {
    }
    port.join();
    EXPECT_EQ(queue.counters().tx_pkts + queue.counters().tx_full, 300u);
    Sent();
    if (taken - begin >= std::chrono::milliseconds(kPatienceMs)) continue;
    EXPECT_EQ(queue.counters().tx_full, 0u);
    return;
  }
  FAIL() << "never in time";
}

TEST_P(QueueTest, APortThatTakesNothingCostsThePatienceOnceAndNotForEachBurst) {
  constexpr uint32_t kBursts = 200;
  PacketizedQueue queue(port_->id(), 0, 1);
  ByFirstByte engine;
  for (uint32_t i = 0; i < kTransmitRing - 1 + kBursts; ++i) Receive(Ordered(0, 60));
  const auto begin = std::chrono::steady_clock::now();
  while (Poll(queue, engine) > 0) {
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(queue.counters().tx_full, kBursts);
  EXPECT_GE(took, std::chrono::milliseconds(kPatienceMs));
  EXPECT_LT(took, kBursts / 4 * std::chrono::milliseconds(kPatienceMs));
}

// Forwards frames unchanged.
struct Pass final : packet::Engine {
  Verdict Process(Frame&, uint64_t) { return packet::kForward; }
};

TEST_P(QueueTest, StreamingRunsOverAnyPortAndCarriesEveryKindOfFrame) {
  StreamingQueue<MbufPipes> queue(MbufPipes(port_->id(), 0, port_->pool(0)));
  Pass engine;
  const std::vector<Bytes> frames = {Ipv4Frame(60),  ArpFrame(),    Ipv4Frame(1514),
                                     Ipv6Frame(100), VlanFrame(70), Ipv4Frame(64)};
  for (const Bytes& frame : frames) Receive(frame);
  EXPECT_EQ(Poll(queue, engine), frames.size());
  EXPECT_EQ(Sent(), frames);
  EXPECT_EQ(queue.counters().tx_pkts, frames.size());
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(QueueTest, StreamingLosesOnlyThePacketWhoseHeaderLies) {
  StreamingQueue<MbufPipes> queue(MbufPipes(port_->id(), 0, port_->pool(0)));
  Pass engine;
  Bytes lie = Ipv4Frame(200);
  PutBe16(lie, 16, 900);
  Receive(Ipv4Frame(60));
  Receive(lie);
  Receive(Bytes(130));  // Zeros do not form a frame.
  Receive(Bytes(9));    // Shorter than an Ethernet header.
  Receive(Ipv4Frame(70));
  EXPECT_EQ(Poll(queue, engine), 2u);
  EXPECT_EQ(Sent(), (std::vector<Bytes>{Ipv4Frame(60), Ipv4Frame(70)}));
  EXPECT_EQ(queue.counters().rx_desync, 4u + 3 + 1);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(QueueTest, StreamingCountsEveryEnding) {
  StreamingQueue<MbufPipes> queue(MbufPipes(port_->id(), 0, port_->pool(0)));
  struct ByThirds final : packet::Engine {
    Verdict Process(Frame& frame, uint64_t) {
      return frame.data[0] == 1   ? packet::kConsume
             : frame.data[0] == 2 ? packet::Drop(4)
                                  : packet::kForward;
    }
  } engine;
  for (uint32_t i = 0; i < 30; ++i) Receive(Ordered(static_cast<uint8_t>(i % 3), 60 + i * 20));
  while (Poll(queue, engine) > 0) {
  }
  EXPECT_EQ(queue.counters().consumed_pkts, 10u);
  EXPECT_EQ(queue.counters().engine_drops[4], 10u);
  EXPECT_EQ(Sent().size(), 10u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(QueueTest, StreamingCountsWhatThePortDoesNotTake) {
  StreamingQueue<MbufPipes> queue(MbufPipes(port_->id(), 0, port_->pool(0)));
  Pass engine;
  for (uint32_t i = 0; i < 300; ++i) Receive(Ipv4Frame(60));
  while (Poll(queue, engine) > 0) {
  }
  EXPECT_EQ(queue.counters().tx_pkts, kTransmitRing - 1);
  EXPECT_EQ(queue.counters().tx_full, 300 - (kTransmitRing - 1));
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(QueueTest, ATapSeesEverySpanAndRun) {
  StreamingQueue<MbufPipes> queue(MbufPipes(port_->id(), 0, port_->pool(0)));
  std::array<uint32_t, 2> bytes{};
  queue.set_tap({[](void* context, TapDirection direction, const uint8_t*, uint32_t count) {
                   auto& seen = *static_cast<std::array<uint32_t, 2>*>(context);
                   seen[static_cast<size_t>(direction)] += count;
                 },
                 &bytes});
  Pass engine;
  Receive(Ipv4Frame(100));
  Receive(ArpFrame());
  Poll(queue, engine);
  EXPECT_EQ(bytes[0], 128u + 64);
  EXPECT_EQ(bytes[1], 128u + 64);
}

}  // namespace
}  // namespace sluice::nic
