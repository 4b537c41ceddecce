// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how a backend is chosen if not by the ring alone: server ids in QUIC connection ids,
// sources that select a backend, and VIPs that are prefixes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "balancer_lab.h"
#include "engine/maglev/balancer.h"
#include "maglev_frames.h"

namespace sluice::engine::maglev {
namespace {

using packet::kForward;
using packet::kPass;
using test::Bytes;
using test::kAck;
using test::kSyn;
using test::Lab;
using test::SetupOf;
using test::TcpFrame;
using test::TcpSetup;
using test::UdpFrame;

/// Returns a frame with a QUIC short header. Its connection id has version 1: 01 and 16 bits of
/// server id (docs/maglev-peers.md, "Katran: QUIC").
Bytes QuicFrame(uint32_t flow, uint16_t server) {
  Bytes frame = UdpFrame(flow);
  const Bytes header{0x40, static_cast<uint8_t>(0x40 | server >> 10),
                     static_cast<uint8_t>(server >> 2), static_cast<uint8_t>(server << 6)};
  std::copy(header.begin(), header.end(), frame.begin() + 42);
  return frame;
}

/// Returns a setup in which backend 10.0.0.i has server id i.
maglev::Setup QuicSetup(uint32_t backends) {
  maglev::Setup setup = SetupOf(backends);
  setup.vips[0].quic = true;
  for (uint32_t i = 0; i < backends; ++i) setup.vips[0].backends[i].quic_ids = {i + 1};
  return setup;
}

TEST(QuicFlows, StayWithTheServerThatAnIdNamedLast) {
  Lab lab(QuicSetup(4));
  for (uint32_t flow = 0; flow < 32; ++flow) {
    if (flow % 2 == 0) lab.BackendOf(UdpFrame(flow));  // Records the flow first.
    for (const uint16_t server : {3, 1, 2}) {
      const std::string named = "10.0.0." + std::to_string(server);
      EXPECT_EQ(lab.BackendOf(QuicFrame(flow, server)), named);
      EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), named) << "no id that says whose";
    }
  }
}

TEST(QuicFlows, AreKeptByPacketsWithAnId) {
  Lab lab(QuicSetup(4));
  const maglev::Setup setup = QuicSetup(4);
  std::map<uint32_t, std::string> ring;
  for (uint32_t flow = 0; flow < 32; ++flow) {
    ring[flow] = Lab(setup).BackendOf(UdpFrame(flow));
    lab.BackendOf(QuicFrame(flow, 4));
  }
  for (int i = 0; i < 3; ++i) {
    lab.Wait(setup.timeouts.udp_s);
    for (uint32_t flow = 0; flow < 32; ++flow) lab.BackendOf(QuicFrame(flow, 4));
  }
  lab.Wait(setup.timeouts.udp_s);
  for (uint32_t flow = 0; flow < 32; ++flow) EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), "10.0.0.4");
  lab.Wait(setup.timeouts.udp_s + 1);
  for (uint32_t flow = 0; flow < 32; ++flow) EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), ring[flow]);
}

// docs/maglev-peers.md, "Katran: QUIC": an id changes the backend of an entry in the connection
// table but does not refresh the entry.
TEST(QuicFlows, OfKatranAreKeptByPacketsWithoutAnIdAlone) {
  maglev::Setup setup = QuicSetup(4);
  setup.profile = Profile::kKatran;
  Lab lab(setup);
  for (uint32_t flow = 0; flow < 32; ++flow) {
    const std::string by_ring = Lab(setup).BackendOf(UdpFrame(flow));
    EXPECT_EQ(lab.BackendOf(QuicFrame(flow, 4)), "10.0.0.4");
    EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), by_ring) << "nothing was known of the flow";
    lab.Wait(setup.timeouts.udp_s);
    EXPECT_EQ(lab.BackendOf(QuicFrame(flow, 4)), "10.0.0.4");
    EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), "10.0.0.4");
    lab.Wait(setup.timeouts.udp_s);
    EXPECT_EQ(lab.BackendOf(QuicFrame(flow, 4)), "10.0.0.4");
    lab.Wait(1);
    EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), by_ring);
  }
}

