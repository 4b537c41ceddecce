// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the balancer from an operator's point of view: the backend of each flow before and after a
// change to the pool, and packets that cannot be delivered. plain_path_test.cc tests the packets of
// settled connections, and frames_test.py tests all kinds of frames with scapy and tshark.
#include "engine/maglev/balancer.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "balancer_lab.h"
#include "maglev_frames.h"
#include "packet/parse.h"

namespace sluice::engine::maglev::test {
namespace {

using packet::Drop;
using packet::kForward;
using packet::kPass;

std::map<uint32_t, std::string> Assign(Lab& lab, uint32_t flows) {
  std::map<uint32_t, std::string> assigned;
  for (uint32_t flow = 0; flow < flows; ++flow) assigned[flow] = lab.BackendOf(UdpFrame(flow));
  return assigned;
}

TEST(Balancer, EveryPacketOfAFlowGoesToOneBackendAndAllBackendsGetFlows) {
  Lab lab(SetupOf(10));
  const auto first = Assign(lab, 2000);
  EXPECT_EQ(Assign(lab, 2000), first);
  std::map<std::string, int> shares;
  for (const auto& [flow, backend] : first) ++shares[backend];
  EXPECT_EQ(shares.size(), 10u);
  for (const auto& [backend, count] : shares) EXPECT_NEAR(count, 200, 80) << backend;
  EXPECT_EQ(lab.Count(BalancerCounters::kNew), 2000u);
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), 2000u);
}

TEST(Balancer, BalancersThatShareNothingAgree) {
  Lab one(SetupOf(20), 1), other(SetupOf(20), 2);
  EXPECT_EQ(Assign(one, 500), Assign(other, 500));
}

TEST(Balancer, AnAddedBackendTakesNoFlowThatIsKnown) {
  Lab lab(SetupOf(10));
  const auto before = Assign(lab, 1000);
  lab.Apply(SetupOf(11));
  EXPECT_EQ(lab.balancer().epoch(), 2u);
  EXPECT_EQ(Assign(lab, 1000), before);
  std::set<std::string> fresh;
  for (uint32_t flow = 1000; flow < 2000; ++flow) fresh.insert(lab.BackendOf(UdpFrame(flow)));
  EXPECT_TRUE(fresh.contains("10.0.0.11"));
}

TEST(Balancer, FlowsOfARemovedBackendMoveAtOnceAndTheOthersStay) {
  Lab lab(SetupOf(10));
  const auto before = Assign(lab, 1000);
  maglev::Setup setup = SetupOf(10);
  setup.vips[0].backends.erase(setup.vips[0].backends.begin() + 3);
  lab.Apply(setup);
  uint32_t moved = 0;
  for (const auto& [flow, backend] : Assign(lab, 1000)) {
    if (before.at(flow) == "10.0.0.4") {
      EXPECT_NE(backend, "10.0.0.4");
      ++moved;
    } else {
      EXPECT_EQ(backend, before.at(flow));
    }
  }
  EXPECT_GT(moved, 0u);
  EXPECT_EQ(lab.Count(BalancerCounters::kMoved), moved);
}

TEST(Balancer, ADrainingBackendKeepsItsFlowsUntilTheyAreIdleAndGetsNoNewOnes) {
  Lab lab(SetupOf(4));
  const auto before = Assign(lab, 400);
  maglev::Setup setup = SetupOf(4);
  setup.vips[0].backends[0].state = BackendState::kDraining;
  lab.Apply(setup);
  EXPECT_EQ(Assign(lab, 400), before);
  for (uint32_t flow = 400; flow < 800; ++flow) {
    EXPECT_NE(lab.BackendOf(UdpFrame(flow)), "10.0.0.1");
  }
  lab.Wait(setup.timeouts.udp_s + 1);
  for (const auto& [flow, backend] : Assign(lab, 400)) EXPECT_NE(backend, "10.0.0.1");
}

