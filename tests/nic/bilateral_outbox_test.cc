// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the frames that a bilateral queue places after the received frames of a region: answers
// that do not fit in the received frame's slot, and frames that the engine sends. All of them must
// be sent in the order in which the engine handled the frames.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "frames.h"
#include "link_pair.h"
#include "nic/bilateral.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::Verdict;
using GivenRegion = LinkPair::GivenRegion;
using Queue = BilateralQueue<LinkPair>;

Bytes Numbered(uint8_t first, uint32_t number, uint32_t length = 60) {
  Bytes frame = Ipv4Frame(length);
  frame[0] = first;
  PutBe16(frame, 42, number);
  return frame;
}

// Calls the test's function for each frame.
struct Scripted final : packet::Engine {
  void set_outbox(packet::Outbox given) override { outbox = given; }
  Verdict Process(Frame& frame, uint64_t) { return act(frame, *this); }
  bool Send(const Bytes& frame) {
    return outbox.Send(frame.data(), static_cast<uint32_t>(frame.size()));
  }

  std::function<Verdict(Frame&, Scripted&)> act = [](Frame&, Scripted&) {
    return packet::kForward;
  };
  packet::Outbox outbox;
};

struct Rig {
  explicit Rig(const swap::Geometry& geometry = {}) : link(geometry), queue(link) {
    engine.set_outbox(queue.outbox());
  }
  // Exchanges regions until nothing changes. Records the sent frames.
  void Run() {
    for (uint32_t quiet = 0; quiet < 10; ++quiet) {
      packet::FrameByFrame burst_engine(engine);
      if ((bursts ? queue.Poll(burst_engine, 0) : queue.Poll(engine, 0)) > 0) quiet = 0;
      queue.FlushSent();
      for (Bytes& frame : link.Send()) {
        left.push_back(std::move(frame));
        quiet = 0;
      }
    }
    EXPECT_TRUE(queue.counters().Conserved());
    EXPECT_EQ(link.nic().bad_entries(), 0u);
    EXPECT_EQ(queue.counters().tx_pkts, left.size());
    uint64_t bytes = 0;
    for (const Bytes& frame : left) bytes += frame.size();
    EXPECT_EQ(queue.counters().tx_bytes, bytes);
  }
  const QueueCounters& counters() const { return queue.counters(); }

  LinkPair link;
  Queue queue;
  Scripted engine;
  bool bursts = false;
  std::vector<Bytes> left;
};