TEST(QuicFlows, AreNotRecordedWhereNothingIs) {
  maglev::Setup no_table = QuicSetup(4), flooded = QuicSetup(4);
  no_table.vips[0].connections = false;
  flooded.flood_rate = 1;
  for (const maglev::Setup& setup : {no_table, flooded}) {
    Lab lab(setup);
    lab.BackendOf(UdpFrame(100));  // This uses up the quota of new flows per second.
    for (uint32_t flow = 0; flow < 32; ++flow) {
      EXPECT_EQ(lab.BackendOf(QuicFrame(flow, 4)), "10.0.0.4");
      EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), Lab(QuicSetup(4)).BackendOf(UdpFrame(flow)));
    }
  }
}

TEST(QuicFlows, AServerMayHaveSeveralIds) {
  maglev::Setup setup = SetupOf(2);
  setup.vips[0].quic = true;
  setup.vips[0].backends[0].quic_ids = {1, 1000, 7};
  setup.vips[0].backends[1].quic_ids = {999, 2};
  Lab lab(setup);
  for (const auto& [id, address] : std::map<uint16_t, std::string>{{1, "10.0.0.1"},
                                                                   {1000, "10.0.0.1"},
                                                                   {7, "10.0.0.1"},
                                                                   {999, "10.0.0.2"},
                                                                   {2, "10.0.0.2"}}) {
    EXPECT_EQ(lab.BackendOf(QuicFrame(5, id)), address) << id;
  }
  EXPECT_EQ(lab.Count(BalancerCounters::kQuicServer), 5u);
}

/// Flow number 16 a + b comes from 11.0.0.a, and flow number 4096 + 16 a + b from 11.0.1.a.
/// 11.0.0/24 belongs to 10.0.0.2, except 11.0.0.7, which belongs to 10.0.0.3.
maglev::Setup SourcesSetup(maglev::Setup setup) {
  setup.vips[0].sources = {{*IpPrefix::Parse("11.0.0.0/24"), "10.0.0.2"},
                           {*IpPrefix::Parse("11.0.0.7"), "10.0.0.3"}};
  return setup;
}

constexpr uint32_t kOfPrefix = 16 * 200, kOfHost = 16 * 7, kOfNobody = 4096;

TEST(Sources, NameTheBackendOfNewFlows) {
  for (const bool connections : {true, false}) {
    maglev::Setup setup = SourcesSetup(SetupOf(8));
    setup.vips[0].connections = connections;
    Lab lab(setup), ring(SetupOf(8));
    for (uint32_t i = 0; i < 16; ++i) {
      for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(lab.BackendOf(UdpFrame(kOfPrefix + i)), "10.0.0.2");
        EXPECT_EQ(lab.BackendOf(UdpFrame(kOfHost + i)), "10.0.0.3");
        EXPECT_EQ(lab.BackendOf(UdpFrame(kOfNobody + i)), ring.BackendOf(UdpFrame(kOfNobody + i)));
      }
    }
    EXPECT_EQ(lab.Count(BalancerCounters::kBySource), connections ? 32u : 64u);
    EXPECT_EQ(lab.Count(BalancerCounters::kNew), connections ? 48u : 0u);
  }
}

TEST(Sources, LeaveKnownFlowsWhereTheyAre) {
  Lab lab(SetupOf(8));
  std::map<uint32_t, std::string> before;
  for (uint32_t i = 0; i < 16; ++i) before[i] = lab.BackendOf(UdpFrame(kOfPrefix + i));
  lab.Apply(SourcesSetup(SetupOf(8)));
  for (const auto& [i, backend] : before) {
    EXPECT_EQ(lab.BackendOf(UdpFrame(kOfPrefix + i)), backend);
  }
  EXPECT_EQ(lab.BackendOf(UdpFrame(kOfPrefix + 16)), "10.0.0.2");
}