TEST(Balancer, ADownBackendThatComesBackDoesNotGetItsOldFlowsBack) {
  Lab lab(SetupOf(4));
  Assign(lab, 400);
  maglev::Setup setup = SetupOf(4);
  setup.vips[0].backends[2].state = BackendState::kDown;
  lab.Apply(setup);
  const auto meanwhile = Assign(lab, 400);
  lab.Apply(SetupOf(4));
  EXPECT_EQ(Assign(lab, 400), meanwhile);
}

TEST(Balancer, AnIndexThatGotANewOwnerDoesNotInheritConnections) {
  Lab lab(SetupOf(4));
  const auto before = Assign(lab, 400);
  maglev::Setup setup = SetupOf(4);
  BackendSetup& replaced = setup.vips[0].backends[1];
  replaced.address = *IpAddress::Parse("10.9.9.9");
  replaced.name = "10.9.9.9";
  lab.Apply(setup);
  for (const auto& [flow, backend] : Assign(lab, 400)) {
    EXPECT_NE(backend, "10.0.0.2");
    if (before.at(flow) != "10.0.0.2") {
      EXPECT_EQ(backend, before.at(flow));
    }
  }
  EXPECT_GT(lab.Count(BalancerCounters::kMoved), 0u);
}

TEST(Balancer, WeightZeroIsDrained) {
  Lab lab(SetupOf(3));
  const auto before = Assign(lab, 300);
  maglev::Setup setup = SetupOf(3);
  setup.vips[0].backends[0].weight = 0;
  lab.Apply(setup);
  EXPECT_EQ(Assign(lab, 300), before);
  for (uint32_t flow = 300; flow < 600; ++flow) {
    EXPECT_NE(lab.BackendOf(UdpFrame(flow)), "10.0.0.1");
  }
}

TEST(Balancer, APoolWithoutBackendsDropsUnderItsCounter) {
  Lab empty(SetupOf(0));
  EXPECT_EQ(empty.Send(UdpFrame(1)), Drop(Balancer::kNoBackend));
  maglev::Setup setup = SetupOf(2);
  for (BackendSetup& backend : setup.vips[0].backends) backend.weight = 0;
  Lab weightless(setup);
  EXPECT_EQ(weightless.Send(UdpFrame(1)), Drop(Balancer::kNoBackend));
}

TEST(Balancer, AFloodOfSynsNeverTakesAnEstablishedFlow) {
  maglev::Setup setup = TcpSetup(8);
  setup.connections = 1024;
  Lab lab(setup);
  std::map<uint32_t, std::string> established;
  for (uint32_t flow = 0; flow < 256; ++flow) {
    lab.Send(TcpFrame(flow, kSyn));
    lab.WaitMs(10);
    established[flow] = lab.BackendOf(TcpFrame(flow, kAck));
  }
  for (uint32_t flow = 1000; flow < 1000 + 20 * 1024; ++flow) {
    EXPECT_EQ(lab.Send(TcpFrame(flow, kSyn)), kForward);
  }
  // Flows that are not in the table follow the ring. The two rings differ in one backend.
  maglev::Setup smaller = setup;
  smaller.vips[0].backends.push_back(SetupOf(9).vips[0].backends.back());
  lab.Apply(smaller);
  for (const auto& [flow, backend] : established) {
    EXPECT_EQ(lab.BackendOf(TcpFrame(flow, kAck)), backend);
  }
}

