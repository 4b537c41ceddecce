// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how the driver describes a frame in software. The reference values are checksums computed
// by DPDK, packet types from rte_mbuf_ptype.h, and the hash vectors in docs/enso-hardware.md.
#include <netinet/in.h>
#include <rte_ip.h>

#include <cstring>
#include <functional>

#include "gtest/gtest.h"
#include "net_enso/enso_describe.h"
#include "net_enso/fixture.h"
#include "udp_lengths.h"

namespace sluice::net_enso {
namespace {

constexpr uint64_t kIpGood = RTE_MBUF_F_RX_IP_CKSUM_GOOD, kIpBad = RTE_MBUF_F_RX_IP_CKSUM_BAD;
constexpr uint64_t kL4Good = RTE_MBUF_F_RX_L4_CKSUM_GOOD, kL4Bad = RTE_MBUF_F_RX_L4_CKSUM_BAD;

rte_mbuf Described(const Wanted& wanted, const Bytes& frame) {
  Bytes flits = frame;
  flits.resize((frame.size() + 63) / 64 * 64, 0xee);
  rte_mbuf mbuf{};
  Describe(wanted, flits.data(), static_cast<uint32_t>(frame.size()), &mbuf);
  return mbuf;
}

Bytes Changed(Bytes frame, const std::function<void(Bytes&)>& change) {
  change(frame);
  return frame;
}
/// Recomputes the IPv4 header's checksum after a change.
void FixHeader(Bytes& frame) {
  auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(&frame[14]);
  ip->hdr_checksum = 0;
  ip->hdr_checksum = rte_ipv4_cksum(ip);
}
Bytes Udp6() { return Udp6Frame(99, 3); }
Bytes Tagged(const Bytes& frame, uint16_t type = 0x8100) {
  Bytes tagged = frame;
  const uint8_t tag[] = {static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type), 0, 100};
  tagged.insert(tagged.begin() + 12, std::begin(tag), std::end(tag));
  return tagged;
}

TEST(Describe, ChecksumsAreVerifiedAsDpdkComputesThem) {
  const Wanted all{.ip_checksum = true, .udp_checksum = true, .tcp_checksum = true};
  const struct {
    const char* what;
    Bytes frame;
    uint64_t flags;
  } kCases[] = {
      {"UDP", Udp(), kIpGood | kL4Good},
      {"TCP", Tcp(), kIpGood | kL4Good},
      {"UDP over IPv6", Udp6(), kL4Good},
      {"behind a tag", Tagged(Udp()), kIpGood | kL4Good},
      {"a bit of the header", Changed(Udp(), [](Bytes& f) { f[22] ^= 1; }), kIpBad | kL4Good},
      {"a bit of the payload", Changed(Udp(), [](Bytes& f) { f[100] ^= 1; }), kIpGood | kL4Bad},
      {"of TCP's", Changed(Tcp(), [](Bytes& f) { f[101] ^= 0x80; }), kIpGood | kL4Bad},
      {"of IPv6's", Changed(Udp6(), [](Bytes& f) { f[98] ^= 1; }), kL4Bad},
      {"no UDP checksum", Changed(Udp(), [](Bytes& f) { f[40] = f[41] = 0; }), kIpGood},
      {"none over IPv6", Changed(Udp6(), [](Bytes& f) { f[60] = f[61] = 0; }), kL4Bad},
      {"first fragment", Changed(Udp(), [](Bytes& f) { f[20] = 0x20, FixHeader(f); }), kIpGood},
      {"later fragment", Changed(Udp(), [](Bytes& f) { f[21] = 9, FixHeader(f); }), kIpGood},
      {"another protocol", Changed(Udp(), [](Bytes& f) { f[23] = 89, FixHeader(f); }), kIpGood},
      {"padded", Changed(Udp(), [](Bytes& f) { f.resize(120, 0x55); }), kIpGood | kL4Good},
      {"ARP", ArpFrame(), 0},
      {"UDP cut off", WithChecksums(Ipv4Frame({.length = 60})), kIpGood | kL4Good},
      {"a wrong length", WithTotalLength(Udp(), 2000), 0},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Described(all, c.frame).ol_flags, c.flags) << c.what;
  }
}

TEST(Describe, AUdpLengthThatNoDatagramHasIsABadChecksum) {
  using test::Verdict;
  const Wanted all{.ip_checksum = true, .udp_checksum = true, .tcp_checksum = true};
  for (const auto& [what, frame, ipv4, verdict] : test::UdpLengths()) {
    const uint64_t l4 = verdict == Verdict::kGood  ? kL4Good
                        : verdict == Verdict::kBad ? kL4Bad
                                                   : RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN;
    EXPECT_EQ(Described(all, frame).ol_flags, l4 | (ipv4 ? kIpGood : 0)) << what;
  }
}

