// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the coherent queue on an endpoint; the test acts as the NIC's end. Every frame in a line
// must have exactly one outcome, and the engine's answers must be sent unchanged.
#include "nic/coherent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "contracts.h"
#include "frames.h"
#include "line_pair.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::Verdict;
using Queue = CoherentQueue<LinePair>;

class Coherent : public testing::Test, public ByContract {};
INSTANTIATE_TEST_SUITE_P(Contracts, Coherent, kContracts, NameOf);

struct Pass final : packet::Engine {
  Verdict Process(Frame&, uint64_t) { return packet::kForward; }
};

// Handles a frame according to its first byte.
struct ByFirstByte final : packet::Engine {
  Verdict Process(Frame& frame, uint64_t) {
    switch (frame.data[0]) {
      case 1:
        return packet::kConsume;
      case 2:
        return packet::Drop(4);
      case 3:
        return packet::kPass;
      case 4:
        frame.data -= 4;
        frame.length += 4;
        frame.data[0] = 0x77;
        break;  // Uses headroom.
      case 5:
        frame.length -= 10;
        break;
      case 6:
        frame.length += frame.tailroom;
        break;
      case 7:
        frame.length += frame.tailroom + 1;
        break;  // Exceeds the tailroom.
      case 8:
        frame.data -= frame.headroom + 1;
        break;
      case 9:
        frame.length = 13;
        break;  // Shorter than an Ethernet header.
      case 10:
        Elsewhere(frame, own, 60);
        break;
      case 11:
        Elsewhere(frame, own, 700);
        break;  // Larger than the frame's space in its line.
      case 12:
        Elsewhere(frame, frame.spare, 800);
        break;
      case 13:
        Elsewhere(frame, own, 9729);
        break;  // Larger than any line.
      default:
        break;
    }
    return packet::kForward;
  }
  void Elsewhere(Frame& frame, uint8_t* to, uint32_t length) {
    ASSERT_NE(to, nullptr);
    std::fill_n(to, length, frame.data[0]);
    frame.data = to;
    frame.length = length;
  }
  uint8_t own[9729];
};

Bytes Ordered(uint8_t order, uint32_t length) {
  Bytes frame = Ipv4Frame(length);
  frame[0] = order;
  return frame;
}

TEST_P(Coherent, EveryKindOfFrameReturnsInOrder) {
  LinePair lines;
  Queue queue(lines);
  Pass engine;
  Bytes unknown(77, 0x11);  // Unknown EtherType.
  const std::vector<Bytes> frames = {Ipv4Frame(60),   ArpFrame(),     Ipv4Frame(1514),
                                     Ipv6Frame(100),  VlanFrame(70),  unknown,
                                     Bytes(14, 0xff), Bytes(9728, 1), Ipv4Frame(1514)};
  EXPECT_EQ(Poll(queue, engine), 0u) << "the NIC has none yet";
  for (const Bytes& frame : frames) ASSERT_TRUE(lines.Receive(frame));
  uint64_t bytes = 0;
  for (const Bytes& frame : frames) bytes += frame.size();
  uint32_t received = 0;
  for (int polls = 0; polls < 3; ++polls) received += Poll(queue, engine);
  EXPECT_EQ(received, frames.size());
  EXPECT_EQ(lines.Sent(), frames);
  EXPECT_EQ(queue.counters().rx_bytes, bytes);
  EXPECT_EQ(queue.counters().tx_bytes, bytes);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Coherent, LineAfterLineNothingIsLostOrTurnedAround) {
  LinePair lines;
  Queue queue(lines);
  Pass engine;
  std::vector<Bytes> received, sent;
  const auto collect = [&] {
    Poll(queue, engine);
    for (Bytes& back : lines.Sent()) sent.push_back(std::move(back));
  };
  for (uint32_t i = 0; i < 5000; ++i) {
    Bytes frame = Ipv4Frame(60 + i % 1400);
    PutBe16(frame, 42, i);
    while (!lines.Receive(frame))
      collect();  // The line is full because the host is slower than the NIC. The NIC must not drop
                  // frames.
    received.push_back(std::move(frame));
  }
  for (int quiet = 0; quiet < 4; ++quiet) collect();
  EXPECT_EQ(sent, received);
  EXPECT_EQ(queue.counters().tx_pkts, 5000u);
  EXPECT_TRUE(queue.counters().Conserved());
  EXPECT_EQ(lines.statistics[regs::ipu::kStatLineBadRecord], 0u);
}