// Opens new connections while packets of unknown flows fill the table four times. Each of these
// packets lacks the SYN flag and is sent twice, back to back.
TEST(Balancer, AFloodWithoutSynMovesNoConnection) {
  for (const bool tcp : {true, false}) {
    const auto frame = [&](uint32_t flow, uint8_t flags) {
      return tcp ? TcpFrame(flow, flags) : UdpFrame(flow);
    };
    maglev::Setup setup = tcp ? TcpSetup(8) : SetupOf(8);
    setup.connections = 8192;
    Lab lab(setup);
    uint32_t flood = 1 << 20;
    const uint32_t flood_end = flood + 4 * lab.balancer().connections().capacity();
    const uint32_t between = (flood_end - flood) / 2000;
    std::map<uint32_t, std::string> genuine;
    for (uint32_t flow = 0; flow < 2000; ++flow) {
      lab.Send(frame(flow, kSyn));
      // A few other packets precede the second packet of a connection.
      for (uint32_t i = 0; i < between; ++i) {
        lab.Send(frame(flood, kAck));
        lab.Send(frame(flood++, kAck));
      }
      lab.WaitMs(10);
      genuine[flow] = lab.BackendOf(frame(flow, kAck));
    }
    while (flood < flood_end) lab.Send(frame(flood++, kAck));
    maglev::Setup larger = setup;
    larger.vips[0].backends = (tcp ? TcpSetup(16) : SetupOf(16)).vips[0].backends;
    lab.Apply(larger);
    uint32_t moved = 0;
    for (const auto& [flow, backend] : genuine)
      moved += lab.BackendOf(frame(flow, kAck)) != backend;
    EXPECT_EQ(moved, 0u) << (tcp ? "TCP" : "UDP");
  }
}

TEST(Balancer, AboveTheFloodRateNothingIsRecorded) {
  maglev::Setup setup = SetupOf(4);
  setup.flood_rate = 100;
  Lab lab(setup);
  Assign(lab, 150);
  EXPECT_EQ(lab.Count(BalancerCounters::kNew), 100u);
  EXPECT_EQ(lab.Count(BalancerCounters::kFlood), 50u);
  lab.Wait(1);
  Assign(lab, 150);
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), 100u);
  EXPECT_EQ(lab.Count(BalancerCounters::kNew), 150u);
}

TEST(Balancer, AResetIsForwardedAndItsFlowForgottenSoon) {
  Lab lab(TcpSetup(4));
  lab.Send(TcpFrame(1, kSyn));
  lab.WaitMs(10);
  lab.Send(TcpFrame(1, kAck));
  EXPECT_EQ(lab.Send(TcpFrame(1, kRst)), kForward);
  std::vector<uint32_t> counts(16);
  EXPECT_EQ(lab.balancer().connections().CountByBackend(counts, lab.balancer().seconds()), 1u);
  lab.Wait(Timeouts().tcp_closing_s + 1);
  EXPECT_EQ(lab.balancer().connections().CountByBackend(counts, lab.balancer().seconds()), 0u);
  EXPECT_EQ(lab.Send(TcpFrame(2, kRst)), kForward);
  EXPECT_EQ(lab.balancer().connections().CountByBackend(counts, lab.balancer().seconds()), 0u)
      << "an unknown flow that ends is not recorded";
}

TEST(Balancer, ASynThatReusesPortsOfAFlowOfADrainingBackendIsANewFlow) {
  Lab lab(TcpSetup(4));
  std::optional<uint32_t> flow;
  for (uint32_t i = 0; !flow; ++i) {
    if (lab.BackendOf(TcpFrame(i, kSyn)) == "10.0.0.3") flow = i;
  }
  lab.Send(TcpFrame(*flow, kAck));
  maglev::Setup setup = TcpSetup(4);
  setup.vips[0].backends[2].state = BackendState::kDraining;
  lab.Apply(setup);
  EXPECT_EQ(lab.BackendOf(TcpFrame(*flow, kAck)), "10.0.0.3");
  EXPECT_NE(lab.BackendOf(TcpFrame(*flow, kSyn)), "10.0.0.3");
}

TEST(Balancer, PassesWhatIsForNoVip) {
  Lab lab(SetupOf(2));
  Bytes frame = UdpFrame(1);
  frame[33] = 2;  // 198.51.100.2
  EXPECT_EQ(lab.Send(frame), kPass);
  Bytes arp(60);
  arp[12] = 0x08;
  arp[13] = 0x06;
  EXPECT_EQ(lab.Send(arp), kPass);
  Bytes port = UdpFrame(1);
  port[37] = 81;
  EXPECT_EQ(lab.Send(port), Drop(Balancer::kUnknownProtocol)) << "the VIP has no such service";
}

