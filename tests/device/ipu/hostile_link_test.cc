// SPDX-License-Identifier: BSD-3-Clause
//
// Tests hosts with invalid links. For any memory contents, the device must not crash or access a
// byte outside the memory (the sanitizers check this), and must count every rejection.
#include <gtest/gtest.h>

#include <random>

#include "link_host.h"

namespace sluice::device::ipu::test {
namespace {

using swap::LinkHeader;
using swap::Message;
using swap::Phase;

/// Posts the host's line with this offer, as the transaction that the NIC expects next.
void Offer(LinkHost& host, uint32_t region, uint32_t frames) {
  auto& header = *reinterpret_cast<LinkHeader*>(host.Memory(0).data());
  bar::Line line;
  bar::ReadLine(header.nic_line, line);
  const Message nic = swap::Decode(line);
  bar::ReadLine(header.host_line, line);
  Message message = swap::Decode(line);
  message.txid = nic.txid + 1;
  message.phase = Phase::kOffer;
  message.flags = swap::kStanding;
  message.key = swap::kAnyRegion;
  message.payload = {swap::Given{region, frames}.Word()};
  bar::PublishLine(header.host_line, swap::Encode(message));
}

TEST(IpuHostileLink, OffersOfRegionsThatAreNotTheHostsAreRejectedAndCounted) {
  LinkHost host;
  host.StartLink(kSmallLink);
  uint64_t faults = 0;
  for (const uint32_t region : {1u, 2u, 3u, 63u, 64u, ~0u}) {
    Offer(host, region, 1);
    host.nic.Transmit(host.sink, 64);
    EXPECT_EQ(host.Stat(kStatLinkFaults), ++faults) << region;
  }
  EXPECT_EQ(host.Stat(kStatLinkSwaps), 0u);
  Offer(host, 0, 0);
  host.nic.Transmit(host.sink, 64);
  EXPECT_EQ(host.Stat(kStatLinkSwaps), 1u) << "an honest offer still works";
}

TEST(IpuHostileLink, MoreFramesThanARegionHasEntriesAreCutToThem) {
  LinkHost host;
  host.StartLink(kSmallLink);
  std::memset(host.links[0]->region().entries(), 0xff, kSmallLink.max_frames * 4);
  Offer(host, 0, ~0u);
  host.nic.Transmit(host.sink, 64);
  host.nic.Transmit(host.sink, 64);
  EXPECT_EQ(host.Stat(kStatLinkBadEntry), kSmallLink.max_frames);
  EXPECT_TRUE(host.sink.frames.empty());
}

TEST(IpuHostileLink, ATransactionOutOfOrderStopsTheLinkAndIsCountedOnce) {
  LinkHost host;
  host.StartLink(kSmallLink);
  host.Receive(PlainFrame(60));
  auto& header = *reinterpret_cast<LinkHeader*>(host.Memory(0).data());
  bar::Line line;
  bar::ReadLine(header.host_line, line);
  Message message = swap::Decode(line);
  message.txid += 7;
  message.phase = Phase::kOffer;
  bar::PublishLine(header.host_line, swap::Encode(message));
  for (int i = 0; i < 600; ++i) host.nic.Transmit(host.sink, 64);
  EXPECT_EQ(host.Stat(kStatLinkFaults), 1u);
  EXPECT_EQ(host.Stat(kStatLinkSwaps), 0u);
}

TEST(IpuHostileLink, AnOwnersWordThatIsNotOneRegionIsRefused) {
  for (const uint64_t owners :
       {uint64_t{0}, uint64_t{3}, uint64_t{1} << 3, uint64_t{1} << 63, ~uint64_t{0}}) {
    LinkHost host;
    swap::LinkMemory::Format(host.Memory(0), kSmallLink).RecordOwners(owners);
    EXPECT_EQ(host.EnableLink(0, 1), 0u) << owners;
    EXPECT_EQ(host.Stat(kStatLinkFaults), 1u);
  }
}

TEST(IpuHostileLink, GeometriesThatDoNotFitAreRefused) {
  const auto try_geometry = [](const swap::Geometry& geometry) {
    LinkHost host;
    swap::LinkMemory::Format(host.Memory(0), kSmallLink);
    reinterpret_cast<LinkHeader*>(host.Memory(0).data())->geometry = geometry;
    return host.EnableLink(0, 1);
  };
  EXPECT_EQ(try_geometry({3, 16384, 16, 0}), 1u);
  EXPECT_EQ(try_geometry({2, 16384, 16, 0}), 0u);
  EXPECT_EQ(try_geometry({65, 4096, 16, 0}), 0u);
  EXPECT_EQ(try_geometry({~0u, 4096, 16, 0}), 0u);
  EXPECT_EQ(try_geometry({3, 0, 16, 0}), 0u);
  EXPECT_EQ(try_geometry({3, 16385, 16, 0}), 0u);
  EXPECT_EQ(try_geometry({3, 1u << 31, 16, 0}), 0u);
  EXPECT_EQ(try_geometry({3, 16384, 0, 0}), 0u);
  EXPECT_EQ(try_geometry({3, 16384, 0xffff'fff0, 0}), 0u);
  EXPECT_EQ(try_geometry({3, 16384, 16, 32}), 0u);
  EXPECT_EQ(try_geometry({3, 16384, 16, 0xffff'ffc0}), 0u);
  EXPECT_EQ(try_geometry({64, 16384, 16, 0}), 0u) << "more than the memory holds";
}

/// Overwrites a valid link with random words, both before it is re-enabled and while it runs.
TEST(IpuHostileLink, RandomMemoryDoesNoHarm) {
  std::mt19937_64 random(20262);
  LinkHost host;
  uint64_t enabled = 0;
  for (int round = 0; round < 500; ++round) {
    const swap::Geometry geometry{static_cast<uint32_t>(3 + random() % 3), 4096u << random() % 3,
                                  static_cast<uint32_t>(16 + random() % 4 * 16),
                                  static_cast<uint32_t>(random() % 3 * 64)};
    std::memset(host.Memory(0).data(), 0, swap::LinkMemory::BytesFor(geometry));
    host.StartLink(geometry);
    const swap::LinkMemory link = swap::LinkMemory::Find(host.Memory(0));
    const auto spoil = [&] {
      const auto id = static_cast<uint32_t>(random() % geometry.regions);
      const swap::Region region = link.region(id);
      const uint64_t word = random() % 3 == 0 ? random() : random() % 40;
      switch (random() % 16) {
        case 0:
          reinterpret_cast<uint64_t*>(&link.header())[random() % 64] = word;
          break;
        case 1:
        case 2:
          region.header() = {static_cast<swap::RegionKind>(random() % 4),
                             static_cast<uint32_t>(word), static_cast<uint32_t>(random() % 20), 0,
                             random()};
          break;
        case 3:
        case 4:
          region.entries()[random() % geometry.max_frames] = static_cast<uint32_t>(random());
          break;
        default:
          Offer(host, id, static_cast<uint32_t>(word));
      }
    };
    for (int i = 0; i < 60; ++i) {
      spoil();
      if (random() % 16 == 0) enabled += host.EnableLink(0, host.links[0]->epoch());
      host.Receive(PlainFrame(static_cast<uint32_t>(random() % 3000)), random() % 2 != 0);
      host.nic.Transmit(host.sink, 1 + static_cast<uint32_t>(random() % 64));
    }
    for (const std::string& frame : host.sink.frames) ASSERT_LE(frame.size(), kMaxFrameBytes);
    host.sink.frames.clear();
  }
  EXPECT_GT(enabled, 500u) << "the walk must get past the door";
  EXPECT_GT(host.Stat(kStatLinkSwaps), 500u) << "and inside";
  EXPECT_GT(host.Stat(kStatTxFrames), 500u);
  EXPECT_GT(host.Stat(kStatLinkBadEntry), 500u);
  EXPECT_GT(host.Stat(kStatLinkFaults), 500u);
}

}  // namespace
}  // namespace sluice::device::ipu::test