TEST(Sources, NameABackendWithoutWeightButNoneThatTakesNoNewFlows) {
  const auto backend_of = [](uint32_t weight, BackendState state) {
    maglev::Setup setup = SourcesSetup(SetupOf(8));
    setup.vips[0].backends[1].weight = weight;
    setup.vips[0].backends[1].state = state;
    return Lab(setup).BackendOf(UdpFrame(kOfPrefix));
  };
  EXPECT_EQ(backend_of(0, BackendState::kUp), "10.0.0.2");
  maglev::Setup without = SetupOf(8);
  without.vips[0].backends.erase(without.vips[0].backends.begin() + 1);
  const std::string by_ring = Lab(without).BackendOf(UdpFrame(kOfPrefix));
  EXPECT_EQ(backend_of(1, BackendState::kDraining), by_ring);
  EXPECT_EQ(backend_of(1, BackendState::kDown), by_ring);
}

// For Katran, see docs/maglev-peers.md, "Katran: the path of a packet". The other profile sends all
// packets of an unrecorded flow to the same backend, even if the limit on new flows per second is
// exceeded.
TEST(Sources, CountInAFloodExceptInKatran) {
  for (const Profile profile : {Profile::kSluice, Profile::kKatran}) {
    maglev::Setup setup = SourcesSetup(SetupOf(8));
    setup.profile = profile;
    setup.flood_rate = 1;
    maglev::Setup ring_alone = SetupOf(8);
    ring_alone.profile = profile;
    Lab lab(setup), ring(ring_alone);
    EXPECT_EQ(lab.BackendOf(UdpFrame(kOfPrefix)), "10.0.0.2") << "the first of this second";
    for (uint32_t i = 1; i < 16; ++i) {
      const Bytes frame = UdpFrame(kOfPrefix + i);
      EXPECT_EQ(lab.BackendOf(frame),
                profile == Profile::kKatran ? ring.BackendOf(frame) : "10.0.0.2");
    }
    EXPECT_EQ(lab.Count(BalancerCounters::kFlood), 15u);
  }
}

// Katran's profile treats a SYN of a known flow like the first packet of a new flow.
TEST(Sources, DecideAboutASynOfKatransAgain) {
  maglev::Setup setup = TcpSetup(8);
  setup.profile = Profile::kKatran;
  Lab lab(setup);
  lab.BackendOf(TcpFrame(kOfPrefix, kSyn));
  lab.Apply(SourcesSetup(setup));
  EXPECT_EQ(lab.BackendOf(TcpFrame(kOfPrefix, kSyn)), "10.0.0.2");
  EXPECT_EQ(lab.BackendOf(TcpFrame(kOfPrefix, kAck)), "10.0.0.2");
}

TEST(Prefixes, EveryAddressHasConnectionsOfItsOwn) {
  maglev::Setup setup = SetupOf(8);
  setup.vips[0].address = *IpAddress::Parse("198.51.100.0");
  setup.vips[0].host_bits = 8;
  Lab lab(setup);
  const auto frame_to = [](uint8_t address) {
    Bytes frame = UdpFrame(1);
    frame[33] = address;
    test::SetFlow(frame.data(), 1);
    return frame;
  };
  std::map<uint8_t, std::string> before;
  for (const uint8_t address : {0, 1, 2, 3, 127, 128, 255}) {
    before[address] = lab.BackendOf(frame_to(address));
    EXPECT_NE(before[address], "");
  }
  EXPECT_EQ(lab.Count(BalancerCounters::kNew), before.size());
  maglev::Setup larger = SetupOf(200);
  larger.vips[0].address = setup.vips[0].address;
  larger.vips[0].host_bits = 8;
  lab.Apply(larger);
  for (const auto& [address, backend] : before) {
    EXPECT_EQ(lab.BackendOf(frame_to(address)), backend) << int{address};
  }
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), before.size());
  Bytes outside = UdpFrame(1);
  outside[32] = 101;
  test::SetFlow(outside.data(), 1);
  EXPECT_EQ(lab.Send(outside), kPass);
}

}  // namespace
}  // namespace sluice::engine::maglev
