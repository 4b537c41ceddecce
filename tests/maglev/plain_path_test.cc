// SPDX-License-Identifier: BSD-3-Clause
//
// Tests PlainPath, the separate path for packets of settled connections. A flow's first packet
// never uses it, but an identical later packet does. Both packets must leave as the same frame. The
// test builds the expected outer header according to RFC 791, 1071 and 2003.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "balancer_lab.h"
#include "engine/maglev/balancer.h"
#include "maglev_frames.h"

namespace sluice::engine::maglev {
namespace {

using packet::Drop;
using packet::kForward;
using test::Bytes;
using test::kAck;
using test::kFin;
using test::kSyn;
using test::Lab;
using test::SetupOf;
using test::TcpFrame;
using test::TcpSetup;
using test::UdpFrame;

constexpr uint8_t kTcp = 6, kUdp = 17;

void Put(Bytes* bytes, size_t at, uint32_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    (*bytes)[at + i] = static_cast<uint8_t>(value >> 8 * (count - 1 - i));
  }
}

/// Returns the Internet checksum of RFC 1071, computed word by word.
uint16_t Rfc1071(const Bytes& bytes, size_t at, size_t count) {
  uint32_t sum = 0;
  for (size_t i = at; i < at + count; i += 2) sum += uint32_t{bytes[i]} << 8 | bytes[i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void PutIpv4Checksum(Bytes* frame, size_t header) {
  Put(frame, header + 10, 0, 2);
  Put(frame, header + 10, Rfc1071(*frame, header, 20), 2);
}

/// Sets the checksum of TCP or UDP over pseudo-header, header and payload (RFC 9293 and 768).
void PutUpperChecksum(Bytes* frame) {
  const size_t upper_bytes = (size_t{(*frame)[16]} << 8 | (*frame)[17]) - 20;
  const bool tcp = (*frame)[23] == kTcp;
  const size_t field = tcp ? 50 : 40;
  Put(frame, field, 0, 2);
  Bytes summed(frame->begin() + 26, frame->begin() + 34);
  summed.resize(12);
  Put(&summed, 8, (*frame)[23], 2);
  Put(&summed, 10, static_cast<uint32_t>(upper_bytes), 2);
  summed.insert(summed.end(), frame->begin() + 34,
                frame->begin() + 34 + static_cast<std::ptrdiff_t>(upper_bytes));
  if (summed.size() % 2 != 0) summed.push_back(0);
  const uint16_t checksum = Rfc1071(summed, 0, summed.size());
  Put(frame, field, !tcp && checksum == 0 ? 0xffff : checksum, 2);
}

/// A packet to 198.51.100.1.
struct Packet {
  uint8_t protocol = kUdp;
  uint32_t total_bytes = 46;
  uint8_t tos = 0;
  uint16_t id = 1;
  bool dont_fragment = false;
  uint8_t ttl = 64;
  uint32_t source = 0x0b00'0001;
  uint16_t source_port = 1024;
  uint16_t port = 80;
  uint32_t padding_bytes = 0;

  /// Returns the frame with a payload from `random`.
  Bytes Frame(std::mt19937* random) const {
    Bytes frame = UdpFrame(0);
    frame.resize(14 + total_bytes + padding_bytes);
    for (size_t i = 34; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>((*random)());
    frame[15] = tos;
    Put(&frame, 16, total_bytes, 2);
    Put(&frame, 18, id, 2);
    Put(&frame, 20, dont_fragment ? 0x4000 : 0, 2);
    frame[22] = ttl;
    frame[23] = protocol;
    Put(&frame, 26, source, 4);
    Put(&frame, 34, source_port, 2);
    Put(&frame, 36, port, 2);
    if (protocol == kUdp) {
      Put(&frame, 38, total_bytes - 20, 2);
    } else {
      frame[46] = 5 << 4;
      frame[47] = kAck;
    }
    PutIpv4Checksum(&frame, 14);
    return frame;
  }
};

/// Returns the frame that must reach 10.0.0.1 for `frame`: the TTL is decremented, the padding
/// removed, and the outer header has the source that Katran computes from the flow.
Bytes InIp(const Bytes& frame, bool lower_ttl = true) {
  const size_t total = size_t{frame[16]} << 8 | frame[17];
  Bytes inner(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(14 + total));
  if (lower_ttl) {
    --inner[22];
    PutIpv4Checksum(&inner, 14);
  }
  Bytes out(34);
  std::copy(test::kRouter.begin(), test::kRouter.end(), out.begin());
  std::copy(frame.begin(), frame.begin() + 6, out.begin() + 6);
  Put(&out, 12, 0x0800'45, 3);
  out[15] = frame[15];
  Put(&out, 16, static_cast<uint32_t>(total) + 20, 2);
  out[22] = 64;
  out[23] = 4;
  out[26] = 172, out[27] = 16;
  out[28] = frame[28] ^ frame[35];
  out[29] = frame[29] ^ frame[34];
  Put(&out, 30, 0x0a00'0001, 4);
  PutIpv4Checksum(&out, 14);
  out.insert(out.end(), inner.begin() + 14, inner.end());
  return out;
}

/// Returns a setup with one backend, 10.0.0.1, for any UDP and TCP port.
Setup AnyPortSetup() {
  maglev::Setup setup = SetupOf(1);
  setup.vips[0].port = 0;
  setup.vips.push_back(setup.vips[0]);
  setup.vips[1].name = "tcp";
  setup.vips[1].protocol = kTcp;
  return setup;
}

/// Sends a frame as the first packet of a flow, and then as a packet of a settled flow with several
/// sizes of headroom.
void ExpectForwarded(Lab* lab, const Bytes& frame, const Bytes& expected) {
  for (const uint32_t headroom : {64, 64, 20, 19, 0}) {
    Bytes out;
    ASSERT_EQ(lab->Send(frame, &out, headroom), kForward) << headroom;
    ASSERT_EQ(out, expected) << headroom;
    lab->WaitMs(headroom == 64 ? 10 : 0);
  }
}

TEST(PlainPath, EveryPacketOfAFlowLeavesAsItsFirstDidAndAsTheRfcsSay) {
  constexpr uint32_t kFlows = 2000;
  Lab lab(AnyPortSetup());
  std::mt19937 random(1);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  for (uint32_t flow = 0; flow < kFlows; ++flow) {
    Packet packet{.protocol = below(2) == 0 ? kTcp : kUdp,
                  .tos = static_cast<uint8_t>(random()),
                  .id = static_cast<uint16_t>(random()),
                  .dont_fragment = below(2) == 0,
                  .ttl = static_cast<uint8_t>(2 + below(254)),
                  .source = static_cast<uint32_t>(random()),
                  .source_port = static_cast<uint16_t>(random()),
                  .port = static_cast<uint16_t>(random()),
                  .padding_bytes = below(3) == 0 ? below(64) : 0};
    const uint32_t least = packet.protocol == kTcp ? 40 : 28;
    packet.total_bytes = least + below(below(2) == 0 ? 30 : 1481 - least);
    const Bytes frame = packet.Frame(&random);
    ExpectForwarded(&lab, frame, InIp(frame));
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(lab.Count(BalancerCounters::kNew), kFlows);
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), 4 * kFlows);
  EXPECT_EQ(lab.Count(BalancerCounters::kBadIpChecksum), 0u);
}

// --- Rewritten in place.

constexpr packet::MacAddress kBackendMac{0x02, 0, 0, 0, 0, 0x77};

/// Returns AnyPortSetup with a backend that is reached by rewriting, for the given ports.
Setup InPlaceSetup(Encapsulation encapsulation, uint16_t vip_port, uint16_t backend_port) {
  maglev::Setup setup = AnyPortSetup();
  for (VipSetup& vip : setup.vips) {
    vip.encapsulation = encapsulation;
    vip.port = vip_port;
    vip.backends[0].mac = kBackendMac;
    vip.backends[0].port = backend_port;
  }
  return setup;
}

/// Returns the expected frame for `frame`: the backend's MAC address, TTL decremented, padding
/// preserved.
Bytes ToBackend(const Bytes& frame) {
  Bytes out = frame;
  std::copy(kBackendMac.begin(), kBackendMac.end(), out.begin());
  std::copy(frame.begin(), frame.begin() + 6, out.begin() + 6);
  --out[22];
  PutIpv4Checksum(&out, 14);
  return out;
}

/// Like ToBackend, but with the destination 10.0.0.1 and, unless `port` is 0, this port. All
/// checksums are recomputed.
Bytes ToAddress(const Bytes& frame, uint16_t port) {
  Bytes out = ToBackend(frame);
  Put(&out, 30, 0x0a00'0001, 4);
  if (port != 0) Put(&out, 36, port, 2);
  PutIpv4Checksum(&out, 14);
  const bool none = out[23] == kUdp && out[40] == 0 && out[41] == 0;
  if (!none) PutUpperChecksum(&out);
  return out;
}

TEST(PlainPath, ARewriteInPlaceChangesWhatItMustAndNothingElse) {
  constexpr uint32_t kFlows = 500;
  for (const auto& [encapsulation, backend_port] :
       {std::pair{Encapsulation::kMac, uint16_t{0}}, std::pair{Encapsulation::kNat, uint16_t{0}},
        std::pair{Encapsulation::kNat, uint16_t{8080}}}) {
    // If the VIP serves any port, the packet's port does not change.
    const auto vip_port = static_cast<uint16_t>(backend_port == 0 ? 0 : 80);
    Lab lab(InPlaceSetup(encapsulation, vip_port, backend_port));
    std::mt19937 random(7);
    const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
    for (uint32_t flow = 0; flow < kFlows; ++flow) {
      Packet packet{.protocol = below(2) == 0 ? kTcp : kUdp,
                    .tos = static_cast<uint8_t>(random()),
                    .id = static_cast<uint16_t>(random()),
                    .dont_fragment = below(2) == 0,
                    .ttl = static_cast<uint8_t>(2 + below(254)),
                    .source = static_cast<uint32_t>(random()),
                    .source_port = static_cast<uint16_t>(random()),
                    .port = vip_port != 0 ? vip_port : static_cast<uint16_t>(random()),
                    .padding_bytes = below(3) == 0 ? below(64) : 0};
      const uint32_t least = packet.protocol == kTcp ? 40 : 28;
      packet.total_bytes = least + below(below(2) == 0 ? 30 : 1501 - least);
      Bytes frame = packet.Frame(&random);
      PutUpperChecksum(&frame);
      if (packet.protocol == kUdp && below(4) == 0) Put(&frame, 40, 0, 2);
      ExpectForwarded(
          &lab, frame,
          encapsulation == Encapsulation::kMac ? ToBackend(frame) : ToAddress(frame, backend_port));
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(lab.Count(BalancerCounters::kNew), kFlows);
    EXPECT_EQ(lab.Count(BalancerCounters::kHit), 4 * kFlows);
    EXPECT_EQ(lab.Count(BalancerCounters::kBadIpChecksum), 0u);
    EXPECT_EQ(
        lab.balancer().counters().by_backend[0].pkts + lab.balancer().counters().by_backend[1].pkts,
        5u * kFlows);
  }
}

// The values of a word include those that make a checksum 0 or 0xffff, before or after the rewrite.
TEST(PlainPath, AnIncrementalChecksumIsTheRecomputedOneForEveryValue) {
  Lab lab(InPlaceSetup(Encapsulation::kNat, 80, 8080));
  std::mt19937 random(8);
  for (const uint8_t protocol : {kTcp, kUdp}) {
    Bytes frame = Packet{.protocol = protocol, .total_bytes = 61}.Frame(&random);
    uint32_t all_ones = 0;
    for (uint32_t word = 0; word <= 0xffff; ++word) {
      Put(&frame, 60, word, 2);
      PutUpperChecksum(&frame);
      Bytes out;
      ASSERT_EQ(lab.Send(frame, &out), kForward);
      ASSERT_EQ(out, ToAddress(frame, 8080)) << word;
      all_ones += out[40] == 0xff && out[41] == 0xff;
    }
    if (protocol == kUdp) {
      EXPECT_GT(all_ones, 0u);
    }
  }
}

TEST(PlainPath, WhatIsWrongInsideStaysAsWrong) {
  Lab lab(InPlaceSetup(Encapsulation::kNat, 80, 8080));
  std::mt19937 random(9);
  Bytes frame = Packet{.protocol = kTcp, .total_bytes = 60}.Frame(&random);
  PutUpperChecksum(&frame);
  ExpectForwarded(&lab, frame, ToAddress(frame, 8080));
  Bytes wrong = frame, expected = ToAddress(frame, 8080);
  for (const size_t checksum : {24, 50}) {
    for (Bytes* bytes : {&wrong, &expected}) {
      const uint32_t more = (uint32_t{(*bytes)[checksum]} << 8 | (*bytes)[checksum + 1]) + 0x1234;
      Put(bytes, checksum, more > 0xffff ? more - 0xffff : more, 2);
    }
  }
  ExpectForwarded(&lab, wrong, expected);
  EXPECT_EQ(lab.Count(BalancerCounters::kBadIpChecksum), 5u);
}

TEST(PlainPath, WhatStaysInPlaceMayBeAsLongAsThePathCarries) {
  for (const Encapsulation encapsulation : {Encapsulation::kMac, Encapsulation::kNat}) {
    maglev::Setup setup = InPlaceSetup(encapsulation, 0, 0);
    std::mt19937 random(10);
    const auto expected = [&](const Bytes& frame) {
      return encapsulation == Encapsulation::kMac ? ToBackend(frame) : ToAddress(frame, 0);
    };
    Lab lab(setup);
    Bytes fits = Packet{.total_bytes = 1500}.Frame(&random);
    Bytes longer = Packet{.total_bytes = 1501}.Frame(&random);
    PutUpperChecksum(&fits);
    Bytes out;
    for (int i = 0; i < 2; ++i) {
      ExpectForwarded(&lab, fits, expected(fits));
      ASSERT_EQ(lab.Send(longer, &out), kForward);
      EXPECT_EQ(Bytes(out.begin() + 34, out.begin() + 36), (Bytes{3, 4})) << "too big, RFC 1191";
      EXPECT_EQ(Bytes(out.begin() + 40, out.begin() + 42), (Bytes{1500 >> 8, 1500 & 0xff}));
    }
    setup.mtu = 65535;
    lab.Apply(setup);
    Bytes jumbo = Packet{.total_bytes = 65535}.Frame(&random);
    PutUpperChecksum(&jumbo);
    ExpectForwarded(&lab, jumbo, expected(jumbo));
  }
}

TEST(PlainPath, AFlowChangesFromOneWayToAnotherAtOnce) {
  Lab lab(SetupOf(1));
  std::mt19937 random(11);
  Bytes frame = Packet{}.Frame(&random);
  PutUpperChecksum(&frame);
  maglev::Setup setup = SetupOf(1);
  VipSetup& vip = setup.vips[0];
  vip.backends[0].mac = kBackendMac;
  for (int round = 0; round < 3; ++round) {
    vip.encapsulation = Encapsulation::kMac;
    lab.Apply(setup);
    ExpectForwarded(&lab, frame, ToBackend(frame));
    vip.encapsulation = Encapsulation::kNat;
    lab.Apply(setup);
    ExpectForwarded(&lab, frame, ToAddress(frame, 0));
    lab.Apply(SetupOf(1));
    ExpectForwarded(&lab, frame, InIp(frame));
  }
}

// --- Encapsulated in another buffer.

TEST(PlainPath, AFrameWithoutHeadroomIsBuiltInSpareRoomIfItFits) {
  maglev::Setup setup = AnyPortSetup();
  setup.mtu = 9000;
  Lab lab(setup);
  std::mt19937 random(12);
  for (const uint32_t total : {28, 31, 32, 33, 46, 64, 65, 1502, 1503, 8980}) {
    const Bytes frame =
        Packet{.total_bytes = total, .padding_bytes = total < 46 ? 46 - total : 0}.Frame(&random);
    ASSERT_EQ(lab.Send(frame), kForward);
    lab.WaitMs(10);
    ASSERT_EQ(lab.Send(frame), kForward);
    for (const uint32_t headroom : {0, 19, 20}) {
      Bytes arrived(headroom + frame.size()), spare(packet::Frame::kSpareBytes);
      std::copy(frame.begin(), frame.end(), arrived.begin() + headroom);
      packet::Frame view{arrived.data() + headroom, static_cast<uint32_t>(frame.size()), headroom,
                         0, spare.data()};
      ASSERT_EQ(packet::ProcessFrame(lab.balancer(), view, 0), kForward);
      EXPECT_EQ(Bytes(view.data, view.data + view.length), InIp(frame)) << total;
      // The new headers have 34 bytes: Ethernet and outer IPv4.
      EXPECT_EQ(view.data == spare.data(), headroom < 20 && total + 34 <= 1536) << total;
      EXPECT_EQ(view.data == arrived.data(), headroom == 20) << total;
    }
  }
}

TEST(PlainPath, AJumboFrameWithoutHeadroomIsBuiltElsewhereAsFarAsThereIsRoom) {
  maglev::Setup setup = AnyPortSetup();
  setup.mtu = 65535;
  Lab lab(setup);
  std::mt19937 random(2);
  // Tests the limits: 9728 bytes for the outer packet and for the frame.
  for (const uint32_t total : {9000, 9707, 9708, 9709, 9713, 9714}) {
    const Bytes frame = Packet{.total_bytes = total}.Frame(&random);
    ExpectForwarded(&lab, frame, InIp(frame));
  }
  for (const uint32_t total : {9715, 40000, 65515}) {
    const Bytes frame = Packet{.total_bytes = total}.Frame(&random);
    Bytes out;
    EXPECT_EQ(lab.Send(frame, &out, 20), kForward);
    EXPECT_EQ(out, InIp(frame));
    lab.WaitMs(10);
    EXPECT_EQ(lab.Send(frame, nullptr, 20), kForward);
    EXPECT_EQ(lab.Send(frame, nullptr, 0), Drop(Balancer::kNoHeadroom)) << total;
  }
  // Only the padding is long.
  const Bytes padded = Packet{.padding_bytes = 20000}.Frame(&random);
  ExpectForwarded(&lab, padded, InIp(padded));
}

TEST(PlainPath, TheOuterSourceIsKatrans) {
  Lab lab(SetupOf(1));
  std::mt19937 random(3);
  const Bytes frame = Packet{.source = 0xc0a8'0101, .source_port = 31337}.Frame(&random);
  for (int i = 0; i < 3; ++i) {
    Bytes out;
    ASSERT_EQ(lab.Send(frame, &out), kForward);
    EXPECT_EQ(Bytes(out.begin() + 26, out.begin() + 30), (Bytes{172, 16, 104, 123}));
    lab.WaitMs(10);
  }
}

// The source ports include those with a second carry when the sum is folded.
TEST(PlainPath, TheOuterChecksumIsRightForEverySourcePort) {
  maglev::Setup setup = SetupOf(1);
  setup.connections = 1 << 17;
  Lab lab(setup);
  std::mt19937 random(6);
  for (uint32_t port = 0; port <= 0xffff; ++port) {
    const Bytes frame =
        Packet{.tos = 0xff, .source_port = static_cast<uint16_t>(port)}.Frame(&random);
    Bytes out;
    for (int i = 0; i < 2; ++i) ASSERT_EQ(lab.Send(frame, &out), kForward);
    ASSERT_EQ(Rfc1071(out, 14, 20), 0) << port;
  }
}

TEST(PlainPath, WhatIsTooLongIsAnsweredAlsoInTheMidstOfAFlow) {
  Lab lab(SetupOf(1));
  std::mt19937 random(4);
  const Bytes fits = Packet{.total_bytes = 1480}.Frame(&random);
  const Bytes longer = Packet{.total_bytes = 1481}.Frame(&random);
  for (const uint32_t headroom : {64, 0}) {
    ExpectForwarded(&lab, fits, InIp(fits));
    Bytes out;
    ASSERT_EQ(lab.Send(longer, &out, headroom), kForward);
    EXPECT_EQ(out[23], 1) << "ICMP";
    EXPECT_EQ(Bytes(out.begin() + 34, out.begin() + 36), (Bytes{3, 4})) << "too big, RFC 1191";
    EXPECT_EQ(Bytes(out.begin() + 40, out.begin() + 42), (Bytes{1480 >> 8, 1480 & 0xff}));
  }
  EXPECT_EQ(lab.Count(BalancerCounters::kTooBig), 2u);
}

TEST(PlainPath, ATtlEndsWithItsLastHopUnlessTheBalancerIsNone) {
  maglev::Setup bridge = SetupOf(1);
  bridge.decrement_ttl = false;
  Lab router(SetupOf(1)), katran(bridge);
  std::mt19937 random(5);
  for (const uint8_t ttl : {64, 2, 1, 0}) {
    const Bytes frame = Packet{.ttl = ttl}.Frame(&random);
    ExpectForwarded(&katran, frame, InIp(frame, /*lower_ttl=*/false));
    if (ttl > 1) {
      ExpectForwarded(&router, frame, InIp(frame));
    } else {
      EXPECT_EQ(router.Send(frame), Drop(Balancer::kTtlExpired));
    }
  }
}

TEST(PlainPath, PacketsAreCountedAsTheyCame) {
  Lab lab(SetupOf(2));
  for (int round = 0; round < 5; ++round) {
    for (uint32_t flow = 0; flow < 10; ++flow) {
      Bytes frame = UdpFrame(flow);
      frame.resize(66);  // Padding.
      if (flow == 3) frame[24] ^= 1;
      ASSERT_EQ(lab.Send(frame), kForward);
    }
  }
  EXPECT_EQ(lab.Count(BalancerCounters::kNew), 10u);
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), 40u);
  EXPECT_EQ(lab.Count(BalancerCounters::kByRing), 0u);
  EXPECT_EQ(lab.Count(BalancerCounters::kBadIpChecksum), 5u);
  const BalancerCounters& counters = lab.balancer().counters();
  EXPECT_EQ(counters.by_vip[0].pkts, 50u);
  EXPECT_EQ(counters.by_vip[0].bytes, 50u * 66);
  EXPECT_EQ(counters.by_backend[0].bytes + counters.by_backend[1].bytes, 50u * 66);
}

TEST(PlainPath, KnownFlowsAreNoPartOfAFlood) {
  maglev::Setup setup = SetupOf(2);
  setup.flood_rate = 10;
  Lab lab(setup);
  for (int round = 0; round < 50; ++round) {
    for (uint32_t flow = 0; flow < 10; ++flow) ASSERT_EQ(lab.Send(UdpFrame(flow)), kForward);
  }
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), 490u);
  EXPECT_EQ(lab.Count(BalancerCounters::kFlood), 0u);
  ASSERT_EQ(lab.Send(UdpFrame(10)), kForward);
  EXPECT_EQ(lab.Count(BalancerCounters::kFlood), 1u);
}

TEST(PlainPath, AVipWithoutConnectionsAsksTheRingAboutEveryPacket) {
  maglev::Setup of_vip = SetupOf(4), of_all = SetupOf(4);
  of_vip.vips[0].connections = false;
  of_all.connections = 0;
  for (const maglev::Setup& setup : {of_vip, of_all}) {
    Lab lab(setup);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(lab.Send(UdpFrame(1)), kForward);
    EXPECT_EQ(lab.Count(BalancerCounters::kByRing), 3u);
    EXPECT_EQ(lab.Count(BalancerCounters::kHit) + lab.Count(BalancerCounters::kNew), 0u);
  }
  Lab changed(SetupOf(4));
  for (int i = 0; i < 2; ++i) ASSERT_EQ(changed.Send(UdpFrame(1)), kForward);
  changed.Apply(of_vip);
  ASSERT_EQ(changed.Send(UdpFrame(1)), kForward);
  EXPECT_EQ(changed.Count(BalancerCounters::kHit), 1u);
  EXPECT_EQ(changed.Count(BalancerCounters::kByRing), 1u);
}

TEST(PlainPath, AQuicServerIdCountsMoreThanWhatIsKnownOfTheFlow) {
  maglev::Setup setup = SetupOf(2);
  setup.vips[0].quic = true;
  setup.vips[0].backends[0].quic_ids = {0x1234};
  Lab lab(setup);
  for (uint32_t flow = 0; flow < 8; ++flow) {
    lab.BackendOf(UdpFrame(flow));  // A packet without a connection id that names a server.
    Bytes named = UdpFrame(flow);
    // A short header with an id of version 1, which contains 16 bits of server id, as in frames of
    // Katran's tests.
    const Bytes quic{0x40, 0x44, 0x8d, 0, 0, 0, 0, 0, 0};
    std::copy(quic.begin(), quic.end(), named.begin() + 42);
    EXPECT_EQ(lab.BackendOf(named), "10.0.0.1");
  }
}

// --- Connections that live across changes.

using Owners = std::map<uint32_t, std::string>;

/// Returns the owner of each flow after two packets of each flow. The second packet is that of a
/// settled flow.
Owners Settle(Lab* lab, uint32_t flows) {
  Owners owners;
  for (uint32_t flow = 0; flow < flows; ++flow) {
    owners[flow] = lab->BackendOf(UdpFrame(flow));
    lab->WaitMs(10);
    EXPECT_EQ(lab->BackendOf(UdpFrame(flow)), owners[flow]);
  }
  return owners;
}

TEST(PlainPath, WhoeverGetsAFreedIndexGetsNoneOfItsConnections) {
  constexpr uint32_t kFlows = 500;
  Lab lab(SetupOf(4));
  const Owners before = Settle(&lab, kFlows);
  maglev::Setup without = SetupOf(4);
  without.vips[0].backends.erase(without.vips[0].backends.begin() + 1);
  maglev::Setup replaced = SetupOf(5);
  replaced.vips[0].backends.erase(replaced.vips[0].backends.begin() + 1);
  for (const bool at_once : {true, false}) {
    lab.Apply(SetupOf(4));
    if (!at_once) lab.Apply(without);
    lab.Apply(replaced);
    ASSERT_EQ(lab.tables().BackendName(1), "10.0.0.5");
    Lab fresh(replaced);
    const uint64_t moved_before = lab.Count(BalancerCounters::kMoved);
    uint32_t moved = 0;
    for (const auto& [flow, owner] : Settle(&lab, kFlows)) {
      const bool lost = before.at(flow) == "10.0.0.2";
      EXPECT_EQ(owner, lost ? fresh.BackendOf(UdpFrame(flow)) : before.at(flow)) << flow;
      moved += lost;
    }
    EXPECT_GT(moved, 0u);
    if (at_once) {
      EXPECT_EQ(lab.Count(BalancerCounters::kMoved) - moved_before, moved);
    }
  }
}

TEST(PlainPath, ABackendThatIsDrainedKeepsItsFlows) {
  Lab lab(SetupOf(4));
  const Owners before = Settle(&lab, 200);
  maglev::Setup setup = SetupOf(4);
  setup.vips[0].backends[2].state = BackendState::kDraining;
  setup.vips[0].backends[3].weight = 0;
  lab.Apply(setup);
  EXPECT_EQ(Settle(&lab, 200), before);
}

TEST(PlainPath, ANewWayToABackendIsTakenAtOnceByFlowsThatStay) {
  Lab lab(SetupOf(1));
  Settle(&lab, 1);
  Bytes out;
  maglev::Setup setup = SetupOf(1);
  setup.vips[0].backends[0].mac = packet::MacAddress{0x02, 0, 0, 0, 0, 0x77};
  lab.Apply(setup);
  ASSERT_EQ(lab.Send(UdpFrame(0), &out), kForward);
  EXPECT_EQ(out[5], 0x77);
  setup.source_ipv4 = IpAddress::Parse("192.0.2.9");
  lab.Apply(setup);
  ASSERT_EQ(lab.Send(UdpFrame(0), &out), kForward);
  EXPECT_EQ(Bytes(out.begin() + 26, out.begin() + 30), (Bytes{192, 0, 2, 9}));
  setup.vips[0].encapsulation = Encapsulation::kGre;
  lab.Apply(setup);
  ASSERT_EQ(lab.Send(UdpFrame(0), &out), kForward);
  EXPECT_EQ(out[23], 47) << "GRE";
  EXPECT_EQ(lab.Count(BalancerCounters::kHit), 4u);
}

// The connection table stores eight bits of a VIP's index.
TEST(PlainPath, APortThatGetsAVipOfItsOwnGetsItsFlowsWhateverTheIndex) {
  for (const uint32_t others : {0, 254, 255, 256}) {
    maglev::Setup setup = SetupOf(1);
    setup.vips[0].port = 0;
    for (uint32_t i = 0; i < others; ++i) {
      VipSetup vip = SetupOf(1).vips[0];
      vip.name = "other " + std::to_string(i);
      vip.address.bytes[2] = static_cast<uint8_t>(101 + i / 256);
      vip.address.bytes[3] = static_cast<uint8_t>(i);
      setup.vips.push_back(vip);
    }
    Lab lab(setup);
    EXPECT_EQ(Settle(&lab, 1).at(0), "10.0.0.1");
    VipSetup web = SetupOf(1).vips[0];
    web.name = "port 80";
    web.backends[0].name = "10.9.9.9";
    web.backends[0].address = *IpAddress::Parse("10.9.9.9");
    setup.vips.push_back(web);
    lab.Apply(setup);
    EXPECT_EQ(Settle(&lab, 1).at(0), "10.9.9.9") << others;
    EXPECT_EQ(lab.balancer().counters().by_vip[others + 1].pkts, 2u);
  }
}

TEST(PlainPath, AFlowThatIsActiveIsNeverForgotten) {
  Lab lab(SetupOf(4));
  const Owners before = Settle(&lab, 200);
  lab.Apply(SetupOf(5));
  ASSERT_NE(Settle(std::make_unique<Lab>(SetupOf(5)).get(), 200), before);
  for (int i = 0; i < 10; ++i) {
    lab.Wait(Timeouts().udp_s - 3);  // Settling all flows needs two seconds.
    for (const auto& [flow, owner] : before) EXPECT_EQ(lab.BackendOf(UdpFrame(flow)), owner);
  }
}

/// Sends packets with these flags in one flow. Returns the number of live connections `idle_s`
/// after the last packet.
uint64_t LiveAfter(std::initializer_list<uint8_t> flags_of_packets, uint32_t idle_s) {
  Lab lab(TcpSetup(4));
  for (const uint8_t flags : flags_of_packets) {
    lab.WaitMs(10);
    EXPECT_EQ(lab.Send(TcpFrame(1, flags)), kForward);
  }
  lab.Wait(idle_s);
  return lab.balancer().connections().CountByBackend({}, lab.balancer().seconds());
}

TEST(PlainPath, FlowsOpenAndClose) {
  const Timeouts timeouts;
  EXPECT_EQ(LiveAfter({kSyn}, timeouts.tcp_opening_s + 1), 0u);
  EXPECT_EQ(LiveAfter({kSyn, kAck}, timeouts.tcp_opening_s + 1), 1u);
  EXPECT_EQ(LiveAfter({kSyn, kAck, kAck}, timeouts.tcp_s), 1u);
  EXPECT_EQ(LiveAfter({kSyn, kAck, kAck}, timeouts.tcp_s + 1), 0u);
  EXPECT_EQ(LiveAfter({kSyn, kAck, kAck, kFin | kAck}, timeouts.tcp_closing_s + 1), 0u);
  EXPECT_EQ(LiveAfter({kAck, kFin | kAck, kAck, kAck}, timeouts.tcp_closing_s), 1u);
  EXPECT_EQ(LiveAfter({kAck, kFin | kAck, kAck, kAck}, timeouts.tcp_closing_s + 1), 0u);
}

}  // namespace
}  // namespace sluice::engine::maglev
