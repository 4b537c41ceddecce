// SPDX-License-Identifier: BSD-3-Clause
//
// Tests rows of the bilateral interface: frames of one length at equal distances, which the queue
// handles without reading each entry. Their outcomes must equal those of frames that are not in
// rows.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "frames.h"
#include "link_pair.h"
#include "nic/bilateral.h"
#include "nic/region_row.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::Verdict;

/// Gives each frame the outcome that its first byte requests, and records the order in which the
/// frames are handled.
struct EndsByFirstByte final : packet::Engine {
  Verdict Process(Frame& frame, uint64_t) {
    seen.push_back(frame.data[1]);
    if (frame.data[0] == 1) return packet::kConsume;
    if (frame.data[0] == 2) return packet::Drop(4);
    if (frame.data[0] == 3) frame.length -= 10;
    if (frame.data[0] == 4) frame.length += frame.tailroom;
    return packet::kForward;
  }
  std::vector<uint8_t> seen;
};

Bytes InOrder(uint8_t order, uint8_t number, uint32_t length) {
  Bytes frame = Ipv4Frame(length);
  frame[0] = order;
  frame[1] = number;
  return frame;
}

TEST(BilateralRow, FramesOfOneSizeEndAsTheEngineSays) {
  for (const uint32_t row : {7u, 8u, 9u, 23u, 24u, 32u, 40u, 65u}) {
    LinkPair link;
    BilateralQueue<LinkPair> queue(link);
    EndsByFirstByte engine;
    std::vector<Bytes> sent;
    std::vector<uint8_t> numbers;
    uint64_t bytes = 0;
    const auto receive = [&](uint8_t order, uint8_t number, uint32_t length) {
      const Bytes frame = InOrder(order, number, length);
      ASSERT_TRUE(link.Receive(frame));
      numbers.push_back(number);
      bytes += length;
      if (order == 0) sent.push_back(frame);
      if (order == 3) sent.emplace_back(frame.begin(), frame.end() - 10);
    };
    for (uint32_t i = 0; i < row; ++i) {
      receive(static_cast<uint8_t>(i % 4), static_cast<uint8_t>(i), 100);
    }
    receive(0, 201, 1514);
    receive(3, 202, 60);
    EXPECT_EQ(queue.Poll(engine, 0), row + 2);
    engine.seen.swap(numbers);
    EXPECT_EQ(engine.seen, numbers) << "each frame once, in order";
    queue.Poll(engine, 0);
    EXPECT_EQ(link.Send(), sent) << row;
    const QueueCounters& counters = queue.counters();
    EXPECT_EQ(counters.rx_pkts, row + 2);
    EXPECT_EQ(counters.rx_bytes, bytes);
    EXPECT_EQ(counters.consumed_pkts, (row + 2) / 4);
    EXPECT_EQ(counters.engine_drops[4], (row + 1) / 4);
    EXPECT_EQ(counters.tx_pkts, sent.size());
    EXPECT_TRUE(counters.Conserved());
  }
}

TEST(BilateralRow, AnAnswerMayGrowIntoTheTailroomOfItsSlot) {
  LinkPair link;
  BilateralQueue<LinkPair> queue(link);
  EndsByFirstByte engine;
  for (uint8_t i = 0; i < 16; ++i) ASSERT_TRUE(link.Receive(InOrder(4, i, 100)));
  EXPECT_EQ(queue.Poll(engine, 0), 16u);
  queue.Poll(engine, 0);
  const std::vector<Bytes> sent = link.Send();
  ASSERT_EQ(sent.size(), 16u);
  for (const Bytes& frame : sent) EXPECT_EQ(frame.size(), 128u) << "slots end at multiples of 64";
  EXPECT_EQ(queue.counters().tx_bytes, 16u * 128);
}

/// Entries as written by the NIC: `count` entries that begin with `first` and increase by `step`.
struct Written {
  swap::Entry first, step;
  uint32_t count;
};

TEST(BilateralRow, EntriesAtEqualDistancesMustDescribeFramesInTheRegion) {
  const swap::Geometry geometry;
  const uint32_t bytes = geometry.region_bytes, data = 64 + 4 * geometry.max_frames;
  const swap::Entry backwards = -swap::Entry{64}, longer = swap::MakeEntry(0, 1);
  const Written kCases[] = {
      {swap::MakeEntry(data, 64), 64, 16},             // A valid row.
      {swap::MakeEntry(bytes - 16 * 64, 64), 64, 16},  // Ends at the end of the region.
      {swap::MakeEntry(bytes - 15 * 64, 64), 64, 16},  // One frame extends beyond the region.
      {swap::MakeEntry(bytes - 16 * 64, 65), 64, 16},  // One byte extends beyond the region.
      {swap::MakeEntry(data - 64, 64), 64, 16},        // Overlaps the entries.
      {swap::MakeEntry(data + 1024, 64), backwards, 16},
      {swap::MakeEntry(data + 512, 64), backwards, 16},
      {swap::MakeEntry(data, 60), 0, 16},     // All entries refer to the same frame.
      {swap::MakeEntry(data, 13), 64, 16},    // Too short.
      {swap::MakeEntry(data, 9729), 64, 16},  // Too long.
      {swap::MakeEntry(data, 8), longer, 16},
      {swap::MakeEntry(data, 60), 40'000, 16},  // Offsets wrap.
      {swap::MakeEntry(data, 60), 1u << 17, 8},
      {0, 0, 16}};
  for (const Written& written : kCases) {
    LinkPair link(geometry);
    BilateralQueue<LinkPair> queue(link);
    EndsByFirstByte engine;
    for (uint32_t i = 0; i < written.count; ++i) ASSERT_TRUE(link.Receive(InOrder(0, 0, 60)));
    // The NIC keeps the free regions on a stack and fills the last region first.
    swap::Entry* const entries = link.memory().region(geometry.regions - 1).entries();
    uint32_t unsound = 0;
    for (uint32_t i = 0; i < written.count; ++i) {
      entries[i] = written.first + i * written.step;
      const uint32_t offset = swap::EntryOffset(entries[i]), length = swap::EntryLength(entries[i]);
      unsound += length < 14 || length > 9728 || offset < data || offset + length > bytes;
    }
    EXPECT_EQ(queue.Poll(engine, 0), written.count);
    EXPECT_EQ(queue.counters().rx_bad_entry, unsound);
    EXPECT_EQ(queue.counters().tx_pkts, written.count - unsound);
    EXPECT_EQ(engine.seen.size(), written.count - unsound);
    EXPECT_TRUE(queue.counters().Conserved());
  }
}

TEST(BilateralRow, IsTheLongestMultipleOfEight) {
  const swap::Geometry geometry;
  const uint32_t data = 64 + 4 * geometry.max_frames;
  LinkPair link(geometry);
  const swap::Region region = link.memory().region(0);
  const HeldRegion held{region.base, region.entries(),     40, geometry.max_frames,
                        data,        geometry.region_bytes};
  for (uint32_t other = 0; other < 41; ++other) {
    for (uint32_t i = 0; i < 40; ++i) held.entries[i] = swap::MakeEntry(data + 64 * i, 60);
    if (other < 40) held.entries[other] = swap::MakeEntry(data + 64 * other, 61);
    EXPECT_EQ(RegionRow::Find(held).frames, other < 2 ? 0 : other / 8 * 8) << other;
  }
}

}  // namespace
}  // namespace sluice::nic
