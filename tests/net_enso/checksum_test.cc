// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the checksums which the driver inserts in software equal those that DPDK computes.
#include <netinet/in.h>
#include <rte_eth_ring.h>
#include <rte_ip.h>
#include <rte_ring.h>

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "net_enso/enso_checksum.h"
#include "net_enso/fixture.h"

namespace sluice::net_enso {
namespace {

constexpr uint64_t kUdp4 = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
constexpr uint64_t kTcp4 = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM;
constexpr uint64_t kUdp6 = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;

/// Returns the frame with the 16-bit fields at `offsets` modified.
Bytes Spoilt(Bytes frame, const std::vector<size_t>& offsets) {
  for (const size_t at : offsets) frame[at] ^= 0xa5, frame[at + 1] ^= 0x5a;
  return frame;
}
/// Appends padding, which no checksum covers.
Bytes Padded(Bytes frame) {
  frame.insert(frame.end(), 9, 0x77);
  return frame;
}
/// Returns a datagram whose computed checksum is zero, which UDP sends as all ones.
Bytes ZeroSum() {
  Bytes frame = Ipv4Frame({.length = 60});
  frame[58] = frame[59] = 0;
  frame = WithChecksums(frame);
  // The old checksum becomes data, so the sum of all words becomes all ones.
  frame[58] = frame[40], frame[59] = frame[41];
  frame[40] = frame[41] = 0xff;
  return frame;
}

rte_mbuf Asking(uint64_t flags, size_t length, uint16_t l2, uint16_t l3) {
  rte_mbuf mbuf{};
  mbuf.ol_flags = flags;
  mbuf.pkt_len = static_cast<uint32_t>(length);
  mbuf.l2_len = l2 & 0x7f;
  mbuf.l3_len = l3 & 0x1ff;
  return mbuf;
}

TEST(FillChecksums, AreThoseOfDpdk) {
  const struct {
    const char* what;
    Bytes frame;
    std::vector<size_t> spoilt;
    uint64_t flags;
    uint16_t l3;
  } kCases[] = {
      {"UDP and the header", Udp(), {24, 40}, kUdp4, 20},
      {"TCP and the header", Tcp(), {24, 50}, kTcp4, 20},
      {"the header alone", Udp(), {24}, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, 20},
      {"UDP alone", Udp(), {40}, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 20},
      {"UDP over IPv6", Udp6Frame(99, 3), {60}, kUdp6, 40},
      {"padding", Padded(Udp()), {24, 40}, kUdp4, 20},
      {"a sum of zero", ZeroSum(), {40}, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 20},
      {"none", Udp(), {}, 0, 20},
  };
  for (const auto& c : kCases) {
    Bytes frame = Spoilt(c.frame, c.spoilt);
    EXPECT_TRUE(FillChecksums(Asking(c.flags, frame.size(), 14, c.l3), frame.data())) << c.what;
    EXPECT_EQ(frame, c.frame) << c.what;
  }
}

TEST(FillChecksums, WhatIsNotInTheFrameIsRefused) {
  const struct {
    const char* what;
    Bytes frame;
    uint64_t flags;
    uint16_t l2, l3;
  } kCases[] = {
      {"no header", Udp(), kUdp4, 14, 0},
      {"a short header", Udp(), kUdp4, 14, 16},
      {"behind the end", Udp(), kUdp4, 100, 20},
      {"far behind the end", Udp(), kUdp4, 127, 511},
      {"another version", Udp(), kUdp6, 14, 40},
      {"no IP there", Udp(), kUdp4, 18, 20},
      {"a wrong length", WithTotalLength(Udp(), 200), kUdp4, 14, 20},
      {"a length below the header's", WithTotalLength(Udp(), 19), kUdp4, 14, 20},
      {"no room for UDP", WithTotalLength(Udp(), 27), kUdp4, 14, 20},
      {"no room for TCP", WithTotalLength(Tcp(), 39), kTcp4, 14, 20},
      {"SCTP", Udp(), RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_SCTP_CKSUM, 14, 20},
      {"a header checksum of IPv6", Udp6Frame(99, 3), kUdp6 | RTE_MBUF_F_TX_IP_CKSUM, 14, 40},
  };
  for (const auto& c : kCases) {
    Bytes frame = c.frame;
    EXPECT_FALSE(FillChecksums(Asking(c.flags, frame.size(), c.l2, c.l3), frame.data())) << c.what;
  }
}

/// Sends one frame with offload flags.
void Send(const Vdev& vdev, const Pool& pool, const Bytes& frame, uint64_t flags, uint16_t l3,
          uint16_t segment_bytes = 0) {
  rte_mbuf* mbuf = pool.Fill(frame, segment_bytes);
  mbuf->ol_flags |= flags;
  mbuf->l2_len = 14;
  mbuf->l3_len = l3 & 0x1ff;
  ASSERT_EQ(rte_eth_tx_burst(vdev.port(), 0, &mbuf, 1), 1);
}
Bytes Receive(const Vdev& vdev) {
  rte_mbuf* mbuf = nullptr;
  EXPECT_TRUE(Eventually([&] { return rte_eth_rx_burst(vdev.port(), 0, &mbuf, 1) == 1; }));
  if (mbuf == nullptr) return {};
  Bytes frame = Contents(mbuf);
  rte_pktmbuf_free(mbuf);
  return frame;
}
std::string TxBurstMode(uint16_t port) {
  rte_eth_burst_mode mode{};
  EXPECT_EQ(rte_eth_tx_burst_mode_get(port, 0, &mode), 0);
  return mode.info;
}

TEST(TxChecksums, AreFilledInWhereThePortIsConfiguredForIt) {
  const Pool pool(256);
  for (const bool asked : {true, false}) {
    Vdev vdev("wire=loopback");
    vdev.Start(1, pool.get(), 0, 1500, asked ? kTxChecksumOffloads : 0);
    EXPECT_EQ(TxBurstMode(vdev.port()).find("Software") != std::string::npos, asked);
    for (const uint16_t segment : {0, 33}) {
      const Bytes udp = Spoilt(Udp(), {24, 40}), tcp = Spoilt(Tcp(), {24, 50});
      Send(vdev, pool, udp, kUdp4, 20, segment);
      EXPECT_EQ(Receive(vdev), asked ? Udp() : udp);
      Send(vdev, pool, tcp, kTcp4, 20, segment);
      EXPECT_EQ(Receive(vdev), asked ? Tcp() : tcp);
      Send(vdev, pool, udp, 0, 0, segment);
      EXPECT_EQ(Receive(vdev), udp) << "it asks for nothing";
    }
    if (!asked) continue;
    Send(vdev, pool, Udp(), kUdp4, 200);
    Send(vdev, pool, Tcp(), kTcp4, 20);
    EXPECT_EQ(Receive(vdev), Tcp()) << "a nonsensical request does not affect others";
    EXPECT_EQ(vdev.Xstat("tx_bad_packet"), 1u);
    EXPECT_EQ(vdev.Stats().oerrors, 1u);
    EXPECT_EQ(vdev.Stats().opackets, 7u);
  }
}

TEST(TxChecksums, OfFramesForTheExceptionPortAreFilledInWhereTheyLie) {
  const Pool pool(256);
  rte_ring* const ring = rte_ring_create("checksums", 64, SOCKET_ID_ANY, 0);
  ASSERT_NE(ring, nullptr);
  const int other = rte_eth_from_ring(ring);
  ASSERT_GE(other, 0);
  {
    Vdev vdev("wire=loopback,exception=net_ring_checksums");
    vdev.Start(1, pool.get(), 0, 1500, kTxChecksumOffloads);
    const Bytes whole = Udp6Frame(99, 3), asking = Spoilt(whole, {60});
    Send(vdev, pool, asking, kUdp6, 40);
    Send(vdev, pool, asking, kUdp6, 40, 30);
    void* mbuf = nullptr;
    ASSERT_EQ(rte_ring_dequeue(ring, &mbuf), 0);
    EXPECT_EQ(Contents(static_cast<rte_mbuf*>(mbuf)), whole);
    rte_pktmbuf_free(static_cast<rte_mbuf*>(mbuf));
    EXPECT_NE(rte_ring_dequeue(ring, &mbuf), 0) << "of segments: counted instead";
    EXPECT_EQ(vdev.Xstat("tx_exceptions"), 1u);
    EXPECT_EQ(vdev.Xstat("tx_unframeable"), 1u);
  }
  rte_eth_dev_close(static_cast<uint16_t>(other));
  rte_vdev_uninit("net_ring_checksums");
  rte_ring_free(ring);
}

}  // namespace
}  // namespace sluice::net_enso
