// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the bilateral queue on a link; the test acts as the NIC's end. Every frame that the NIC
// places in a region must have exactly one outcome, even if the NIC's entries are invalid.
#include "nic/bilateral.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "contracts.h"
#include "frames.h"
#include "link_pair.h"

namespace sluice::nic {
namespace {

using namespace nic_test;
using packet::Frame;
using packet::Verdict;
using GivenRegion = LinkPair::GivenRegion;
using Queue = BilateralQueue<LinkPair>;

class Bilateral : public testing::Test, public ByContract {};
INSTANTIATE_TEST_SUITE_P(Contracts, Bilateral, kContracts, NameOf);

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
        frame.data -= 4;
        frame.length += 4;
        frame.data[0] = 0x77;
        break;  // Uses headroom.
      case 4:
        frame.length -= 10;
        break;
      case 5:
        frame.length += frame.tailroom;
        break;
      case 6:
        frame.length += frame.tailroom + 1;
        break;  // Exceeds the tailroom.
      case 7:
        frame.data -= frame.headroom + 1;
        break;
      case 8:
        frame.length = 13;
        break;  // Shorter than an Ethernet header.
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

TEST_P(Bilateral, TheFirstRegionIsGivenAwayForOneWithFrames) {
  LinkPair link;
  Queue queue(link);
  Pass engine;
  EXPECT_EQ(link.given_regions, (std::vector<GivenRegion>{{0, true}}));
  EXPECT_EQ(Poll(queue, engine), 0u) << "the NIC has none yet";
  ASSERT_TRUE(link.Receive(Ipv4Frame(60)));
  EXPECT_EQ(Poll(queue, engine), 1u);
  EXPECT_EQ(link.given_regions.back(), (GivenRegion{1, false}))
      << "what is to be sent does not wait";
}

TEST_P(Bilateral, EveryKindOfFrameReturnsInOrder) {
  LinkPair link;
  Queue queue(link);
  Pass engine;
  Bytes unknown(77, 0x11);  // Unknown EtherType.
  const std::vector<Bytes> frames = {Ipv4Frame(60),   ArpFrame(),     Ipv4Frame(1514),
                                     Ipv6Frame(100),  VlanFrame(70),  unknown,
                                     Bytes(14, 0xff), Bytes(9000, 1), Ipv4Frame(1514)};
  for (const Bytes& frame : frames) ASSERT_TRUE(link.Receive(frame));
  EXPECT_EQ(Poll(queue, engine), frames.size());
  Poll(queue, engine);
  EXPECT_EQ(link.Send(), frames);
  EXPECT_EQ(queue.counters().rx_bytes, 60u + 42 + 1514 + 100 + 70 + 77 + 14 + 9000 + 1514);
  EXPECT_EQ(queue.counters().tx_bytes, queue.counters().rx_bytes);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Bilateral, RegionAfterRegionNothingIsLostOrTurnedAround) {
  LinkPair link;
  Queue queue(link);
  Pass engine;
  std::vector<Bytes> received, sent;
  for (uint32_t i = 0; i < 5000; ++i) {
    Bytes frame = Ipv4Frame(60 + i % 1400);
    PutBe16(frame, 42, i);
    while (!link.Receive(frame)) {  // The region is full because the host is slower than the NIC.
                                    // The NIC must not drop frames.
      Poll(queue, engine);
      for (Bytes& back : link.Send()) sent.push_back(std::move(back));
    }
    received.push_back(std::move(frame));
  }
  for (uint32_t quiet = 0; quiet < 20; ++quiet) {
    Poll(queue, engine);
    for (Bytes& back : link.Send()) sent.push_back(std::move(back));
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(queue.counters().tx_pkts, 5000u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Bilateral, EveryEndingIsCountedAndHolesDoNotLeave) {
  swap::Geometry geometry;
  geometry.headroom_bytes = 64;
  LinkPair link(geometry);
  Queue queue(link);
  ByFirstByte engine;
  for (uint8_t order = 0; order < 9; ++order) ASSERT_TRUE(link.Receive(Ordered(order, 100)));
  EXPECT_EQ(Poll(queue, engine), 9u);
  Poll(queue, engine);
  const QueueCounters& counters = queue.counters();
  EXPECT_EQ(counters.rx_pkts, 9u);
  EXPECT_EQ(counters.rx_bytes, 900u);
  EXPECT_EQ(counters.consumed_pkts, 1u);
  EXPECT_EQ(counters.engine_drops[4], 1u);
  EXPECT_EQ(counters.tx_unframeable, 3u) << "frames outside the room they had";
  EXPECT_EQ(counters.tx_pkts, 4u);
  EXPECT_EQ(counters.tx_bytes, 100u + 104 + 90 + 128) << "slots end at multiples of 64";
  EXPECT_TRUE(counters.Conserved());
  const std::vector<Bytes> sent = link.Send();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_EQ(sent[0], Ordered(0, 100));
  EXPECT_EQ(sent[1].size(), 104u);
  EXPECT_EQ(sent[1][0], 0x77);
  EXPECT_EQ(sent[1][4], 3);
  EXPECT_EQ(sent[2].size(), 90u);
  EXPECT_EQ(sent[3].size(), 128u);
  EXPECT_EQ(link.nic().bad_entries(), 0u);
}

TEST_P(Bilateral, ARegionWithoutAFrameToSendWaitsForFrames) {
  LinkPair link;
  Queue queue(link);
  ByFirstByte engine;
  for (uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(link.Receive(Ordered(1 + i % 2, 60)));
  EXPECT_EQ(Poll(queue, engine), 20u);
  EXPECT_EQ(link.given_regions.back(), (GivenRegion{0, true}));
  EXPECT_EQ(Poll(queue, engine), 0u);
  EXPECT_FALSE(link.nic().Sending());
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Bilateral, ANicThatLiesAboutFramesCostsThoseFramesAlone) {
  swap::Geometry geometry;
  geometry.headroom_bytes = 256;
  LinkPair link(geometry);
  Queue queue(link);
  ByFirstByte engine;
  const uint32_t bytes = geometry.region_bytes;
  const uint32_t data = 64 + 4 * geometry.max_frames;
  const swap::Entry lies[] = {0,                            // An empty entry.
                              swap::MakeEntry(data, 13),    // Shorter than an Ethernet header.
                              swap::MakeEntry(data, 9729),  // Longer than any frame.
                              swap::MakeEntry(data, 16383),
                              swap::MakeEntry(data - 1, 100),    // Overlaps the entries.
                              swap::MakeEntry(0, 100),           // Inside the header.
                              swap::MakeEntry(bytes - 99, 100),  // Ends one byte too late.
                              swap::MakeEntry(swap::kMaxRegionBytes - 1, 9728)};
  // Valid frames at the edges of the region, where there is less space than a slot.
  const swap::Entry edges[] = {swap::MakeEntry(data, 100), swap::MakeEntry(data + 3, 14),
                               swap::MakeEntry(bytes - 100, 100)};
  for (uint32_t i = 0; i < std::size(lies) + std::size(edges); ++i) {
    ASSERT_TRUE(link.Receive(Ordered(0, 60)));
  }
  ASSERT_TRUE(link.Receive(Ordered(0, 61)));
  // The NIC keeps the free regions on a stack and fills the last region first.
  const swap::Region region = link.memory().region(geometry.regions - 1);
  ASSERT_EQ(region.header().count, std::size(lies) + std::size(edges) + 1);
  std::copy(std::begin(lies), std::end(lies), region.entries());
  std::copy(std::begin(edges), std::end(edges), region.entries() + std::size(lies));
  region.base[data] = 7;  // The engine uses all headroom and one more byte.
  EXPECT_EQ(Poll(queue, engine), std::size(lies) + std::size(edges) + 1);
  Poll(queue, engine);
  EXPECT_EQ(queue.counters().rx_bad_entry, std::size(lies));
  EXPECT_EQ(queue.counters().tx_unframeable, 1u);
  EXPECT_EQ(queue.counters().tx_pkts, std::size(edges));
  EXPECT_TRUE(queue.counters().Conserved());
  EXPECT_EQ(link.Send().back(), Ordered(0, 61));
  EXPECT_EQ(link.nic().bad_entries(), 0u) << "the host does not hand them back";
}

TEST(Entries, ManyAreSoundIfEachIs) {
  const swap::Geometry geometry;
  const uint32_t data = 64 + 4 * geometry.max_frames, bytes = geometry.region_bytes;
  for (const uint32_t offset : {0u, 63u, data - 1, data, data + 1, bytes - 9729, bytes - 9728,
                                bytes - 100, bytes - 99, bytes - 14, bytes - 13, bytes - 1}) {
    for (const uint32_t length : {0u, 1u, 13u, 14u, 99u, 100u, 9728u, 9729u, 16383u}) {
      const swap::Entry entry = swap::MakeEntry(offset, length);
      const bool sound =
          length >= 14 && length <= 9728 && offset >= data && offset + length <= bytes;
      EXPECT_EQ(swap::EntryIsSound(entry, geometry), sound) << offset << " " << length;
      for (const size_t place : {0u, 7u, 8u, 20u}) {
        std::vector<swap::Entry> entries(21, swap::MakeEntry(data, 60));
        entries[place] = entry;
        EXPECT_EQ(swap::EntriesAreSound(entries, geometry), sound) << offset << " " << length;
      }
    }
  }
}

// Records the headroom and tailroom of each frame.
struct RoomSeen final : packet::Engine {
  Verdict Process(Frame& frame, uint64_t) {
    seen.emplace_back(frame.headroom, frame.tailroom);
    return packet::kForward;
  }
  std::vector<std::pair<uint32_t, uint32_t>> seen;
};

TEST_P(Bilateral, AnEngineIsToldOfNoRoomThatReachesIntoTheEntries) {
  swap::Geometry geometry;
  geometry.headroom_bytes = 128;
  LinkPair link(geometry);
  Queue queue(link);
  const uint32_t data = 64 + 4 * geometry.max_frames;  // The header and the entries.
  const struct {
    uint32_t offset, length, headroom, tailroom;
  } kCases[] = {{data + 128, 64, 128, 0},  // The layout that an honest NIC uses.
                {data + 128, 60, 128, 4},
                {data + 127, 60, 127, 5},
                {data + 192, 65, 128, 63},
                {data + 64, 64, 64, 0},
                {data + 1, 62, 1, 1},
                {data, 64, 0, 0},  // Directly after the entries.
                {geometry.region_bytes - 64, 14, 128, 50}};
  std::vector<std::pair<uint32_t, uint32_t>> expected;
  for (const auto& c : kCases) {
    ASSERT_TRUE(link.Receive(Ipv4Frame(60)));
    expected.emplace_back(c.headroom, c.tailroom);
  }
  // The NIC keeps the free regions on a stack and fills the last region first.
  const swap::Region region = link.memory().region(geometry.regions - 1);
  swap::Entry* entry = region.entries();
  for (const auto& c : kCases) *entry++ = swap::MakeEntry(c.offset, c.length);
  RoomSeen engine;
  EXPECT_EQ(Poll(queue, engine), std::size(kCases));
  EXPECT_EQ(engine.seen, expected);
}

TEST_P(Bilateral, AtTheEndItWaitsForTheNicToTakeTheLastFrames) {
  LinkPair link;
  Queue queue(link);
  Pass engine;
  ASSERT_TRUE(link.Receive(Ipv4Frame(60)));
  EXPECT_EQ(Poll(queue, engine), 1u);
  queue.Drain();
  EXPECT_EQ(link.Send().size(), 1u);
  EXPECT_EQ(queue.counters().tx_pkts, 1u);
  EXPECT_EQ(link.host().counters().rejected, 0u);
}

TEST_P(Bilateral, FramesThatComeBackAtTheEndWereNotSent) {
  LinkPair link;
  Queue queue(link);
  Pass engine;
  for (uint32_t i = 0; i < 7; ++i) ASSERT_TRUE(link.Receive(Ipv4Frame(60)));
  EXPECT_EQ(Poll(queue, engine), 7u);
  link.answers = false;  // The NIC does not answer until the host cancels.
  queue.Drain();
  EXPECT_EQ(link.host().counters().rejected, 1u);
  EXPECT_TRUE(link.Send().empty());
  EXPECT_EQ(queue.counters().tx_pkts, 0u);
  EXPECT_EQ(queue.counters().tx_bytes, 0u);
  EXPECT_EQ(queue.counters().tx_full, 7u);
  EXPECT_TRUE(queue.counters().Conserved());
  queue.Drain();
  EXPECT_EQ(queue.counters().tx_full, 7u) << "counted once";
}

TEST_P(Bilateral, ANicThatNeverAnswersDoesNotHoldUpTheEnd) {
  LinkPair link;
  link.answers_cancel = false;
  Queue queue(link);
  Pass engine;
  ASSERT_TRUE(link.Receive(Ipv4Frame(60)));
  EXPECT_EQ(Poll(queue, engine), 1u);
  link.answers = false;
  queue.Drain();
  EXPECT_EQ(queue.counters().tx_full, 1u);
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Bilateral, AnOfferThatTheNicRefusesWasNotSentAndTheLinkGoesOn) {
  LinkPair link;
  Queue queue(link);
  Pass engine;
  ASSERT_TRUE(link.Receive(Ipv4Frame(60)));
  EXPECT_EQ(Poll(queue, engine), 1u);
  link.Cancel();
  EXPECT_EQ(Poll(queue, engine), 0u);
  EXPECT_EQ(queue.counters().tx_full, 1u);
  EXPECT_EQ(link.given_regions.back(), (GivenRegion{0, true}));
  ASSERT_TRUE(link.Receive(Ipv4Frame(70)));
  EXPECT_EQ(Poll(queue, engine), 1u);
  Poll(queue, engine);
  EXPECT_EQ(link.Send(), std::vector<Bytes>{Ipv4Frame(70)});
  EXPECT_TRUE(queue.counters().Conserved());
}

TEST_P(Bilateral, ATapSeesFramesAsTheyComeAndAsTheyLeave) {
  LinkPair link;
  Queue queue(link);
  std::vector<std::pair<TapDirection, Bytes>> seen;
  queue.set_tap({[](void* context, TapDirection direction, const uint8_t* frame, uint32_t length) {
                   static_cast<decltype(seen)*>(context)->emplace_back(
                       direction, Bytes(frame, frame + length));
                 },
                 &seen});
  ByFirstByte engine;
  ASSERT_TRUE(link.Receive(Ordered(1, 60)));
  ASSERT_TRUE(link.Receive(Ordered(4, 90)));
  EXPECT_EQ(Poll(queue, engine), 2u);
  Bytes shorter = Ordered(4, 90);
  shorter.resize(80);
  EXPECT_EQ(seen, (decltype(seen){{TapDirection::kReceived, Ordered(1, 60)},
                                  {TapDirection::kReceived, Ordered(4, 90)},
                                  {TapDirection::kSent, shorter}}));
}

}  // namespace
}  // namespace sluice::nic
