// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the frames that an engine sends through queues on an ethdev. All of them must be sent, in
// order, and be counted.
#include "packet/outbox.h"

#include <gtest/gtest.h>

#include <algorithm>
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

Bytes Numbered(uint8_t first, uint32_t number, uint32_t length = 60) {
  Bytes frame = Ipv4Frame(length);
  frame[0] = first;
  PutBe16(frame, 42, number);
  return frame;
}

// Sends numbered copies for each received frame. The frame's first byte is the number of copies,
// and its second byte selects the verdict.
struct Multiplier final : packet::Engine {
  void set_outbox(packet::Outbox given) override { outbox = given; }
  Verdict Process(Frame& frame, uint64_t) {
    for (uint8_t i = 0; i < frame.data[0]; ++i) {
      sent.push_back(Numbered(0xff, number, 60 + number % 100));
      ++number;
      accepted += outbox.Send(sent.back().data(), static_cast<uint32_t>(sent.back().size()));
      order.push_back(sent.back());
    }
    if (frame.data[1] == 1) return packet::kConsume;
    order.emplace_back(frame.data, frame.data + frame.length);
    return packet::kForward;
  }
  packet::Outbox outbox;
  uint32_t number = 0;
  uint32_t accepted = 0;
  std::vector<Bytes> sent;
  std::vector<Bytes> order;  ///< The expected order of all frames.
};

uint64_t SumOfBytes(const std::vector<Bytes>& frames) {
  uint64_t sum = 0;
  for (const Bytes& frame : frames) sum += frame.size();
  return sum;
}

class OutboxTest : public RingPort, public ByContract {
 protected:
  PacketizedQueue Packetized() {
    return PacketizedQueue(port_->id(), 0, PacketizedQueue::kMaxBurst, {}, port_->pool(0));
  }
  MbufPipes Pipes() { return MbufPipes(port_->id(), 0, port_->pool(0)); }

  template <typename Queue>
  void SendsWhileItHandlesFrames(Queue& queue) {
    Multiplier engine;
    engine.set_outbox(queue.outbox());
    // For frame 19, the engine sends more frames than a queue collects.
    for (uint32_t i = 0; i < 20; ++i) {
      Bytes frame = Numbered(static_cast<uint8_t>(i == 19 ? 150 : i % 8), i);
      frame[1] = i % 3 == 0;
      Receive(frame);
    }
    while (Poll(queue, engine) > 0) {
    }
    const std::vector<Bytes> left = Sent();
    EXPECT_EQ(engine.sent.size(), 2u * 28 + 3 + 150) << "the sum of i % 8 below 19, and 150";
    EXPECT_EQ(left, engine.order);
    const QueueCounters& counters = queue.counters();
    EXPECT_EQ(counters.sent_pkts, engine.sent.size());
    EXPECT_EQ(counters.tx_pkts, engine.order.size());
    EXPECT_EQ(counters.tx_bytes, SumOfBytes(left));
    EXPECT_EQ(counters.consumed_pkts, 7u);
    EXPECT_TRUE(counters.Conserved());
  }

  template <typename Queue>
  void SendsAtRest(Queue& queue) {
    Multiplier engine;
    engine.set_outbox(queue.outbox());
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < 100; ++i) {
      frames.push_back(Numbered(1, i, 60 + i));
      EXPECT_TRUE(engine.outbox.Send(frames.back().data(), 60 + i));
    }
    queue.FlushSent();
    EXPECT_EQ(Poll(queue, engine), 0u) << "nothing was received";
    EXPECT_EQ(Sent(), frames);
    EXPECT_EQ(queue.counters().sent_pkts, 100u);
    EXPECT_EQ(queue.counters().tx_pkts, 100u);
    EXPECT_TRUE(queue.counters().Conserved());
  }

  template <typename Queue>
  void CountsWhatThePortDoesNotTake(Queue& queue) {
    Multiplier engine;
    engine.set_outbox(queue.outbox());
    constexpr uint32_t kReceived = 50, kEach = 7;
    for (uint32_t i = 0; i < kReceived; ++i) Receive(Numbered(kEach, i));
    while (Poll(queue, engine) > 0) {
    }
    const QueueCounters& counters = queue.counters();
    EXPECT_EQ(counters.rx_pkts, kReceived);
    EXPECT_EQ(counters.sent_pkts, kReceived * kEach);
    EXPECT_EQ(counters.tx_pkts, kTransmitRing - 1);
    EXPECT_EQ(counters.tx_full, kReceived * (kEach + 1) - (kTransmitRing - 1));
    EXPECT_TRUE(counters.Conserved());
    const std::vector<Bytes> left = Sent();
    EXPECT_EQ(counters.tx_bytes, SumOfBytes(left));
  }
};