// Runs the test with and without enough free space in the region, and also with bursts.
TEST(BilateralOutbox, SentFramesLeaveBeforeTheAnswerToTheFrameAtWork) {
  for (const uint32_t region_bytes : {1u << 18, 16'384u}) {
    for (const bool bursts : {false, true}) {
      swap::Geometry geometry;
      geometry.region_bytes = region_bytes;
      geometry.max_frames = 240;
      Rig rig(geometry);
      rig.bursts = bursts;
      std::vector<Bytes> order;
      uint32_t sent = 0;
      rig.engine.act = [&](Frame& frame, Scripted& engine) {
        for (uint32_t i = 0; i < frame.data[43] % 3u; ++i) {
          order.push_back(Numbered(9, sent++, 60 + 500 * i));
          EXPECT_TRUE(engine.Send(order.back()));
        }
        if (frame.data[0] == 1) return packet::kConsume;
        order.emplace_back(frame.data, frame.data + frame.length);
        return packet::kForward;
      };
      uint32_t received = 0;
      while (received < 200 && rig.link.Receive(Numbered(received % 2, received))) ++received;
      EXPECT_GT(received, 100u) << "more than an engine sees at once, if there is room";
      rig.Run();
      EXPECT_EQ(rig.left, order) << region_bytes << bursts;
      EXPECT_EQ(rig.counters().sent_pkts, sent);
      EXPECT_EQ(rig.counters().consumed_pkts, received / 2);
    }
  }
}

TEST(BilateralOutbox, AFrameSentAtRestLeavesThoughNoneIsReceived) {
  Rig rig;
  rig.Run();  // The NIC waits for frames.
  EXPECT_EQ(rig.link.given_regions.back(), (GivenRegion{0, true}));
  EXPECT_TRUE(rig.engine.Send(Numbered(1, 1)));
  EXPECT_TRUE(rig.engine.Send(Numbered(1, 2, 1514)));
  rig.queue.FlushSent();
  rig.Run();
  EXPECT_EQ(rig.left, (std::vector<Bytes>{Numbered(1, 1), Numbered(1, 2, 1514)}));
  EXPECT_EQ(rig.link.given_regions.back(), (GivenRegion{0, true}))
      << "the next region is worth waiting for";
  EXPECT_EQ(rig.link.host().counters().rejected, 1u) << "one region was asked back";
  rig.Run();
  EXPECT_EQ(rig.link.host().counters().rejected, 1u) << "nothing is asked back without need";
}

TEST(BilateralOutbox, FramesSentAtRestGoBeforeThoseSentLater) {
  Rig rig;
  rig.engine.act = [](Frame& frame, Scripted& engine) {
    EXPECT_TRUE(engine.Send(Numbered(9, 2)));
    frame.data[1] = 0xaa;
    return packet::kForward;
  };
  EXPECT_TRUE(rig.engine.Send(Numbered(9, 1)));
  ASSERT_TRUE(rig.link.Receive(Numbered(0, 7)));
  rig.Run();
  Bytes answer = Numbered(0, 7);
  answer[1] = 0xaa;
  EXPECT_EQ(rig.left, (std::vector<Bytes>{Numbered(9, 1), Numbered(9, 2), answer}));
}

TEST(BilateralOutbox, EntriesOfFramesThatDoNotLeaveMakeRoomInAFullRegion) {
  swap::Geometry geometry;
  geometry.max_frames = 16;
  Rig rig(geometry);
  std::vector<Bytes> sent;
  rig.engine.act = [&](Frame& frame, Scripted& engine) {
    if (frame.data[0] == 0) return packet::kForward;
    sent.push_back(Numbered(9, static_cast<uint32_t>(sent.size())));
    EXPECT_TRUE(engine.Send(sent.back()));
    return packet::kConsume;
  };
  for (uint32_t i = 0; i < 16; ++i) ASSERT_TRUE(rig.link.Receive(Numbered(i % 2, i)));
  EXPECT_EQ(rig.queue.Poll(rig.engine, 0), 16u);
  EXPECT_EQ(rig.link.given_regions.back(), (GivenRegion{16, false})) << "all in the same region";
  rig.Run();
  ASSERT_EQ(rig.left.size(), 16u);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rig.left[2 * i], Numbered(0, 2 * i));
    EXPECT_EQ(rig.left[2 * i + 1], sent[i]);
  }
}

TEST(BilateralOutbox, BytesOfFramesThatDoNotLeaveMakeRoomInAFullRegion) {
  swap::Geometry geometry;
  geometry.region_bytes = 4096;
  geometry.max_frames = 16;
  Rig rig(geometry);
  std::vector<Bytes> sent;
  rig.engine.act = [&](Frame&, Scripted& engine) {
    sent.push_back(Numbered(9, static_cast<uint32_t>(sent.size()), 1200));
    EXPECT_TRUE(engine.Send(sent.back()));
    return packet::kConsume;
  };
  // Three slots of 1024 bytes leave 896 of 3968 bytes free.
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(rig.link.Receive(Numbered(1, i, 1000)));
  EXPECT_EQ(rig.queue.Poll(rig.engine, 0), 3u);
  EXPECT_EQ(rig.link.given_regions.back(), (GivenRegion{3, false})) << "all in the same region";
  rig.Run();
  EXPECT_EQ(rig.left, sent);
}

TEST(BilateralOutbox, WhatOneRegionDoesNotHoldLeavesWithTheNextOnes) {
  swap::Geometry geometry;
  geometry.max_frames = 16;
  geometry.region_bytes = 8192;
  Rig rig(geometry);
  std::vector<Bytes> sent;
  rig.engine.act = [&](Frame&, Scripted& engine) {
    for (uint32_t i = 0; i < 50; ++i) {
      sent.push_back(Numbered(9, static_cast<uint32_t>(sent.size()), 60 + i % 7 * 200));
      EXPECT_TRUE(engine.Send(sent.back()));
    }
    return packet::kConsume;
  };
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(rig.link.Receive(Numbered(1, i)));
  rig.Run();
  EXPECT_EQ(rig.left, sent);
  EXPECT_EQ(rig.left.size(), 150u);
}

TEST(BilateralOutbox, WhenEvenTheRoomForWaitingFramesIsFullTheyAreRefusedAndCounted) {
  Rig rig;
  const Bytes frame = Numbered(1, 1, 1514);
  uint32_t accepted = 0;
  for (uint32_t i = 0; i < 1000; ++i) accepted += rig.engine.Send(frame);
  EXPECT_EQ(accepted, (2u << 18) / (1514 + 4))
      << "as much as two of the largest regions have bytes";
  EXPECT_EQ(rig.counters().sent_pkts, 1000u);
  EXPECT_EQ(rig.counters().tx_full, 1000u - accepted);
  EXPECT_TRUE(rig.counters().Conserved());
  rig.Run();
  EXPECT_EQ(rig.left, std::vector<Bytes>(accepted, frame));
}