TEST_P(Coherent, EveryEndingIsCountedAndWhatDoesNotLeaveStays) {
  LinePair lines(64);
  Queue queue(lines);
  ByFirstByte engine;
  Poll(queue, engine);
  for (uint8_t order = 0; order < 14; ++order) ASSERT_TRUE(lines.Receive(Ordered(order, 100)));
  uint32_t received = 0;
  for (int polls = 0; polls < 3; ++polls) received += Poll(queue, engine);
  EXPECT_EQ(received, 14u);
  const QueueCounters& counters = queue.counters();
  EXPECT_EQ(counters.rx_bytes, 1400u);
  EXPECT_EQ(counters.consumed_pkts, 1u);
  EXPECT_EQ(counters.engine_drops[4], 1u);
  EXPECT_EQ(counters.no_exception_port, 1u);
  EXPECT_EQ(counters.tx_unframeable, 4u) << "outside the room they had, too short, too long";
  EXPECT_EQ(counters.tx_pkts, 7u);
  EXPECT_EQ(counters.tx_bytes, 100u + 104 + 90 + 104 + 60 + 700 + 800) << "records end at 8 bytes";
  EXPECT_TRUE(counters.Conserved());
  std::vector<size_t> lengths;
  const std::vector<Bytes> sent = lines.Sent();
  for (const Bytes& frame : sent) lengths.push_back(frame.size());
  EXPECT_EQ(lengths, (std::vector<size_t>{100, 104, 90, 104, 60, 700, 800})) << "in their order";
  for (const Bytes& built : {Bytes(60, 10), Bytes(700, 11), Bytes(800, 12), Ordered(0, 100)}) {
    EXPECT_EQ(std::ranges::count(sent, built), 1) << built.size();
  }
  EXPECT_TRUE(std::ranges::any_of(sent, [](const Bytes& frame) {
    return frame.size() == 104 && frame[0] == 0x77 && frame[4] == 4;
  }));
  EXPECT_EQ(lines.statistics[regs::ipu::kStatLineBadRecord], 0u);
}

TEST_P(Coherent, GrownAnswersForWhichTheLineHasNoRoomLeaveToo) {
  LinePair lines(0,
                 // The line has 10344 bytes, so 100 requests of 100 bytes leave too little space
                 // for 100 answers of 700 bytes.
                 80);
  Queue queue(lines);
  ByFirstByte engine;
  Poll(queue, engine);
  uint32_t written = 0;
  while (written < 100 && lines.Receive(Ordered(11, 100))) ++written;
  EXPECT_GT(written, 80u);
  for (int polls = 0; polls < 3; ++polls) Poll(queue, engine);
  EXPECT_EQ(lines.Sent(), std::vector<Bytes>(written, Bytes(700, 11)));
  EXPECT_EQ(queue.counters().tx_bytes, 700u * written);
  EXPECT_TRUE(queue.counters().Conserved());
}

// Every third answer is larger than the frame that it answers.
struct EveryThirdGrows final : packet::Engine {
  Verdict Process(Frame& frame, uint64_t) {
    const uint32_t number = frame.data[42] << 8 | frame.data[43];
    if (number % 7 == 5) return packet::kConsume;
    if (number % 3 != 0) return packet::kForward;
    std::copy_n(frame.data, 60, own);
    frame.data = own;
    frame.length = 1400;
    return packet::kForward;
  }
  uint8_t own[1400] = {};
};

