// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how a generator's frames pass through each kind of queue. They must be sent in order and be
// written in place. Frames for which the queue has no space must be neither sent nor counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

/// Frames with the numbers `first`, `first` + 1, … and different lengths.
struct NumberedFrames {
  Bytes Frame(uint32_t index) const {
    const uint32_t number = first + index;
    Bytes frame = Ipv4Frame(60 + number * 37 % 1400);
    PutBe16(frame, 42, number);
    return frame;
  }
  uint32_t length(uint32_t index) const { return static_cast<uint32_t>(Frame(index).size()); }
  void Write(uint32_t index, uint8_t* to) const { std::ranges::copy(Frame(index), to); }

  uint32_t first = 0;
};
static_assert(FrameSource<NumberedFrames>);

std::vector<Bytes> Frames(uint32_t count) {
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < count; ++i) frames.push_back(NumberedFrames().Frame(i));
  return frames;
}

void Append(std::vector<Bytes>* all, const std::vector<Bytes>& more) {
  all->insert(all->end(), more.begin(), more.end());
}

template <typename Queue>
void ExpectCounted(const Queue& queue, const std::vector<Bytes>& left) {
  uint64_t bytes = 0;
  for (const Bytes& frame : left) bytes += frame.size();
  EXPECT_EQ(queue.counters().sent_pkts, left.size());
  EXPECT_EQ(queue.counters().tx_pkts, left.size());
  EXPECT_EQ(queue.counters().tx_bytes, bytes);
  EXPECT_EQ(queue.counters().tx_full, 0u);
  EXPECT_EQ(queue.waited_cycles(), 0u);
  EXPECT_TRUE(queue.counters().Conserved());
}

class EmitTest : public RingPort {
 protected:
  // Emits repeatedly to a port that accepts only as many frames as fit, until 500 frames have been
  // sent.
  template <typename Queue>
  void EmitsWhatHasRoom(Queue& queue) {
    constexpr uint32_t kAll = 500;
    NumberedFrames source;
    std::vector<Bytes> left;
    bool refused = false;
    while (source.first < kAll) {
      const uint32_t wanted = std::min(kAll - source.first, 64u);
      const uint32_t emitted = queue.Emit(source, wanted);
      ASSERT_LE(emitted, wanted);
      source.first += emitted;
      if (emitted > 0) continue;
      refused = true;
      const std::vector<Bytes> more = Sent();
      ASSERT_FALSE(more.empty()) << "a port with room took nothing";
      Append(&left, more);
    }
    Append(&left, Sent());
    EXPECT_TRUE(refused);
    EXPECT_EQ(left, Frames(kAll));
    ExpectCounted(queue, left);
  }
};

TEST_F(EmitTest, PacketizedEmitsWhatHasRoom) {
  PacketizedQueue queue(port_->id(), 0, PacketizedQueue::kMaxBurst, {}, port_->pool(0));
  EmitsWhatHasRoom(queue);
}
TEST_F(EmitTest, StreamingEmitsWhatHasRoom) {
  StreamingQueue<MbufPipes> queue(MbufPipes(port_->id(), 0, port_->pool(0)));
  EmitsWhatHasRoom(queue);
}
TEST_F(EmitTest, WithoutAPoolThereIsNoRoom) {
  PacketizedQueue queue(port_->id(), 0);
  EXPECT_EQ(queue.Emit(NumberedFrames(), 5), 0u);
  EXPECT_FALSE(queue.CanEmit(nullptr, 60));
  ExpectCounted(queue, {});
}
TEST_F(EmitTest, PacketizedEmitsWhatAnMbufHolds) {
  const PacketizedQueue queue(port_->id(), 0, 64, {}, port_->pool(0));
  EXPECT_TRUE(queue.CanEmit(nullptr, 60));
  EXPECT_TRUE(queue.CanEmit(nullptr, RTE_MBUF_DEFAULT_DATAROOM));
  EXPECT_FALSE(queue.CanEmit(nullptr, RTE_MBUF_DEFAULT_DATAROOM + 1));
}