TEST(BilateralOutbox, LengthsThatNoRegionTakesAreRefused) {
  swap::Geometry geometry;
  geometry.region_bytes = 4096;
  Rig rig(geometry);
  EXPECT_FALSE(rig.engine.Send(Bytes(13)));
  EXPECT_FALSE(rig.engine.Send(Bytes(9729)));
  EXPECT_EQ(rig.counters().tx_unframeable, 2u);
  const uint32_t room = 4096 - 64 - 4 * geometry.max_frames;
  EXPECT_TRUE(rig.engine.Send(Bytes(room + 1, 1)));
  EXPECT_TRUE(rig.engine.Send(Bytes(room, 2))) << "behind one that fits nowhere";
  rig.Run();
  EXPECT_EQ(rig.left, std::vector<Bytes>{Bytes(room, 2)});
  EXPECT_EQ(rig.counters().tx_unframeable, 3u);
}

TEST(BilateralOutbox, FramesThatWaitAtTheEndAreGivenToTheNic) {
  Rig rig;
  rig.Run();
  EXPECT_TRUE(rig.engine.Send(Numbered(1, 1)));
  rig.queue.Drain();
  EXPECT_EQ(rig.link.Send(), std::vector<Bytes>{Numbered(1, 1)});
  EXPECT_EQ(rig.counters().tx_pkts, 1u);
  EXPECT_TRUE(rig.counters().Conserved());
}

TEST(BilateralOutbox, FramesThatWaitAtTheEndForANicThatIsGoneWereNotSent) {
  Rig rig;
  rig.Run();
  rig.link.answers = rig.link.answers_cancel = false;
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(rig.engine.Send(Numbered(1, i, 100)));
  EXPECT_EQ(rig.counters().tx_pkts, 3u);
  rig.queue.Drain();
  EXPECT_EQ(rig.counters().tx_pkts, 0u);
  EXPECT_EQ(rig.counters().tx_bytes, 0u);
  EXPECT_EQ(rig.counters().tx_full, 3u);
  EXPECT_TRUE(rig.counters().Conserved());
}

TEST(BilateralOutbox, SentFramesOfAnOfferThatTheNicRefusesWereNotSent) {
  Rig rig;
  rig.engine.act = [](Frame&, Scripted& engine) {
    EXPECT_TRUE(engine.Send(Numbered(9, 1)));
    return packet::kForward;
  };
  ASSERT_TRUE(rig.link.Receive(Numbered(0, 0)));
  EXPECT_EQ(rig.queue.Poll(rig.engine, 0), 1u);
  rig.link.Cancel();
  rig.Run();
  EXPECT_EQ(rig.counters().sent_pkts, 1u);
  EXPECT_EQ(rig.counters().tx_full, 2u);
}

TEST(BilateralOutbox, ATapSeesSentFramesLeave) {
  Rig rig;
  std::vector<Bytes> seen;
  rig.queue.set_tap(
      {[](void* context, TapDirection direction, const uint8_t* frame, uint32_t length) {
         if (direction != TapDirection::kSent) return;
         static_cast<std::vector<Bytes>*>(context)->emplace_back(frame, frame + length);
       },
       &seen});
  rig.engine.act = [](Frame&, Scripted& engine) {
    EXPECT_TRUE(engine.Send(Numbered(9, 1)));
    return packet::kForward;
  };
  ASSERT_TRUE(rig.link.Receive(Numbered(0, 0)));
  rig.Run();
  EXPECT_EQ(seen, (std::vector<Bytes>{Numbered(9, 1), Numbered(0, 0)}));
}

// --- Answers from another buffer.

