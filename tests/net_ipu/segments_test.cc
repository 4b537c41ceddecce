// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the port's device segments a large TCP frame sent through ethdev.
#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_tcp.h>

#include <cstring>
#include <string>

#include "ethdev_fixture.h"

namespace sluice::net_ipu::test {
namespace {

TEST(Tso, SegmentsComeBackWithChecksumsThatHold) {
  Port port("wire=loopback",
            {.rx_offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM,
             .tx_offloads = RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS});
  port.Start();
  constexpr uint32_t kPayload = 5000, kSegment = 1400, kHeaders = 54;
  std::string frame(kHeaders, '\0');
  frame[12] = 0x08;
  auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(frame.data() + 14);
  ip->version_ihl = 0x45;
  ip->total_length = rte_cpu_to_be_16(40 + kPayload);
  ip->time_to_live = 64;
  ip->next_proto_id = IPPROTO_TCP;
  ip->src_addr = RTE_BE32(0x0a000001), ip->dst_addr = RTE_BE32(0x0a000002);
  auto* const tcp = reinterpret_cast<rte_tcp_hdr*>(ip + 1);
  tcp->data_off = 0x50;
  tcp->tcp_flags = RTE_TCP_ACK_FLAG;
  std::string payload;
  for (uint32_t i = 0; i < kPayload; ++i) payload += static_cast<char>(i * 3 + i / 256);
  rte_mbuf* const head = port.Fill(frame);
  for (uint32_t at = 0; at < kPayload; at += 1250) {
    ASSERT_EQ(rte_pktmbuf_chain(head, port.Fill(payload.substr(at, 1250))), 0);
  }
  head->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
  head->l2_len = 14, head->l3_len = 20, head->l4_len = 20, head->tso_segsz = kSegment;
  rte_mbuf* burst = head;
  ASSERT_EQ(rte_eth_tx_prepare(port.id, 0, &burst, 1), 1);
  port.Send(burst);
  std::string back;
  uint32_t frames = 0;
  EXPECT_TRUE(port.ReceiveUntil([&] { return back.size() == kPayload; },
                                [&](uint16_t, rte_mbuf* m) {
                                  ++frames;
                                  EXPECT_TRUE(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_GOOD);
                                  EXPECT_TRUE(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD);
                                  back.append(rte_pktmbuf_mtod_offset(m, const char*, kHeaders),
                                              m->pkt_len - kHeaders);
                                }));
  EXPECT_EQ(frames, 4u);
  EXPECT_EQ(back, payload);
  EXPECT_EQ(port.Xstats().at("model_tx_frames"), 4u);
  EXPECT_EQ(port.Xstats().at("tx_good_packets"), 1u);
}

}  // namespace
}  // namespace sluice::net_ipu::test