TEST(Describe, OnlyWhatIsWantedIsSaid) {
  EXPECT_EQ(Described({.ip_checksum = true}, Udp()).ol_flags, kIpGood);
  EXPECT_EQ(Described({.udp_checksum = true}, Udp()).ol_flags, kL4Good);
  EXPECT_EQ(Described({.udp_checksum = true}, Tcp()).ol_flags, 0u);
  EXPECT_EQ(Described({.tcp_checksum = true}, Tcp()).ol_flags, kL4Good);
  EXPECT_EQ(Described({.tcp_checksum = true}, Udp()).packet_type, uint32_t{RTE_PTYPE_UNKNOWN});
  EXPECT_EQ(Described({.packet_types = RTE_PTYPE_L3_MASK}, Udp()).packet_type,
            uint32_t{RTE_PTYPE_L3_IPV4});
  EXPECT_FALSE(Wanted{}.Any());
}

TEST(Describe, PacketTypesAreThoseOfTheLayers) {
  const auto with_protocol = [](uint8_t protocol) {
    return Changed(Udp(), [=](Bytes& f) { f[23] = protocol; });
  };
  const struct {
    const char* what;
    Bytes frame;
    uint32_t type;
  } kCases[] = {
      {"UDP", Udp(), RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP},
      {"TCP", Tcp(), RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP},
      {"ICMP", with_protocol(1), RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_ICMP},
      {"SCTP", with_protocol(132), RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_SCTP},
      {"OSPF", with_protocol(89), RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_NONFRAG},
      {"fragment", Changed(Udp(), [](Bytes& f) { f[20] = 0x20; }),
       RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_FRAG},
      {"IPv6", Udp6(), RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6 | RTE_PTYPE_L4_UDP},
      {"tag", Tagged(Udp()), RTE_PTYPE_L2_ETHER_VLAN | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP},
      {"two tags", Tagged(Tagged(Tcp())),
       RTE_PTYPE_L2_ETHER_VLAN | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP},
      {"a service tag", Tagged(Udp(), 0x88a8),
       RTE_PTYPE_L2_ETHER_QINQ | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP},
      {"a tag behind a service tag", Tagged(Tagged(Tcp()), 0x88a8),
       RTE_PTYPE_L2_ETHER_QINQ | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP},
      {"a service tag behind a tag", Tagged(Tagged(Tcp(), 0x88a8)),
       RTE_PTYPE_L2_ETHER_VLAN | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP},
      {"ARP", ArpFrame(), RTE_PTYPE_L2_ETHER_ARP},
      {"LLDP", Changed(Udp(), [](Bytes& f) { f[12] = 0x88, f[13] = 0xcc; }), RTE_PTYPE_L2_ETHER},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Described({.packet_types = kPacketTypeMask}, c.frame).packet_type, c.type) << c.what;
  }
}

TEST(Describe, TheHashIsTheOneThatSelectsTheFallbackPipe) {
  constexpr uint32_t kDestination = 0xc0a8'0000;  // 192.168.0.0
  const struct {
    FrameSpec frame;
    uint32_t hash;
  } kVectors[] = {
      {{.dst_ip = kDestination, .dst_port = 80}, 0x1f30'2f21},
      {{.dst_ip = kDestination, .dst_port = 80, .src_ip = 99, .src_port = 9}, 0x1f30'2f21},
      {{.dst_ip = kDestination,
        .dst_port = 80,
        .src_ip = 0x0a00'0001,
        .src_port = 8080,
        .protocol = IPPROTO_TCP},
       0x3707'eb2c},
      {{.dst_ip = kDestination,
        .dst_port = 80,
        .src_ip = 0x0a00'0001,
        .src_port = 8080,
        .protocol = IPPROTO_TCP,
        .tcp_flags = 0x02},
       0x1f30'2f21},
      {{.dst_ip = kDestination, .protocol = IPPROTO_ICMP}, 0xb5ac'7d6a},
  };
  for (const auto& [frame, hash] : kVectors) {
    const rte_mbuf mbuf = Described({.hash = true}, Ipv4Frame(frame));
    EXPECT_EQ(mbuf.ol_flags, RTE_MBUF_F_RX_RSS_HASH);
    EXPECT_EQ(mbuf.hash.rss, hash);
  }
}

}  // namespace
}  // namespace sluice::net_enso