TEST(BilateralRelocation, AnAnswerFromElsewhereGoesIntoItsSlotOrBehindAllFrames) {
  Rig rig;
  std::vector<Bytes> answers;
  Bytes buffer;
  rig.engine.act = [&](Frame& frame, Scripted&) {
    buffer = Numbered(9, static_cast<uint32_t>(answers.size()), frame.data[0] == 0 ? 60 : 1400);
    answers.push_back(buffer);
    frame.data = buffer.data();
    frame.length = static_cast<uint32_t>(buffer.size());
    return packet::kForward;
  };
  for (uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(rig.link.Receive(Numbered(i % 2, i, 90)));
  rig.Run();
  EXPECT_EQ(rig.left, answers) << "the order of the frames that they answer";
}

TEST(BilateralRelocation, OnlyWhereTheRegionIsFullIsThereNoRoom) {
  swap::Geometry geometry;
  geometry.region_bytes = 4096;
  geometry.max_frames = 16;
  Rig rig(geometry);
  const Bytes answer = Numbered(9, 9, 1000);
  rig.engine.act = [&](Frame& frame, Scripted&) {
    frame.data = const_cast<uint8_t*>(answer.data());
    frame.length = 1000;
    return packet::kForward;
  };
  // 4096 − 64 − 16 · 4 − 5 · 64 = 3648 bytes are free, that is, three slots of 1024 bytes, and 576
  // bytes.
  for (uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(rig.link.Receive(Numbered(0, i)));
  rig.Run();
  EXPECT_EQ(rig.left, std::vector<Bytes>(3, answer));
  EXPECT_EQ(rig.counters().tx_full, 2u);
  EXPECT_EQ(rig.counters().tx_unframeable, 0u);
}

TEST(BilateralRelocation, AnAnswerThatNoRegionTakesIsUnframeable) {
  Rig rig;
  Bytes buffer(10'000);
  rig.engine.act = [&](Frame& frame, Scripted&) {
    frame.length = frame.data[0] == 0 ? 13 : 9729;
    frame.data = buffer.data();
    return packet::kForward;
  };
  for (uint8_t first : {0, 1}) ASSERT_TRUE(rig.link.Receive(Numbered(first, 0)));
  rig.Run();
  EXPECT_EQ(rig.counters().tx_unframeable, 2u);
}

TEST(BilateralRelocation, EntriesThatLieLeaveNoRoomOutsideTheRegion) {
  swap::Geometry geometry;
  geometry.max_frames = 32;
  const uint32_t data = 64 + 4 * geometry.max_frames;
  const uint32_t bytes = geometry.region_bytes;
  const auto run = [&](std::vector<swap::Entry> entries, uint32_t* sent, QueueCounters* counters) {
    Rig rig(geometry);
    // The memory before and after the current region must not change.
    const swap::Region region = rig.link.memory().region(geometry.regions - 1);
    const Bytes before(region.base - 64, region.base);
    rig.engine.act = [&](Frame& frame, Scripted& engine) {
      *sent += engine.Send(Numbered(9, *sent, 1000));
      static Bytes answer = Numbered(8, 0, 700);
      frame.data = answer.data();
      frame.length = 700;
      return packet::kForward;
    };
    for (size_t i = 0; i < entries.size(); ++i) EXPECT_TRUE(rig.link.Receive(Numbered(0, 0)));
    EXPECT_EQ(region.header().count, entries.size());
    std::copy(entries.begin(), entries.end(), region.entries());
    EXPECT_EQ(rig.queue.Poll(rig.engine, 0), entries.size());
    EXPECT_EQ(Bytes(region.base - 64, region.base), before);
    rig.Run();
    *counters = rig.counters();
    for (const Bytes& frame : rig.left) {
      EXPECT_TRUE(frame == Numbered(8, 0, 700) || (frame[0] == 9 && frame.size() == 1000));
    }
  };
  uint32_t sent = 0;
  QueueCounters counters;
  // The entries are valid but in no particular order. One frame ends at the end of the region, so
  // no free space remains.
  run({swap::MakeEntry(bytes - 128, 128), swap::MakeEntry(data, 60)}, &sent, &counters);
  EXPECT_EQ(counters.tx_full, 2u) << "answers of 700 bytes";
  EXPECT_EQ(sent, 2u) << "they wait for the next region";
  EXPECT_EQ(counters.tx_pkts, 2u);
  // The entry ends one byte before the end of the region.
  sent = 0;
  run({swap::MakeEntry(bytes - 61, 60)}, &sent, &counters);
  EXPECT_EQ(counters.tx_full, 1u);
  // Invalid entries do not use any space, and the engine does not see them.
  sent = 0;
  run({swap::MakeEntry(data, 60), swap::MakeEntry(bytes - 99, 100), swap::MakeEntry(0, 9728)},
      &sent, &counters);
  EXPECT_EQ(counters.rx_bad_entry, 2u);
  EXPECT_EQ(sent, 1u);
  EXPECT_EQ(counters.tx_full, 0u);
  EXPECT_EQ(counters.tx_pkts, 2u);
}

}  // namespace
}  // namespace sluice::nic
