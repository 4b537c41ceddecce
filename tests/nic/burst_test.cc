// SPDX-License-Identifier: BSD-3-Clause
//
// Sends random traffic through each kind of queue to an engine: as single frames, in bursts of
// which the engine answers all frames, and in bursts of which it answers only some. The sent frames
// and the counters must be equal. A frame that the engine does not access must be sent unchanged.
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "contracts.h"
#include "frames.h"
#include "line_pair.h"
#include "link_pair.h"
#include "nic/bilateral.h"
#include "nic/coherent.h"
#include "nic/mbuf_pipes.h"
#include "nic/packetized.h"
#include "nic/streaming.h"
#include "ring_port.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::Verdict;

enum Order : uint8_t { kLeave, kEat, kDiscard, kPassOn, kWrite, kGrow, kShave, kReplace, kOrders };

/// Handles a frame according to its first byte.
class Scripted final : public packet::Engine {
 public:
  Verdict Process(Frame& frame, uint64_t) {
    seen.emplace_back(frame.data, frame.data + frame.length);
    switch (frame.data[0]) {
      case kEat:
        return packet::kConsume;
      case kDiscard:
        return packet::Drop(3);
      case kPassOn:
        return packet::kPass;
      case kWrite:
        ++frame.data[frame.length - 1];
        break;
      case kGrow:
        if (frame.headroom < 4) break;
        frame.data -= 4;
        frame.length += 4;
        std::fill_n(frame.data, 4, 0x77);
        break;
      case kShave:
        --frame.length;
        PutLength(frame);
        break;
      case kReplace:
        std::copy_n(frame.data, frame.length, own_);
        frame.data = own_;
        frame.length = 60;
        PutLength(frame);
        break;
      default:
        break;
    }
    return packet::kForward;
  }
  std::vector<Bytes> seen;

 private:
  static void PutLength(Frame& frame) {
    if (frame.data[12] != 8 || frame.data[13] != 0) return;
    frame.data[16] = static_cast<uint8_t>((frame.length - 14) >> 8);
    frame.data[17] = static_cast<uint8_t>(frame.length - 14);
  }
  uint8_t own_[9728];
};

struct Outcome {
  std::vector<Bytes> seen, sent;
  QueueCounters counters;
};

/// Polls a queue until all frames have been handled. Returns the outcome.
template <typename Queue, typename Receive, typename Sent>
Outcome HandleAll(Contract contract, Queue& queue, const std::vector<Bytes>& frames,
                  Receive receive, Sent sent) {
  Outcome outcome;
  Scripted engine;
  for (size_t at = 0; at < frames.size();) {
    while (at < frames.size() && at % 97 != 96 && receive(frames[at])) ++at;
    if (at < frames.size() && at % 97 == 96 && receive(frames[at])) ++at;
    for (int i = 0; i < 4; ++i) {
      PollBy(contract, queue, engine);
      for (Bytes& frame : sent()) outcome.sent.push_back(std::move(frame));
    }
  }
  outcome.seen = std::move(engine.seen);
  outcome.counters = queue.counters();
  return outcome;
}

struct OnPackets {
  static auto Queue(const EthPort& port) { return PacketizedQueue(port.id(), 0); }
};
struct OnPipes {
  static auto Queue(const EthPort& port) {
    return StreamingQueue<MbufPipes>(MbufPipes(port.id(), 0, port.pool(0)));
  }
};
struct OnLink {};
struct OnLines {};

template <typename Interface>
class BurstTest : public RingPort {
 protected:
  Outcome Handle(Contract contract, const std::vector<Bytes>& frames) {
    if constexpr (std::is_same_v<Interface, OnLink>) {
      swap::Geometry geometry;
      geometry.headroom_bytes = 64;
      LinkPair link(geometry);
      BilateralQueue<LinkPair> queue(link);
      return HandleAll(
          contract, queue, frames, [&](const Bytes& frame) { return link.Receive(frame); },
          [&] { return link.Send(); });
    } else if constexpr (std::is_same_v<Interface, OnLines>) {
      LinePair lines(64);
      CoherentQueue<LinePair> queue(lines);
      return HandleAll(
          contract, queue, frames, [&](const Bytes& frame) { return lines.Receive(frame); },
          [&] { return lines.Sent(); });
    } else {
      auto queue = Interface::Queue(*port_);
      return HandleAll(
          contract, queue, frames,
          [&](const Bytes& frame) { return this->Receive(Segmented(frame)), true; },
          [&] { return this->Sent(); });
    }
  }

 private:
  /// Splits all long frames, and one third of the others, into two segments.
  rte_mbuf* Segmented(const Bytes& frame) {
    if (frame[1] % 3 != 0 && frame.size() < 2000) return Mbuf(frame);
    const auto middle = frame.begin() + static_cast<ptrdiff_t>(frame.size() / 2);
    rte_mbuf* const head = Mbuf(Bytes(frame.begin(), middle));
    EXPECT_EQ(rte_pktmbuf_chain(head, Mbuf(Bytes(middle, frame.end()))), 0);
    return head;
  }
};

using Interfaces = testing::Types<OnPackets, OnPipes, OnLink, OnLines>;
TYPED_TEST_SUITE(BurstTest, Interfaces);