// Omits the contract under which an engine does not answer all frames, because that contract does
// not define an order.
INSTANTIATE_TEST_SUITE_P(Contracts, OutboxTest,
                         testing::Values(Contract::kFrames, Contract::kBursts), NameOf);

TEST_P(OutboxTest, PacketizedSendsInTheOrderOfTheFramesThatItAnswers) {
  PacketizedQueue queue = Packetized();
  SendsWhileItHandlesFrames(queue);
}
TEST_P(OutboxTest, StreamingSendsInTheOrderOfTheFramesThatItAnswers) {
  StreamingQueue<MbufPipes> queue(Pipes());
  SendsWhileItHandlesFrames(queue);
}

TEST_P(OutboxTest, PacketizedSendsWithoutTraffic) {
  PacketizedQueue queue = Packetized();
  SendsAtRest(queue);
}
TEST_P(OutboxTest, StreamingSendsWithoutTraffic) {
  StreamingQueue<MbufPipes> queue(Pipes());
  SendsAtRest(queue);
}

TEST_P(OutboxTest, PacketizedCountsWhatThePortDoesNotTake) {
  PacketizedQueue queue = Packetized();
  CountsWhatThePortDoesNotTake(queue);
}
TEST_P(OutboxTest, StreamingCountsWhatThePortDoesNotTake) {
  StreamingQueue<MbufPipes> queue(Pipes());
  CountsWhatThePortDoesNotTake(queue);
}

TEST_P(OutboxTest, PacketizedRefusesWhatNoMbufHolds) {
  PacketizedQueue queue = Packetized();
  const Bytes huge(70'000);
  EXPECT_FALSE(queue.outbox().Send(huge.data(), static_cast<uint32_t>(huge.size())));
  queue.FlushSent();
  EXPECT_EQ(queue.counters().tx_full, 1u);
  EXPECT_EQ(queue.counters().tx_pkts, 0u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(OutboxTest, PacketizedWithoutAPoolHasNoRoom) {
  PacketizedQueue queue(port_->id(), 0);
  const Bytes frame = Ipv4Frame(60);
  EXPECT_FALSE(queue.outbox().Send(frame.data(), 60));
  EXPECT_EQ(queue.counters().sent_pkts, 1u);
  EXPECT_EQ(queue.counters().tx_full, 1u);
  EXPECT_TRUE(queue.counters().Conserved());
}

// Answers from the engine's buffer. The frame contains the answer's length.
struct FromElsewhere final : packet::Engine {
  Verdict Process(Frame& frame, uint64_t) {
    frame.length = frame.data[42] << 8 | frame.data[43];
    frame.data = buffer.data();
    return packet::kForward;
  }
  Bytes buffer = Ipv4Frame(9000);
};

TEST_P(OutboxTest, PacketizedAnswersFromElsewhereAreWholeOrDropped) {
  PacketizedQueue queue(port_->id(), 0);
  FromElsewhere engine;
  const uint32_t most = RTE_MBUF_DEFAULT_BUF_SIZE;  // Size of headroom plus data buffer.
  for (uint32_t length : {60u, 1514u, most, most + 1, 9000u}) Receive(Numbered(0, length));
  EXPECT_EQ(Poll(queue, engine), 5u);
  const auto first = [&](uint32_t length) {
    return Bytes(engine.buffer.begin(), engine.buffer.begin() + length);
  };
  EXPECT_EQ(Sent(), (std::vector<Bytes>{first(60), first(1514), first(most)}));
  EXPECT_EQ(queue.counters().tx_unframeable, 2u);
  EXPECT_EQ(queue.counters().tx_bytes, 60u + 1514 + most);
  EXPECT_TRUE(queue.counters().Conserved());
}

}  // namespace
}  // namespace sluice::nic