TEST(Balancer, KatransProfilePassesOnWhatAVipDoesNotServe) {
  maglev::Setup setup = SetupOf(2);
  setup.profile = Profile::kKatran;
  Lab lab(setup);
  Bytes port = UdpFrame(1);
  port[37] = 81;
  EXPECT_EQ(lab.Send(port), kPass);
}

TEST(Balancer, AFragmentThatIsTooLongOnceRedirectedIsRefused) {
  maglev::Setup setup = SetupOf(2);
  setup.balancers = {*IpAddress::Parse("192.0.2.1"), *IpAddress::Parse("192.0.2.2")};
  setup.own_address = setup.balancers[0];
  Lab lab(setup);
  uint32_t refused = 0;
  for (uint32_t flow = 0; flow < 16; ++flow) {
    Bytes later = UdpFrame(flow * 16);
    later.resize(14 + 1500);
    packet::StoreBe16(later.data() + 16, 1500);
    later[21] = 3;  // Offset 24.
    test::SetFlow(later.data(), flow * 16);
    refused += lab.Send(later) == Drop(Balancer::kTooLong);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(lab.Count(BalancerCounters::kRedirected), 0u);
}

TEST(Balancer, AFragmentIsRedirectedOnceToItsOwnerAndReachesTheBackendOfItsFlow) {
  maglev::Setup setup = SetupOf(8);
  setup.balancers = {*IpAddress::Parse("192.0.2.1"), *IpAddress::Parse("192.0.2.2")};
  maglev::Setup second = setup;
  setup.own_address = setup.balancers[0];
  second.own_address = setup.balancers[1];
  std::swap(second.balancers[0],
            second.balancers[1]);  // The order of the balancers must not matter.
  Lab one(setup), other(second);
  uint32_t redirected = 0;
  for (uint32_t flow = 0; flow < 64; ++flow) {
    const std::string whole = Lab(SetupOf(8)).BackendOf(UdpFrame(flow * 16));
    Bytes first = UdpFrame(flow * 16), later = first;
    first[20] = 0x20;  // The more-fragments flag.
    later[21] = 3;     // Offset 24.
    for (Bytes* frame : {&first, &later}) test::SetFlow(frame->data(), flow * 16);
    later[34] = later[35] = 0xff;  // The payload is where the ports would be.
    for (const Bytes& fragment : {first, later}) {
      Bytes out;
      ASSERT_EQ(one.Send(fragment, &out), kForward);
      std::string target =
          IpAddress::Of(packet::Load<packet::Ipv4Address>(out.data() + 30)).ToString();
      if (target == "192.0.2.2") {
        ++redirected;
        const Bytes hop = out;
        ASSERT_EQ(other.Send(hop, &out), kForward);
        target = IpAddress::Of(packet::Load<packet::Ipv4Address>(out.data() + 30)).ToString();
        EXPECT_NE(target, "192.0.2.1") << "never twice";
      }
      EXPECT_EQ(target, whole);
    }
  }
  EXPECT_GT(redirected, 0u);
  EXPECT_LT(redirected, 128u);
  EXPECT_EQ(one.Count(BalancerCounters::kRedirected), redirected);
  EXPECT_EQ(other.Count(BalancerCounters::kRedirectedHere), redirected);
}

TEST(Balancer, StrangersCannotUseItAsADecapsulator) {
  maglev::Setup setup = SetupOf(2);
  setup.own_address = IpAddress::Parse("192.0.2.1");
  setup.balancers = {*setup.own_address, *IpAddress::Parse("192.0.2.2")};
  Lab lab(setup);
  Bytes out;
  ASSERT_EQ(lab.Send(UdpFrame(1), &out), kForward);
  out[30] = 192, out[31] = 0, out[32] = 2,
  out[33] = 1;  // A packet to the balancer, with an outer source in 172.16/16.
  packet::Store<uint16_t>(out.data() + 24, 0);
  packet::Store(out.data() + 24, packet::FinishChecksum(packet::SumBytes(out.data() + 14, 20)));
  EXPECT_EQ(lab.Send(out), kPass);
}

TEST(Balancer, NatAnswersComeFromTheVip) {
  maglev::Setup setup = SetupOf(3);
  setup.vips[0].encapsulation = Encapsulation::kNat;
  for (BackendSetup& backend : setup.vips[0].backends) backend.port = 8080;
  Lab lab(setup);
  Bytes there;
  ASSERT_EQ(lab.Send(UdpFrame(5), &there), kForward);
  EXPECT_EQ(packet::LoadBe16(there.data() + 36), 8080);
  Bytes answer = there;
  packet::SwapIpv4Addresses(answer.data() + 14);
  packet::SwapPorts(answer.data() + 34);
  Bytes back;
  ASSERT_EQ(lab.Send(answer, &back), kForward);
  EXPECT_EQ(IpAddress::Of(packet::Load<packet::Ipv4Address>(back.data() + 26)).ToString(),
            "198.51.100.1");
  EXPECT_EQ(packet::LoadBe16(back.data() + 34), 80);
  EXPECT_TRUE(packet::ChecksumHolds(packet::SumBytes(back.data() + 14, 20)));
  EXPECT_EQ(lab.Count(BalancerCounters::kNatReturn), 1u);
}

TEST(Balancer, AFragmentOfANatAnswerFollowsItsFirstForAWhileAndWhileItsBackendIsThere) {
  maglev::Setup setup = SetupOf(1);
  setup.vips[0].encapsulation = Encapsulation::kNat;
  Lab lab(setup);
  // The first fragment of a datagram from 10.0.0.1 port 80, and the second fragment, at offset 24.
  Bytes first = UdpFrame(5);
  packet::SwapPorts(first.data() + 34);
  packet::StoreBe32(first.data() + 26, 0x0a000001);
  packet::StoreBe32(first.data() + 30, 0x0b000001);
  Bytes later = first;
  packet::StoreBe16(first.data() + 20, 0x2000);
  packet::StoreBe16(later.data() + 20, 3);
  EXPECT_EQ(lab.Send(later), packet::Drop(Balancer::kFragment));
  ASSERT_EQ(lab.Send(first), kForward);
  lab.Wait(setup.timeouts.fragment_s);
  Bytes back;
  ASSERT_EQ(lab.Send(later, &back), kForward);
  EXPECT_EQ(packet::LoadBe32(back.data() + 26), 0xc6336401u);
  EXPECT_TRUE(std::equal(back.begin() + 34, back.end(), later.begin() + 34));
  EXPECT_EQ(lab.Count(BalancerCounters::kNatReturn), 2u);
  EXPECT_EQ(lab.Count(BalancerCounters::kFragmentLater), 1u);
  lab.Wait(1);
  EXPECT_EQ(lab.Send(later), packet::Drop(Balancer::kFragment));
  ASSERT_EQ(lab.Send(first), kForward);
  setup.vips[0].backends[0].name = "another at this address";
  lab.Apply(setup);
  EXPECT_EQ(lab.Send(later), packet::Drop(Balancer::kFragment));
}

/// Returns whether the UDP checksum of an IPv4 frame without options is correct.
bool UdpChecksumHolds(const Bytes& frame) {
  const uint8_t* const ip = frame.data() + 14;
  const auto bytes = static_cast<uint16_t>(frame.size() - 34);
  return packet::ChecksumHolds(packet::SumBytes(
      ip + 20, bytes, packet::PseudoHeaderSumIpv4(ip, packet::kProtocolUdp, bytes)));
}

TEST(Balancer, AnOuterUdpChecksumHoldsAroundThatOfTheInnerDatagram) {
  for (const uint8_t protocol : {packet::kProtocolUdp, packet::kProtocolTcp}) {
    const bool tcp = protocol == packet::kProtocolTcp;
    maglev::Setup setup = tcp ? TcpSetup(1) : SetupOf(1);
    setup.vips[0].encapsulation = Encapsulation::kGue;
    Lab lab(setup);
    Bytes frame = tcp ? TcpFrame(1, kSyn) : UdpFrame(1), out;
    const auto inner = static_cast<uint16_t>(frame.size() - 34);
    const uint16_t checksum = packet::FinishChecksum(packet::SumBytes(
        frame.data() + 34, inner, packet::PseudoHeaderSumIpv4(frame.data() + 14, protocol, inner)));
    packet::Store(frame.data() + (tcp ? 50 : 40), checksum);
    ASSERT_EQ(lab.Send(frame, &out), kForward);
    ASSERT_EQ(out.size(), frame.size() + 28) << "IPv4 and UDP";
    EXPECT_TRUE(UdpChecksumHolds(out)) << int{protocol};
  }
}

// RFC 768: a computed checksum of 0 is sent as all ones. For each payload word, one value leads to
// 0.
TEST(Balancer, AnOuterUdpChecksumIsNeverZero) {
  maglev::Setup setup = SetupOf(1);
  setup.vips[0].encapsulation = Encapsulation::kGue;
  Lab lab(setup);
  Bytes frame = UdpFrame(1), out;
  uint32_t all_ones = 0;
  for (uint32_t word = 0; word <= 0xffff; ++word) {
    packet::StoreBe16(frame.data() + 42, static_cast<uint16_t>(word));
    ASSERT_EQ(lab.Send(frame, &out), kForward);
    const uint8_t* const ip = out.data() + 14;
    ASSERT_EQ(ip[9], packet::kProtocolUdp);
    const uint16_t checksum = packet::LoadBe16(ip + 26);
    ASSERT_NE(checksum, 0) << word;
    all_ones += checksum == 0xffff;
    ASSERT_TRUE(UdpChecksumHolds(out));
  }
  EXPECT_GE(all_ones, 1u);
}

TEST(Balancer, CountsTrafficByVipAndBackend) {
  Lab lab(SetupOf(2));
  for (uint32_t flow = 0; flow < 100; ++flow) lab.Send(UdpFrame(flow));
  const BalancerCounters& counters = lab.balancer().counters();
  EXPECT_EQ(counters.by_vip[0].pkts, 100u);
  EXPECT_EQ(counters.by_vip[0].bytes, 6000u);
  EXPECT_EQ(counters.by_backend[0].pkts + counters.by_backend[1].pkts, 100u);
}

// Every prefix of a valid frame must yield a verdict, and random changes of up to three bytes must
// be harmless. Sanitizers detect invalid accesses.
TEST(Balancer, AnyBytesHaveAnEnding) {
  for (const bool quic : {true, false}) {
    maglev::Setup setup = SetupOf(3);
    setup.own_address = IpAddress::Parse("192.0.2.1");
    setup.balancers = {*setup.own_address, *IpAddress::Parse("192.0.2.2")};
    setup.vips.push_back(TcpSetup(3).vips[0]);
    setup.vips[0].quic = quic;
    setup.vips[1].name = "tcp";
    Lab lab(setup);
    std::mt19937 random(1);
    Bytes encapsulated;
    lab.Send(UdpFrame(1), &encapsulated);
    for (const Bytes& good :
         {UdpFrame(1), TcpFrame(1, kAck), TcpFrame(1, kSyn | kFin), encapsulated}) {
      for (size_t length = 0; length <= good.size(); ++length) {
        const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
        const packet::Verdict verdict = lab.Send(cut);
        EXPECT_TRUE(verdict.action != packet::Action::kDrop || verdict.reason < Balancer::kReasons);
      }
      for (int i = 0; i < 10'000; ++i) {
        Bytes changed = good;
        for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = uint8_t(random());
        lab.Send(changed, nullptr, random() % 2 * 64);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::engine::maglev::test