std::vector<Bytes> RandomTraffic(uint32_t seed, uint32_t count) {
  std::mt19937 random(seed);
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t length = 64 + random() % 1450;
    Bytes frame;
    switch (random() % 16) {
      case 0:
        frame = ArpFrame();
        break;
      case 1:
        frame = Ipv6Frame(length);
        break;
      case 2:
        frame = VlanFrame(length);
        break;
      case 3:
        frame = Ipv4Frame(3000);
        break;  // Larger than an mbuf.
      case 4:
        frame = Ipv4Frame(length);
        frame[16] ^= 0x10;
        break;  // The length field is wrong.
      default:
        frame = Ipv4Frame(length);
    }
    frame[0] = random() % 2 == 0 ? uint8_t{kLeave} : static_cast<uint8_t>(random() % kOrders);
    frame[1] = static_cast<uint8_t>(random());
    frames.push_back(std::move(frame));
  }
  return frames;
}

TYPED_TEST(BurstTest, EveryFrameEndsAsItDoesFrameByFrame) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    const std::vector<Bytes> frames = RandomTraffic(seed, 1000);
    const Outcome by_frames = this->Handle(Contract::kFrames, frames);
    EXPECT_GT(by_frames.seen.size(), 800u);
    for (const Contract contract : {Contract::kBursts, Contract::kSparing}) {
      const Outcome by_bursts = this->Handle(contract, frames);
      EXPECT_EQ(by_bursts.seen, by_frames.seen);
      EXPECT_EQ(by_bursts.sent, by_frames.sent);
      for (const QueueCounter& counter : kQueueCounters) {
        EXPECT_EQ(by_bursts.counters.*counter.member, by_frames.counters.*counter.member)
            << counter.name;
      }
      EXPECT_TRUE(std::equal(std::begin(by_bursts.counters.engine_drops),
                             std::end(by_bursts.counters.engine_drops),
                             std::begin(by_frames.counters.engine_drops)));
      EXPECT_GT(by_bursts.counters.engine_drops[3], 0u);
      EXPECT_TRUE(by_bursts.counters.Conserved());
    }
  }
}

/// Accesses only every seventh frame, and adds up the totals of the bursts.
struct Jumps final : packet::Engine {
  template <packet::Burst Burst>
  void ProcessBurst(const Burst& burst, uint64_t) {
    for (uint32_t i = 0; i < burst.size(); i += 7) looked_at += burst.At(i).length;
    frames += burst.size();
    bytes += burst.totals().bytes;
    longest = std::max(longest, burst.totals().longest);
  }
  uint64_t looked_at = 0, frames = 0, bytes = 0;
  uint32_t longest = 0;
};

TEST_F(RingPort, FramesThatAnEngineDoesNotAnswerLeaveAsTheyCame) {
  const auto check = [](auto& queue, auto receive, auto sent) {
    Jumps engine;
    std::vector<Bytes> frames;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 200; ++i) {
      frames.push_back(Ipv4Frame(60 + i));
      bytes += frames.back().size();
      receive(frames.back());
    }
    for (int i = 0; i < 6; ++i) queue.Poll(engine, 0);
    EXPECT_EQ(sent(), frames);
    EXPECT_EQ(engine.frames, 200u);
    EXPECT_EQ(engine.bytes, bytes);
    EXPECT_EQ(engine.longest, 259u);
    EXPECT_GT(engine.looked_at, 0u);
    EXPECT_EQ(queue.counters().tx_pkts, 200u);
    EXPECT_EQ(queue.counters().tx_bytes, bytes);
    EXPECT_TRUE(queue.counters().Conserved());
  };
  PacketizedQueue packets(port_->id(), 0);
  StreamingQueue<MbufPipes> pipes(MbufPipes(port_->id(), 0, port_->pool(0)));
  const auto receive = [this](const Bytes& frame) { Receive(frame); };
  check(packets, receive, [this] { return Sent(); });
  check(pipes, receive, [this] { return Sent(); });
  LinkPair link;
  BilateralQueue<LinkPair> regions(link);
  check(
      regions, [&](const Bytes& frame) { ASSERT_TRUE(link.Receive(frame)); },
      [&] { return link.Send(); });
}

TEST(OneFrame, IsABurstOfOneThatKeepsItsAnswer) {
  Bytes bytes = Ipv4Frame(100);
  bytes[0] = kShave;
  Frame frame{bytes.data(), 100, 7, 9};
  Scripted engine;
  packet::FrameByFrame bursts(engine);
  EXPECT_EQ(packet::ProcessFrame(bursts, frame, 0), packet::kForward);
  EXPECT_EQ(frame.length, 99u);
  bytes[0] = kDiscard;
  EXPECT_EQ(packet::ProcessFrame(bursts, frame, 0), packet::Drop(3));
  Jumps jumps;
  EXPECT_EQ(packet::ProcessFrame(jumps, frame, 0), packet::kForward);
  EXPECT_EQ(jumps.frames, 1u);
  EXPECT_EQ(jumps.bytes, 99u);
}

}  // namespace
}  // namespace sluice::nic