/// Emits frames with numbers up to `most` as long as the queue accepts them. Records received
/// frames.
struct Generator final : packet::Engine {
  template <typename Queue>
  uint32_t Generate(Queue& queue, uint64_t) {
    if (source.first == most) return 0;
    const uint32_t emitted = queue.Emit(source, std::min(most - source.first, 64u));
    source.first += emitted;
    return emitted;
  }
  packet::Verdict Process(packet::Frame&, uint64_t) { return packet::kConsume; }

  NumberedFrames source;
  uint32_t most = 0;
};

TEST(BilateralEmit, ARegionThatWaitsForFramesIsAskedForOnce) {
  LinkPair link;
  BilateralQueue<LinkPair> queue(link);
  Generator generator;
  std::vector<Bytes> left;
  const auto run = [&] {
    for (uint32_t i = 0; i < 10; ++i) {
      generator.Generate(queue, 0);
      queue.Poll(generator, 0);
      Append(&left, link.Send());
    }
  };
  run();  // The NIC waits for frames.
  EXPECT_EQ(link.host().counters().rejected, 0u);
  generator.most = 3;
  run();
  EXPECT_EQ(left, Frames(3));
  EXPECT_EQ(link.host().counters().rejected, 1u) << "one region was asked back";
  ExpectCounted(queue, left);
}

TEST(BilateralEmit, FillsRegionsInWhichFramesCame) {
  constexpr uint32_t kAll = 3000;
  LinkPair link;
  BilateralQueue<LinkPair> queue(link);
  Generator generator;
  generator.most = kAll;
  std::vector<Bytes> left;
  uint32_t received = 0;
  uint32_t polls = 0;
  for (; left.size() < kAll && polls < 2000; ++polls) {
    for (uint32_t i = 0; i < 20; ++i) link.Receive(Ipv4Frame(60));
    generator.Generate(queue, 0);
    received += queue.Poll(generator, 0);
    Append(&left, link.Send());
  }
  EXPECT_EQ(left, Frames(kAll));
  EXPECT_GT(received, 0u);
  EXPECT_EQ(queue.counters().consumed_pkts, received);
  EXPECT_TRUE(queue.counters().Conserved());
  EXPECT_LT(polls, kAll / 10) << "regions leave full";
}

TEST(BilateralEmit, RefusesNoFrameThatARegionHolds) {
  LinkPair link;
  const BilateralQueue<LinkPair> queue(link);
  EXPECT_TRUE(queue.CanEmit(nullptr, swap::kMinFrameBytes));
  EXPECT_TRUE(queue.CanEmit(nullptr, 1514));
  EXPECT_FALSE(queue.CanEmit(nullptr, swap::kMinFrameBytes - 1));
  EXPECT_FALSE(queue.CanEmit(nullptr, swap::kMaxFrameBytes + 1));
}

TEST(CoherentEmit, FillsLinesOfItsOwnWhileFramesCome) {
  constexpr uint32_t kAll = 3000;
  LinePair lines;
  CoherentQueue<LinePair> queue(lines);
  Generator generator;
  generator.most = kAll;
  std::vector<Bytes> left;
  uint32_t received = 0;
  for (uint32_t polls = 0; left.size() < kAll && polls < 2000; ++polls) {
    for (uint32_t i = 0; i < 20; ++i) lines.Receive(Ipv4Frame(60));
    generator.Generate(queue, 0);
    received += queue.Poll(generator, 0);
    Append(&left, lines.Sent());
  }
  EXPECT_EQ(left, Frames(kAll));
  EXPECT_GT(received, 0u);
  EXPECT_EQ(queue.counters().consumed_pkts, received);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST(CoherentEmit, WithoutALineThereIsNoRoomAndNobodyWaits) {
  LinePair lines;
  lines.answers = false;
  CoherentQueue<LinePair> queue(lines);
  EXPECT_EQ(queue.Emit(NumberedFrames(), 5), 0u);
  ExpectCounted(queue, {});
}

}  // namespace
}  // namespace sluice::nic
