// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the ring of a cable: order and content over many laps, bounds, and invalid records.
#include "emulator/cable_lane.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "cable_rig.h"

namespace sluice::emulator {
namespace {

constexpr uint64_t kLaneFrames = CableLane::kBytes / CableLane::kLine;

struct Lane {
  std::unique_ptr<CableLane> memory{new CableLane()};
  CableSender sender{*memory};
  std::unique_ptr<CableReceiver> receiver{new CableReceiver(*memory)};

  uint32_t Send(const Bytes& frame) {
    const device::WireFrame view = ViewOf(frame);
    return sender.Send({&view, 1});
  }
  uint32_t ReceiveAll() {
    uint32_t consumed = 0;
    for (auto frames = receiver->Pull(256); !frames.empty(); frames = receiver->Pull(256)) {
      receiver->Consumed(static_cast<uint32_t>(frames.size()));
      consumed += static_cast<uint32_t>(frames.size());
    }
    return consumed;
  }
  /// Stores a position as a hostile sender would.
  void Publish(uint64_t position) { memory->written.bytes.store(position); }
  void Length(uint64_t position, uint32_t length) {
    std::memcpy(&memory->records[position % CableLane::kBytes], &length, sizeof(length));
  }
};

TEST(CableLane, KeepsOrderAndBytesOverManyLapsWithFramesOfEveryLength) {
  Lane lane;
  std::mt19937 random(1);
  uint32_t in = 0, out = 0;
  uint64_t bytes = 0;
  for (int turn = 0; turn < 1500; ++turn) {
    for (uint32_t burst = random() % 40; burst > 0; --burst) {
      const uint32_t length =
          60 + random() % (random() % 8 == 0 ? CableLane::kMaxFrameBytes - 59 : 100);
      if (lane.Send(NumberedFrame(in, length)) == 0) break;
      bytes += length;
      ++in;
    }
    const auto frames = lane.receiver->Pull(1 + random() % 64);
    const auto all = static_cast<uint32_t>(frames.size());
    const uint32_t consumed = random() % 2 == 0 ? all : all / 2;
    for (uint32_t i = 0; i < consumed; ++i) ASSERT_TRUE(IsNumbered(frames[i], out + i));
    lane.receiver->Consumed(consumed);
    out += consumed;
  }
  EXPECT_GT(bytes, 20 * CableLane::kBytes);
  EXPECT_EQ(out + lane.ReceiveAll(), in);
  EXPECT_FALSE(lane.sender.lied_to());
  EXPECT_FALSE(lane.receiver->lied_to());
}

TEST(CableLane, AFrameOfTheMinimumIsOneLineAndShorterOnesArePadded) {
  Lane lane;
  const Bytes runt(42, 0xff);
  for (uint64_t i = 0; i < kLaneFrames; ++i) ASSERT_EQ(lane.Send(runt), 1u) << i;
  EXPECT_EQ(lane.Send(runt), 0u);
  EXPECT_EQ(lane.sender.InFlight(), kLaneFrames);
  const auto frames = lane.receiver->Pull(1);
  ASSERT_EQ(frames.size(), 1u);
  ASSERT_EQ(frames[0].length, 60u);
  for (uint32_t i = 0; i < 60; ++i) EXPECT_EQ(frames[0].data[i], i < 42 ? 0xff : 0);
  EXPECT_EQ(lane.ReceiveAll(), kLaneFrames);
  EXPECT_EQ(lane.sender.InFlight(), 0u);
  EXPECT_EQ(lane.Send(runt), 1u);
}

TEST(CableLane, WhatWasPulledAndNotConsumedComesAgain) {
  Lane lane;
  for (uint32_t i = 0; i < 10; ++i) lane.Send(NumberedFrame(i, 60));
  EXPECT_EQ(lane.receiver->Pull(4).size(), 4u);
  EXPECT_EQ(lane.receiver->InFlight(), 10u);
  lane.receiver->Consumed(1);
  const auto frames = lane.receiver->Pull(256);
  ASSERT_EQ(frames.size(), 9u);
  EXPECT_TRUE(IsNumbered(frames[0], 1));
  EXPECT_EQ(lane.receiver->InFlight(), 9u);
}

TEST(CableLane, TooLongFramesAreDroppedAndCounted) {
  Lane lane;
  EXPECT_EQ(lane.Send(Bytes(CableLane::kMaxFrameBytes + 1)), 1u);
  EXPECT_EQ(lane.Send(Bytes(CableLane::kMaxFrameBytes)), 1u);
  EXPECT_EQ(lane.sender.ReadAndClearOversize(), 1u);
  EXPECT_EQ(lane.sender.ReadAndClearOversize(), 0u);
  EXPECT_EQ(lane.ReceiveAll(), 1u);
}

TEST(CableLane, AReceiverBelievesNoPositionThatCannotBe) {
  for (const uint64_t lie : {uint64_t{1}, uint64_t{63}, uint64_t{100}, CableLane::kBytes + 64,
                             ~uint64_t{0}, ~uint64_t{63}, uint64_t{1} << 63}) {
    Lane lane;
    lane.Publish(lie);
    EXPECT_TRUE(lane.receiver->Pull(256).empty()) << lie;
    EXPECT_TRUE(lane.receiver->lied_to()) << lie;
    EXPECT_LE(lane.receiver->InFlight(), kLaneFrames);
    lane.Publish(64);
    lane.Length(0, 60);
    EXPECT_TRUE(lane.receiver->Pull(256).empty()) << "once a liar";
  }
  Lane back;
  for (uint32_t i = 0; i < 2; ++i) back.Send(Bytes(60));
  EXPECT_EQ(back.ReceiveAll(), 2u);
  back.Publish(64);
  EXPECT_TRUE(back.receiver->Pull(1).empty());
  EXPECT_TRUE(back.receiver->lied_to());
}

TEST(CableLane, AReceiverBelievesNoLengthThatCannotBe) {
  struct Lie {
    uint32_t length;
    uint64_t published;
  };
  for (const Lie lie : {Lie{1, 64}, Lie{59, 64}, Lie{CableLane::kMaxFrameBytes + 1, 1 << 16},
                        Lie{0xffff'ffff, CableLane::kBytes}, Lie{0x8000'0000, 64},
                        Lie{61, 64},      // Longer than the published data.
                        Lie{1514, 1472},  // Longer than the published data.
                        Lie{0, 64},       // A jump to the beginning that has not been published.
                        Lie{0, CableLane::kBytes - 64}}) {
    Lane lane;
    lane.Length(0, lie.length);
    lane.Publish(lie.published);
    EXPECT_TRUE(lane.receiver->Pull(256).empty()) << lie.length;
    EXPECT_TRUE(lane.receiver->lied_to()) << lie.length;
  }
  Lane end;  // The record would extend beyond the end of the ring.
  for (uint64_t i = 0; i + 1 < kLaneFrames; ++i) end.Send(Bytes(60));
  EXPECT_EQ(end.ReceiveAll(), kLaneFrames - 1);
  end.Length(CableLane::kBytes - 64, 61);
  end.Publish(CableLane::kBytes + 64);
  EXPECT_TRUE(end.receiver->Pull(1).empty());
  EXPECT_TRUE(end.receiver->lied_to());
}

TEST(CableLane, ASenderBelievesNoPositionThatCannotBe) {
  for (const uint64_t lie :
       {uint64_t{1}, CableLane::kBytes + 64, ~uint64_t{0}, ~uint64_t{63}, uint64_t{65}}) {
    Lane lane;
    while (lane.Send(Bytes(60)) != 0) {
    }
    ASSERT_FALSE(lane.sender.lied_to());
    lane.memory->consumed.bytes.store(lie);
    EXPECT_EQ(lane.Send(Bytes(60)), 0u) << lie;
    EXPECT_TRUE(lane.sender.lied_to()) << lie;
    lane.memory->consumed.bytes.store(64);
    EXPECT_EQ(lane.Send(Bytes(60)), 0u) << "once a liar";
  }
  Lane count;
  count.Send(Bytes(60));
  count.memory->consumed.frames.store(~uint64_t{0});
  EXPECT_EQ(count.sender.InFlight(), 0u);
}

TEST(CableLane, WhateverTheMemoryHoldsFramesAreOfLengthsThatCanBe) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    Lane lane;
    for (size_t i = 0; i < CableLane::kBytes; i += 64) {
      lane.Length(i, random() % 4 != 0 ? 60 + random() % 200 : static_cast<uint32_t>(random()));
    }
    lane.Publish(random() % (CableLane::kBytes / 64 + 1) * 64);
    for (int pulls = 0; pulls < 100; ++pulls) {
      const auto frames = lane.receiver->Pull(256);
      for (const device::WireFrame& frame : frames) {
        ASSERT_GE(frame.length, 60u);
        ASSERT_LE(frame.length, CableLane::kMaxFrameBytes);
        volatile uint8_t last = frame.data[frame.length - 1];
        static_cast<void>(last);
      }
      lane.receiver->Consumed(static_cast<uint32_t>(frames.size()));
    }
  }
}

}  // namespace
}  // namespace sluice::emulator