TEST_P(Coherent, AnswersKeepTheOrderOfTheirFramesWhereverTheyLeaveFrom) {
  // A line has 10344 bytes. Neither the received line nor one additional line has room for all
  // answers of 1400 bytes.
  LinePair lines(0, 80);
  Queue queue(lines);
  EveryThirdGrows engine;
  Poll(queue, engine);
  std::vector<uint32_t> received, sent;
  const auto collect = [&] {
    Poll(queue, engine);
    for (const Bytes& frame : lines.Sent()) sent.push_back(frame[42] << 8 | frame[43]);
  };
  for (uint32_t number = 0; number < 1000; ++number) {
    Bytes frame = Ipv4Frame(60);
    PutBe16(frame, 42, number);
    while (!lines.Receive(frame)) collect();
    if (number % 7 != 5) received.push_back(number);
  }
  for (int quiet = 0; quiet < 4; ++quiet) collect();
  EXPECT_EQ(sent, received);
  EXPECT_EQ(queue.counters().tx_pkts, received.size());
  EXPECT_EQ(queue.counters().tx_full, 0u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Coherent, ALineToSendLeavesBeforeAnswersThatWereReturnedAfterIt) {
  LinePair lines;
  lines.answers = false;
  Queue queue(lines);
  Pass engine;
  lines.ServeOnce(1);  // The NIC grants a line for sending.
  EXPECT_EQ(Poll(queue, engine), 0u);
  const auto arrive = [&](uint32_t number) {
    Bytes frame = Ipv4Frame(60);
    PutBe16(frame, 42, number);
    ASSERT_TRUE(lines.Write(frame));
    lines.ServeOnce(1);
  };
  arrive(0);
  EXPECT_EQ(Poll(queue, engine), 1u);
  for (const uint32_t number : {1, 2, 3}) {
    Bytes frame = Ipv4Frame(60);
    PutBe16(frame, 42, number);
    EXPECT_TRUE(queue.Send(frame.data(), 60));
  }
  queue.FlushSent();
  lines.ServeOnce(1);  // The NIC sends the answer.
  arrive(4);
  EXPECT_EQ(Poll(queue, engine), 1u);
  std::vector<uint32_t> order;
  for (int i = 0; i < 8; ++i) lines.ServeOnce(1);
  for (const Bytes& frame : lines.Sent()) order.push_back(frame[42] << 8 | frame[43]);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
}

TEST_P(Coherent, ALineWithoutAFrameToSendHandsNothingBack) {
  LinePair lines;
  Queue queue(lines);
  ByFirstByte engine;
  Poll(queue, engine);
  for (uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(lines.Receive(Ordered(1 + i % 2, 60)));
  uint32_t received = 0;
  for (int polls = 0; polls < 3; ++polls) received += Poll(queue, engine);
  EXPECT_EQ(received, 20u);
  EXPECT_TRUE(lines.Sent().empty());
  EXPECT_TRUE(queue.counters().Conserved());
}

// Sends three more frames before the answer to each frame.
struct Multiplier final : packet::Engine {
  void set_outbox(packet::Outbox given) override { outbox = given; }
  Verdict Process(Frame& frame, uint64_t) {
    for (uint8_t copy = 0; copy < 3; ++copy) {
      Bytes more(frame.data, frame.data + frame.length);
      more[0] = static_cast<uint8_t>(0xe0 + copy);
      EXPECT_TRUE(outbox.Send(more.data(), static_cast<uint32_t>(more.size())));
    }
    return packet::kForward;
  }
  packet::Outbox outbox;
};

TEST_P(Coherent, FramesOfTheEnginesOwnLeaveInTheOrderOfTheAnswers) {
  if (GetParam() != Contract::kFrames && GetParam() != Contract::kBursts) {
    GTEST_SKIP() << "an engine that leaves frames of a burst unanswered has no order";
  }
  LinePair lines;
  Queue queue(lines);
  Multiplier engine;
  engine.set_outbox(queue.outbox());
  Poll(queue, engine);
  constexpr uint32_t kFrames = 200;  // The copies fill several lines.
  std::vector<Bytes> sent;
  for (uint32_t i = 0; i < kFrames; ++i) {
    Bytes frame = Ipv4Frame(300);
    PutBe16(frame, 42, i);
    while (!lines.Receive(frame)) Poll(queue, engine);
  }
  for (int polls = 0; polls < 4; ++polls) Poll(queue, engine);
  std::vector<std::pair<uint32_t, uint32_t>> order;
  for (const Bytes& frame : lines.Sent()) {
    order.emplace_back(frame[42] << 8 | frame[43], frame[0] >= 0xe0 ? frame[0] - 0xe0 : 3);
  }
  ASSERT_EQ(order.size(), 4 * kFrames);
  for (uint32_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(order[i], std::pair(i / 4, i % 4)) << i;
  }
  EXPECT_EQ(queue.counters().sent_pkts, 3 * kFrames);
  EXPECT_EQ(queue.counters().tx_pkts, 4 * kFrames);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST(CoherentSend, WhatNoLineHoldsIsRefused) {
  LinePair lines;
  Queue queue(lines);
  const Bytes frame(9729, 1);
  EXPECT_FALSE(queue.Send(frame.data(), 13));
  EXPECT_FALSE(queue.Send(frame.data(), 9729));
  EXPECT_EQ(queue.counters().tx_unframeable, 2u);
  EXPECT_TRUE(queue.Send(frame.data(), 9728));
  EXPECT_TRUE(queue.Send(frame.data(), 14));
  queue.FlushSent();
  EXPECT_EQ(lines.Sent(), (std::vector<Bytes>{Bytes(9728, 1), Bytes(14, 1)}));
  EXPECT_TRUE(queue.CanEmit(nullptr, 9728));
  EXPECT_FALSE(queue.CanEmit(nullptr, 9729));
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST(CoherentSend, ANicThatGivesNoLineCostsBoundedPatience) {
  LinePair lines;
  lines.answers = false;
  Queue queue(lines);
  const Bytes frame = Ipv4Frame(60);
  EXPECT_FALSE(queue.Send(frame.data(), 60));
  EXPECT_FALSE(queue.Send(frame.data(), 60));
  EXPECT_EQ(queue.counters().tx_full, 2u);
  EXPECT_GT(queue.waited_cycles(), 0u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Coherent, AtTheEndItWaitsForTheNicToTakeTheLastFrames) {
  LinePair lines;
  Queue queue(lines);
  Pass engine;
  Poll(queue, engine);
  ASSERT_TRUE(lines.Receive(Ipv4Frame(60)));
  EXPECT_EQ(Poll(queue, engine), 1u);
  const Bytes own = Ipv4Frame(90);
  EXPECT_TRUE(queue.Send(own.data(), 90));
  queue.Drain();
  EXPECT_EQ(queue.counters().tx_pkts, 2u);
  EXPECT_EQ(queue.counters().tx_full, 0u);
  EXPECT_TRUE(queue.counters().Conserved());
  EXPECT_EQ(lines.host().counters().faults, 0u) << "the host closed the endpoint itself";
}

TEST_P(Coherent, ANicThatNeverTakesThemLetsThemEndAsNotSent) {
  LinePair lines;
  Queue queue(lines);
  Pass engine;
  Poll(queue, engine);
  for (uint32_t i = 0; i < 7; ++i) ASSERT_TRUE(lines.Receive(Ipv4Frame(60)));
  EXPECT_EQ(Poll(queue, engine), 7u);
  lines.answers = false;
  queue.Drain();
  EXPECT_EQ(queue.counters().tx_full, 7u);
  EXPECT_EQ(queue.counters().tx_pkts, 0u);
  EXPECT_EQ(queue.counters().tx_bytes, 0u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Coherent, ATapSeesFramesAsTheyComeAndAsTheyLeave) {
  LinePair lines;
  Queue queue(lines);
  std::vector<std::pair<TapDirection, Bytes>> seen;
  queue.set_tap({[](void* context, TapDirection direction, const uint8_t* frame, uint32_t length) {
                   static_cast<decltype(seen)*>(context)->emplace_back(
                       direction, Bytes(frame, frame + length));
                 },
                 &seen});
  ByFirstByte engine;
  ASSERT_TRUE(lines.Receive(Ordered(1, 60)));
  ASSERT_TRUE(lines.Receive(Ordered(5, 90)));
  ASSERT_TRUE(lines.Receive(Ordered(11, 60)));
  for (int polls = 0; polls < 3; ++polls) Poll(queue, engine);
  Bytes shorter = Ordered(5, 90);
  shorter.resize(80);
  EXPECT_EQ(seen, (decltype(seen){{TapDirection::kReceived, Ordered(1, 60)},
                                  {TapDirection::kReceived, Ordered(5, 90)},
                                  {TapDirection::kReceived, Ordered(11, 60)},
                                  {TapDirection::kSent, shorter},
                                  {TapDirection::kSent, Bytes(700, 11)}}));
}

}  // namespace
}  // namespace sluice::nic
