// SPDX-License-Identifier: BSD-3-Clause
//
// Tests net_ipu as an application uses it: probing, traffic, RSS, flow rules, restarts and
// statistics. The model runs in a separate thread.
#include <gtest/gtest.h>
#include <rte_flow.h>
#include <rte_thash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ethdev_fixture.h"
#include "flow_rule.h"

namespace sluice::net_ipu::test {
namespace {

constexpr uint64_t kRssUdp = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP;

TEST(Probe, ArgumentsThatCannotBeAreRefused) {
  for (const char* bad :
       {"queues=0", "queues=17", "queues=x", "queues=4x", "nonsense=1", "wire=nowhere", "wire",
        "queues=", "wire=gen:size=1", "ring=32", "ring=1000", "ring=8192"}) {
    EXPECT_LT(rte_vdev_init("net_ipu_bad", bad), 0) << bad;
    uint16_t id;
    EXPECT_NE(rte_eth_dev_get_port_by_name("net_ipu_bad", &id), 0) << bad;
  }
}

TEST(Probe, TheQueueLimitIsThePorts) {
  Port port("queues=3");
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(port.id, &info), 0);
  EXPECT_EQ(info.max_rx_queues, 3);
  EXPECT_EQ(info.max_tx_queues, 3);
  EXPECT_STREQ(info.driver_name, "net_ipu");
  EXPECT_TRUE(rte_pmd_ipu_supported(port.id));
  EXPECT_FALSE(rte_pmd_ipu_supported(RTE_MAX_ETHPORTS));
}

TEST(Probe, TheRingSizeIsThePortsRecommendation) {
  Port port("ring=2048");
  rte_eth_dev_info info;
  ASSERT_EQ(rte_eth_dev_info_get(port.id, &info), 0);
  EXPECT_EQ(info.default_rxportconf.ring_size, 2048);
  EXPECT_EQ(info.default_txportconf.ring_size, 2048);
}

TEST(Traffic, WhatIsEchoedComesBackToTheWireWhole) {
  Port port("wire=gen:size=64/128/1518+flows=64+count=20000,verify=full");
  port.Start();
  EXPECT_EQ(port.Echo(20000), 20000u);
  rte_eth_dev_stop(port.id);
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("wire_returned"), 20000u);
  EXPECT_EQ(stats.at("wire_lost") + stats.at("wire_corrupted") + stats.at("wire_duplicated") +
                stats.at("wire_reordered"),
            0u);
  rte_eth_stats totals;
  rte_eth_stats_get(port.id, &totals);
  EXPECT_EQ(totals.ipackets, 20000u);
  EXPECT_EQ(totals.opackets, 20000u);
  EXPECT_EQ(totals.ibytes, totals.obytes);
  EXPECT_EQ(totals.imissed + totals.ierrors + totals.oerrors, 0u);
}

TEST(Traffic, JumboFramesAreScatteredAndReturnWhole) {
  Port port("wire=gen:size=9018/64+count=3000,verify=full",
            {.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS, .mtu = 9000, .room = 1024});
  port.Start();
  EXPECT_EQ(port.Echo(3000), 3000u);
  rte_eth_dev_stop(port.id);
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("wire_returned"), 3000u);
  EXPECT_EQ(stats.at("wire_corrupted") + stats.at("wire_lost"), 0u);
}

TEST(Traffic, FramesLongerThanTheMtuAreCounted) {
  Port port("wire=gen:size=64/1518+count=2000", {.mtu = 600});
  port.Start();
  uint64_t received = 0;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received == 1000; },
                                [&](uint16_t, rte_mbuf* m) {
                                  EXPECT_EQ(m->pkt_len, 60u);
                                  ++received;
                                }));
  EXPECT_TRUE(Eventually([&] { return port.Xstats().at("model_rx_oversize") == 1000; }));
}

TEST(Traffic, AnMtuThatTheBuffersHoldNoFrameOfIsRefusedWhileRunning) {
  // The mbuf has 1500 bytes after the headroom. A frame is longer than the MTU by 14 bytes plus
  // tags.
  Port port("wire=gen:size=1400+count=100", {.mtu = 1400, .room = 1500});
  port.Start();
  EXPECT_EQ(rte_eth_dev_set_mtu(port.id, 1478), 0);
  EXPECT_EQ(rte_eth_dev_set_mtu(port.id, 1479), -EBUSY);
  uint64_t received = 0;
  EXPECT_TRUE(
      port.ReceiveUntil([&] { return received == 100; }, [&](uint16_t, rte_mbuf*) { ++received; }));
}

/// Returns DPDK's hash of an IPv4/UDP frame. The hash covers the addresses and, if `with_ports` is
/// set, the ports.
uint32_t SoftwareHash(const rte_mbuf* m, const uint8_t* key, bool with_ports) {
  const auto* ip = rte_pktmbuf_mtod_offset(m, const rte_ipv4_hdr*, 14);
  const auto* ports = reinterpret_cast<const rte_be16_t*>(ip + 1);
  uint32_t tuple[3] = {rte_be_to_cpu_32(ip->src_addr), rte_be_to_cpu_32(ip->dst_addr),
                       uint32_t{rte_be_to_cpu_16(ports[0])} << 16 | rte_be_to_cpu_16(ports[1])};
  return rte_softrss(tuple, with_ports ? 3 : 2, key);
}

TEST(Rss, SpreadsFlowsAndReportsTheHashThatDpdkComputes) {
  Port port("wire=gen:size=64+flows=1000+count=20000", {.queues = 4, .rss_types = kRssUdp});
  uint8_t key[40];
  rte_eth_rss_conf conf{};
  conf.rss_key = key, conf.rss_key_len = sizeof(key);
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(port.id, &conf), 0);
  EXPECT_EQ(conf.rss_hf, kRssUdp);
  port.Start();
  uint64_t by_queue[4] = {};
  uint64_t received = 0;
  std::map<uint32_t, uint16_t> queue_of;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received == 20000; },
                                [&](uint16_t queue, rte_mbuf* m) {
                                  ++received;
                                  ++by_queue[queue];
                                  ASSERT_TRUE(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
                                  ASSERT_EQ(m->hash.rss, SoftwareHash(m, key, true));
                                  const auto [it, first] = queue_of.emplace(m->hash.rss, queue);
                                  EXPECT_EQ(it->second, queue) << "one flow, one queue";
                                }));
  for (const uint64_t share : by_queue) EXPECT_GT(share, 20000u / 8);
}

TEST(Rss, HashesWhatTheTypesNameAndNothingElse) {
  const struct {
    uint64_t types;
    bool hashed, with_ports;
  } kCases[] = {{RTE_ETH_RSS_IPV4, true, false},
                {RTE_ETH_RSS_NONFRAG_IPV4_UDP, true, true},
                {RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP, true, false},
                {RTE_ETH_RSS_NONFRAG_IPV4_TCP, false, false},
                {RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_UDP, false, false}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.types);
    Port port("wire=gen:size=64+flows=10+count=20", {.rss_types = c.types});
    uint8_t key[40];
    rte_eth_rss_conf conf{};
    conf.rss_key = key, conf.rss_key_len = sizeof(key);
    ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(port.id, &conf), 0);
    port.Start();
    uint64_t received = 0;
    EXPECT_TRUE(port.ReceiveUntil([&] { return received == 20; },
                                  [&](uint16_t, rte_mbuf* m) {
                                    ++received;
                                    const bool hashed = m->ol_flags & RTE_MBUF_F_RX_RSS_HASH;
                                    ASSERT_EQ(hashed, c.hashed);
                                    if (!hashed) return;
                                    EXPECT_EQ(m->hash.rss, SoftwareHash(m, key, c.with_ports));
                                  }));
  }
}

TEST(Rss, AKeyOfAnotherLengthIsRefused) {
  Port port("wire=gen:size=64+count=1", {.queues = 2, .rss_types = kRssUdp});
  std::array<uint8_t, 52> key;
  key.fill(0x5a);
  rte_eth_conf conf{};
  conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  rte_eth_rss_conf& rss = conf.rx_adv_conf.rss_conf;
  rss.rss_hf = kRssUdp, rss.rss_key = key.data();
  for (const int bytes : {39, 41, 52}) {
    rss.rss_key_len = static_cast<uint8_t>(bytes);
    EXPECT_EQ(rte_eth_dev_configure(port.id, 2, 2, &conf), -EINVAL) << bytes;
  }
  rss.rss_key_len = 40;
  EXPECT_EQ(rte_eth_dev_configure(port.id, 2, 2, &conf), 0);
  std::array<uint8_t, 40> told{};
  rte_eth_rss_conf told_conf{};
  told_conf.rss_key = told.data(), told_conf.rss_key_len = told.size();
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(port.id, &told_conf), 0);
  EXPECT_TRUE(std::equal(told.begin(), told.end(), key.begin()));
}

TEST(Rss, TheTableDecides) {
  Port port("wire=gen:size=64+flows=100+count=1000", {.queues = 4, .rss_types = kRssUdp});
  rte_eth_rss_reta_entry64 reta[2] = {};
  for (auto& group : reta) {
    group.mask = UINT64_MAX;
    for (auto& queue : group.reta) queue = 2;
  }
  ASSERT_EQ(rte_eth_dev_rss_reta_update(port.id, reta, 128), 0);
  port.Start();
  uint64_t received = 0;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received == 1000; },
                                [&](uint16_t queue, rte_mbuf*) {
                                  EXPECT_EQ(queue, 2);
                                  ++received;
                                }));
  rte_eth_rss_reta_entry64 read[2] = {{.mask = UINT64_MAX, .reta = {}},
                                      {.mask = UINT64_MAX, .reta = {}}};
  ASSERT_EQ(rte_eth_dev_rss_reta_query(port.id, read, 128), 0);
  EXPECT_EQ(read[1].reta[63], 2);
}

TEST(Flow, AFiveTupleGoesToItsQueueMarkedAndCounted) {
  Port port("wire=gen:size=64+flows=10", {.queues = 2});
  port.Start();
  // Learns one flow from the wire.
  rte_ipv4_hdr ip{};
  rte_be16_t ports[2] = {};
  bool learnt = false;
  ASSERT_TRUE(port.ReceiveUntil([&] { return learnt; },
                                [&](uint16_t queue, rte_mbuf* m) {
                                  EXPECT_EQ(queue, 0);
                                  ip = *rte_pktmbuf_mtod_offset(m, const rte_ipv4_hdr*, 14);
                                  std::memcpy(ports, rte_pktmbuf_mtod_offset(m, const uint8_t*, 34),
                                              4);
                                  learnt = true;
                                }));
  Rule rule;
  rule.ip_spec.hdr.src_addr = ip.src_addr, rule.ip_mask.hdr.src_addr = UINT32_MAX;
  rule.ip_spec.hdr.dst_addr = ip.dst_addr, rule.ip_mask.hdr.dst_addr = UINT32_MAX;
  rule.udp_spec.hdr.src_port = ports[0], rule.udp_mask.hdr.src_port = UINT16_MAX;
  rule.udp_spec.hdr.dst_port = ports[1], rule.udp_mask.hdr.dst_port = UINT16_MAX;
  rule.queue.index = 1;
  rule.mark.id = 4711;
  rte_flow* const flow = rule.Create(port.id);
  ASSERT_NE(flow, nullptr) << rule.error.message;
  EXPECT_EQ(rule.Create(port.id), nullptr) << "the same rule twice";

  uint64_t steered = 0;
  EXPECT_TRUE(port.ReceiveUntil(
      [&] { return steered >= 100; },
      [&](uint16_t queue, rte_mbuf* m) {
        if (queue != 1) return;
        EXPECT_TRUE(m->ol_flags & RTE_MBUF_F_RX_FDIR_ID);
        EXPECT_EQ(m->hash.fdir.hi, 4711u);
        const auto* seen = rte_pktmbuf_mtod_offset(m, const rte_ipv4_hdr*, 14);
        EXPECT_EQ(seen->src_addr, ip.src_addr);
        EXPECT_EQ(std::memcmp(rte_pktmbuf_mtod_offset(m, const uint8_t*, 34), ports, 4), 0);
        ++steered;
      }));
  rte_flow_query_count count{};
  ASSERT_EQ(rte_flow_query(port.id, flow, &rule.actions[2], &count, &rule.error), 0);
  EXPECT_GE(count.hits, steered);
  EXPECT_EQ(count.bytes, count.hits * 60);
  EXPECT_EQ(rte_flow_destroy(port.id, flow, &rule.error), 0);
  EXPECT_NE(rule.Create(port.id), nullptr);
  EXPECT_EQ(rte_flow_flush(port.id, &rule.error), 0);
}

TEST(Flow, DroppedFramesAreCountedByTheirReason) {
  Port port("wire=gen:size=64+flows=10+count=1000");
  Rule rule;
  rule.actions[0] = {RTE_FLOW_ACTION_TYPE_DROP, nullptr};
  ASSERT_NE(rule.Create(port.id), nullptr) << rule.error.message;  // Matches every UDP frame.
  port.Start();
  EXPECT_TRUE(port.ReceiveUntil([&] { return port.Xstats().at("model_rx_flow_drop") == 1000; },
                                [](uint16_t, rte_mbuf*) { ADD_FAILURE(); }));
}

TEST(Flow, WhatTheTableCannotHoldIsRefusedWithAReason) {
  Port port("", {.queues = 2});
  const auto refused = [&](const std::function<void(Rule&)>& change) {
    Rule rule;
    change(rule);
    const int result =
        rte_flow_validate(port.id, &rule.attributes, rule.pattern, rule.actions, &rule.error);
    EXPECT_EQ(rte_flow_create(port.id, &rule.attributes, rule.pattern, rule.actions, &rule.error),
              nullptr);
    EXPECT_NE(rule.error.message, nullptr);
    return result;
  };
  EXPECT_EQ(refused([](Rule& r) { r.ip_mask.hdr.src_addr = rte_cpu_to_be_32(0xffffff00); }),
            -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.ip_mask.hdr.dst_addr = rte_cpu_to_be_32(0x7fffffff); }),
            -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.udp_mask.hdr.dst_port = 0x00ff; }), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.udp_mask.hdr.src_port = 0x7fff; }), -ENOTSUP);
  // The mask covers only part of the protocol that the UDP item implies.
  EXPECT_EQ(refused([](Rule& r) {
              r.ip_spec.hdr.next_proto_id = IPPROTO_UDP;
              r.ip_mask.hdr.next_proto_id = 0x7f;
            }),
            -ENOTSUP);
  rte_flow_item_ipv6 ip6_spec{}, ip6_mask{};
  const auto refused_ipv6 = [&](uint8_t* mask_byte) {
    ip6_spec.hdr.proto = IPPROTO_UDP;
    ip6_mask = {};
    *mask_byte = 0x7f;
    return refused([&](Rule& r) {
      r.pattern[1] = {RTE_FLOW_ITEM_TYPE_IPV6, &ip6_spec, nullptr, &ip6_mask};
    });
  };
  EXPECT_EQ(refused_ipv6(&ip6_mask.hdr.proto), -ENOTSUP);
  EXPECT_EQ(refused_ipv6(reinterpret_cast<uint8_t*>(&ip6_mask.hdr.src_addr) + 15), -ENOTSUP);
  EXPECT_EQ(refused_ipv6(reinterpret_cast<uint8_t*>(&ip6_mask.hdr.dst_addr)), -ENOTSUP);
  EXPECT_EQ(refused_ipv6(&ip6_mask.hdr.hop_limits), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.ip_mask.hdr.time_to_live = 0xff; }), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.udp_mask.hdr.dgram_len = 0xffff; }), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.pattern[2].last = &r.udp_spec; }), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.pattern[1].type = RTE_FLOW_ITEM_TYPE_VXLAN; }), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) {
              r.pattern[1].type = RTE_FLOW_ITEM_TYPE_VOID;
              r.pattern[2].type = RTE_FLOW_ITEM_TYPE_VOID;
            }),
            -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.actions[0].conf = nullptr; }), -EINVAL);
  EXPECT_EQ(refused([](Rule& r) { r.actions[1].conf = nullptr; }), -EINVAL);
  EXPECT_EQ(refused([](Rule& r) { r.queue.index = 2; }), -EINVAL);
  EXPECT_EQ(refused([](Rule& r) { r.actions[0].type = RTE_FLOW_ACTION_TYPE_VOID; }), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.actions[1].type = RTE_FLOW_ACTION_TYPE_DROP; }), -ENOTSUP);
  EXPECT_EQ(refused([](Rule& r) { r.actions[1].type = RTE_FLOW_ACTION_TYPE_METER; }), -ENOTSUP);
}

/// A rule as created by Open vSwitch for a flow that it forwards itself.
TEST(Flow, RulesOfOpenVswitchMarkFramesAndLeaveTheirQueueToRss) {
  Port port("wire=gen:size=64+flows=100", {.queues = 2, .rss_types = kRssUdp});
  const uint16_t queues[] = {0, 1};
  rte_flow_action_rss rss{};
  rss.queue_num = 2, rss.queue = queues;
  rte_flow_item_eth eth_spec{}, eth_mask{};
  eth_spec.hdr.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4), eth_mask.hdr.ether_type = UINT16_MAX;
  eth_mask.has_vlan = 1;
  Rule rule;
  rule.pattern[0].spec = &eth_spec, rule.pattern[0].mask = &eth_mask;
  rule.ip_mask.hdr.fragment_offset = RTE_BE16(0x3fff);
  rule.mark.id = 99;
  rule.actions[0] = {RTE_FLOW_ACTION_TYPE_RSS, &rss};
  rte_flow* const flow = rule.Create(port.id);
  ASSERT_NE(flow, nullptr) << rule.error.message;
  port.Start();
  uint64_t received[2] = {};
  EXPECT_TRUE(port.ReceiveUntil([&] { return received[0] > 100 && received[1] > 100; },
                                [&](uint16_t queue, rte_mbuf* m) {
                                  ++received[queue];
                                  EXPECT_TRUE(m->ol_flags & RTE_MBUF_F_RX_FDIR_ID);
                                  EXPECT_EQ(m->hash.fdir.hi, 99u);
                                }));
  rte_flow_query_count count{};
  ASSERT_EQ(rte_flow_query(port.id, flow, &rule.actions[2], &count, &rule.error), 0);
  EXPECT_GE(count.hits, received[0] + received[1]);
}

TEST(Flow, AFlagTellsAHitAndIsolationDropsTheRest) {
  Port port("wire=gen:size=64+flows=10+count=100");
  Rule rule;
  rule.actions[1] = {RTE_FLOW_ACTION_TYPE_FLAG, nullptr};
  ASSERT_NE(rule.Create(port.id), nullptr) << rule.error.message;
  ASSERT_EQ(rte_flow_isolate(port.id, 1, &rule.error), 0);
  port.Start();
  uint64_t received = 0;
  EXPECT_TRUE(port.ReceiveUntil(
      [&] { return received == 100; },
      [&](uint16_t, rte_mbuf* m) {
        ++received;
        EXPECT_EQ(m->ol_flags & (RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID), RTE_MBUF_F_RX_FDIR);
      }));
  EXPECT_EQ(rte_flow_isolate(port.id, 0, &rule.error), 0);
}

/// A pattern with inconsistent items is refused, with an error for the wrong item; consistent items
/// are accepted.
TEST(Flow, ItemsBelowIpMustAgree) {
  Port port("", {.queues = 2});
  rte_flow_item_eth eth_spec{}, eth_mask{};
  rte_flow_item_vlan vlan_spec{}, vlan_mask{};
  rte_flow_item_ipv6 ip6_spec{}, ip6_mask{};
  const uint16_t one[] = {0};
  rte_flow_action_rss rss{};
  const auto result = [&](const std::function<void(Rule&)>& change, bool tagged = false) {
    eth_spec = {}, eth_mask = {}, vlan_spec = {}, vlan_mask = {}, ip6_spec = {}, ip6_mask = {};
    Rule rule;
    rule.pattern[0] = {RTE_FLOW_ITEM_TYPE_ETH, &eth_spec, nullptr, &eth_mask};
    if (tagged) {
      rule.pattern[2] = rule.pattern[1];
      rule.pattern[1] = {RTE_FLOW_ITEM_TYPE_VLAN, &vlan_spec, nullptr, &vlan_mask};
    }
    change(rule);
    return rte_flow_validate(port.id, &rule.attributes, rule.pattern, rule.actions, &rule.error);
  };
  const auto type = [&](uint16_t value) {
    eth_spec.hdr.ether_type = rte_cpu_to_be_16(value), eth_mask.hdr.ether_type = UINT16_MAX;
  };
  const auto with_ipv6 = [&](Rule& r) {
    r.pattern[1] = {RTE_FLOW_ITEM_TYPE_IPV6, &ip6_spec, nullptr, &ip6_mask};
  };
  EXPECT_EQ(result([&](Rule&) { type(0x0800); }), 0);
  EXPECT_EQ(result([&](Rule&) { type(0x86dd); }), -ENOTSUP);
  EXPECT_EQ(result([&](Rule& r) { type(0x86dd), with_ipv6(r); }), 0);
  EXPECT_EQ(result([&](Rule&) { type(0x8100); }), -ENOTSUP) << "no vlan item";
  EXPECT_EQ(result([&](Rule&) { eth_mask.hdr.ether_type = 0x00ff; }), -ENOTSUP);
  EXPECT_EQ(result([&](Rule&) { eth_mask.has_vlan = 1; }), 0);
  EXPECT_EQ(result([&](Rule&) { eth_mask.has_vlan = 1, eth_spec.has_vlan = 1; }), -ENOTSUP);
  EXPECT_EQ(result([&](Rule&) { std::memset(&eth_mask.hdr.dst_addr, 0xff, 6); }), 0);
  EXPECT_EQ(result([&](Rule&) { std::memset(&eth_mask.hdr.src_addr, 0xff, 5); }), -ENOTSUP);
  EXPECT_EQ(result([&](Rule&) {}, true), 0);
  EXPECT_EQ(result([&](Rule&) { type(0x8100); }, true), 0);
  EXPECT_EQ(result([&](Rule&) { type(0x0800); }, true), -ENOTSUP);
  EXPECT_EQ(result([&](Rule&) { eth_mask.has_vlan = 1; }, true), -ENOTSUP);
  EXPECT_EQ(result([&](Rule&) { eth_mask.has_vlan = eth_spec.has_vlan = 1; }, true), 0);
  EXPECT_EQ(result([&](Rule&) { vlan_mask.hdr.vlan_tci = RTE_BE16(0x0fff); }, true), 0);
  EXPECT_EQ(result([&](Rule&) { vlan_mask.hdr.vlan_tci = RTE_BE16(0xe000); }, true), -ENOTSUP);
  EXPECT_EQ(result([&](Rule&) { vlan_mask.has_more_vlan = 1; }, true), 0);
  EXPECT_EQ(result([&](Rule&) { vlan_mask.has_more_vlan = vlan_spec.has_more_vlan = 1; }, true),
            -ENOTSUP);
  EXPECT_EQ(result([&](Rule& r) { r.ip_mask.hdr.fragment_offset = RTE_BE16(0x3fff); }), 0);
  EXPECT_EQ(result([&](Rule& r) { r.ip_mask.hdr.fragment_offset = RTE_BE16(0x1fff); }), -ENOTSUP);
  EXPECT_EQ(result([&](Rule& r) { with_ipv6(r), ip6_mask.has_frag_ext = 1; }), 0);
  EXPECT_EQ(
      result([&](Rule& r) { with_ipv6(r), ip6_mask.has_frag_ext = ip6_spec.has_frag_ext = 1; }),
      -ENOTSUP);
  EXPECT_EQ(result([&](Rule& r) { with_ipv6(r), ip6_mask.has_esp_ext = 1; }), -ENOTSUP);
  // A rule's RSS action cannot select queues or a level, because frames are spread by the port's
  // RSS.
  rss.queue_num = 1, rss.queue = one;
  EXPECT_EQ(result([&](Rule& r) { r.actions[0] = {RTE_FLOW_ACTION_TYPE_RSS, &rss}; }), -ENOTSUP);
  rss.queue_num = 0, rss.level = 2;
  EXPECT_EQ(result([&](Rule& r) { r.actions[0] = {RTE_FLOW_ACTION_TYPE_RSS, &rss}; }), -ENOTSUP);
  rss.level = 0;
  EXPECT_EQ(result([&](Rule& r) { r.actions[0] = {RTE_FLOW_ACTION_TYPE_RSS, &rss}; }), 0);
  EXPECT_EQ(result([&](Rule& r) { r.actions[0] = {RTE_FLOW_ACTION_TYPE_PASSTHRU, nullptr}; }), 0);
}

TEST(Flow, RulesThatShareACounterAddUp) {
  Port port("wire=gen:size=64+flows=10+count=1000");
  rte_flow_error error{};
  const rte_flow_indir_action_conf conf{.ingress = 1, .egress = 0, .transfer = 0};
  const rte_flow_action counting{RTE_FLOW_ACTION_TYPE_COUNT, nullptr};
  const rte_flow_action dropping{RTE_FLOW_ACTION_TYPE_DROP, nullptr};
  EXPECT_EQ(rte_flow_action_handle_create(port.id, &conf, &dropping, &error), nullptr);
  rte_flow_action_handle* const counter =
      rte_flow_action_handle_create(port.id, &conf, &counting, &error);
  ASSERT_NE(counter, nullptr);
  Rule udp, tcp;
  tcp.pattern[2] = {RTE_FLOW_ITEM_TYPE_TCP, nullptr, nullptr, nullptr};
  for (Rule* const rule : {&udp, &tcp}) {
    rule->actions[2] = {RTE_FLOW_ACTION_TYPE_INDIRECT, counter};
  }
  rte_flow* const flow = udp.Create(port.id);
  ASSERT_NE(flow, nullptr) << udp.error.message;
  ASSERT_NE(tcp.Create(port.id), nullptr) << tcp.error.message;
  EXPECT_EQ(rte_flow_action_handle_destroy(port.id, counter, &error), -EBUSY);
  port.Start();
  uint64_t received = 0;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received == 1000; },
                                [&](uint16_t, rte_mbuf*) { ++received; }));
  rte_flow_query_count count{};
  ASSERT_EQ(rte_flow_action_handle_query(port.id, counter, &count, &error), 0);
  EXPECT_EQ(count.hits, 1000u);
  EXPECT_EQ(count.bytes, 60'000u);
  count.reset = 1;
  ASSERT_EQ(rte_flow_query(port.id, flow, &counting, &count, &error), 0);
  count.reset = 0;
  ASSERT_EQ(rte_flow_action_handle_query(port.id, counter, &count, &error), 0);
  EXPECT_EQ(count.hits, 1000u) << "though the rule's own count was reset";
  ASSERT_EQ(rte_flow_destroy(port.id, flow, &error), 0);
  count.reset = 1;
  ASSERT_EQ(rte_flow_action_handle_query(port.id, counter, &count, &error), 0);
  EXPECT_EQ(count.hits, 1000u) << "though the rule is gone";
  ASSERT_EQ(rte_flow_action_handle_query(port.id, counter, &count, &error), 0);
  EXPECT_EQ(count.hits, 0u);
  ASSERT_EQ(rte_flow_flush(port.id, &error), 0);
  EXPECT_EQ(rte_flow_action_handle_destroy(port.id, counter, &error), 0);
  EXPECT_EQ(rte_flow_action_handle_destroy(port.id, counter, &error), -ENOENT);
  EXPECT_EQ(rte_flow_action_handle_query(port.id, counter, &count, &error), -ENOENT);
  EXPECT_EQ(rte_flow_create(port.id, &udp.attributes, udp.pattern, udp.actions, &udp.error),
            nullptr)
      << "the counter is gone";
}

TEST(Flow, ADumpShowsEveryRule) {
  Port port("");
  Rule rule;
  rule.ip_spec.hdr.dst_addr = RTE_BE32(0xc0000201), rule.ip_mask.hdr.dst_addr = UINT32_MAX;
  rule.udp_spec.hdr.dst_port = RTE_BE16(53), rule.udp_mask.hdr.dst_port = UINT16_MAX;
  rule.mark.id = 7;
  rte_flow* const flow = rule.Create(port.id);
  ASSERT_NE(flow, nullptr) << rule.error.message;
  char* text = nullptr;
  size_t bytes = 0;
  FILE* const file = open_memstream(&text, &bytes);
  EXPECT_EQ(rte_flow_dev_dump(port.id, nullptr, file, &rule.error), 0);
  std::fclose(file);
  EXPECT_NE(std::string(text).find("ipv4 destination 192.0.2.1 protocol 17 destination port 53: "
                                   "queue 0, mark 7, count\n"),
            std::string::npos)
      << text;
  std::free(text);
}

TEST(Flow, ARefusalNamesTheAttribute) {
  Port port("");
  const struct {
    void (*change)(rte_flow_attr&);
    rte_flow_error_type type;
  } kCases[] = {
      {[](rte_flow_attr& a) { a.group = 1; }, RTE_FLOW_ERROR_TYPE_ATTR_GROUP},
      {[](rte_flow_attr& a) { a.priority = 1; }, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY},
      {[](rte_flow_attr& a) { a.egress = 1; }, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS},
      {[](rte_flow_attr& a) { a.transfer = 1, a.ingress = 0; }, RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER},
      {[](rte_flow_attr& a) { a.ingress = 0; }, RTE_FLOW_ERROR_TYPE_ATTR_INGRESS},
  };
  for (const auto& [change, type] : kCases) {
    Rule rule;
    change(rule.attributes);
    EXPECT_EQ(rte_flow_validate(port.id, &rule.attributes, rule.pattern, rule.actions, &rule.error),
              -ENOTSUP);
    EXPECT_EQ(rule.error.type, type);
    EXPECT_NE(rule.error.message, nullptr);
  }
}

TEST(Restart, ARuleToAQueueThatIsGoneForbidsTheStart) {
  Port port("wire=gen:size=64+flows=10", {.queues = 2});
  Rule rule;
  rule.queue.index = 1;
  ASSERT_NE(rule.Create(port.id), nullptr) << rule.error.message;
  const rte_eth_conf conf{};
  ASSERT_EQ(rte_eth_dev_configure(port.id, 1, 1, &conf), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(port.id, 0, 512, 0, nullptr, port.pool()), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(port.id, 0, 512, 0, nullptr), 0);
  EXPECT_EQ(rte_eth_dev_start(port.id), -EINVAL);
  ASSERT_EQ(rte_flow_flush(port.id, &rule.error), 0);
  EXPECT_EQ(rte_eth_dev_start(port.id), 0);
}

TEST(Restart, AResetForgetsRulesAndKeepsTheConfiguration) {
  Port port("wire=gen:size=64+flows=100", {.queues = 2, .rss_types = kRssUdp});
  Rule rule;
  rule.actions[0] = {RTE_FLOW_ACTION_TYPE_DROP, nullptr};
  ASSERT_NE(rule.Create(port.id), nullptr) << rule.error.message;  // Matches every UDP frame.
  port.Start();
  EXPECT_TRUE(port.ReceiveUntil([&] { return port.Xstats().at("model_rx_flow_drop") > 0; },
                                [](uint16_t, rte_mbuf*) { ADD_FAILURE(); }));
  ASSERT_EQ(rte_eth_dev_reset(port.id), 0);
  port.Start();
  uint64_t received[2] = {};
  EXPECT_TRUE(port.ReceiveUntil([&] { return received[0] > 100 && received[1] > 100; },
                                [&](uint16_t queue, rte_mbuf*) { ++received[queue]; }));
}

TEST(Restart, TenTimesUnderTrafficLeavesNothingBehind) {
  Port port("wire=gen:size=64+flows=100", {.queues = 2, .rss_types = kRssUdp});
  const uint32_t full = rte_mempool_avail_count(port.pool());
  for (int round = 0; round < 10; ++round) {
    port.Start();
    EXPECT_GE(port.Echo(2000), 2000u);
    ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
    EXPECT_EQ(rte_mempool_avail_count(port.pool()), full) << "round " << round;
  }
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("model_rx_frames"),
            stats.at("rx_good_packets") + stats.at("rx_stop_discards"));
  // The basic statistics include all frames that were lost because of a stop.
  EXPECT_EQ(stats.at("rx_good_packets") + stats.at("rx_missed_errors"),
            stats.at("model_rx_frames") + stats.at("model_rx_no_descriptor") +
                stats.at("model_rx_disabled"));
  EXPECT_EQ(stats.at("model_tx_frames"), stats.at("tx_good_packets"));
  EXPECT_EQ(stats.at("wire_corrupted") + stats.at("wire_duplicated"), 0u);
}

TEST(Link, FollowsThePortAndItsAdministrator) {
  Port port("wire=gen:size=64");
  rte_eth_link link;
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
  port.Start();
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
  EXPECT_EQ(link.link_speed, RTE_ETH_SPEED_NUM_200G);
  EXPECT_GE(port.Echo(1000), 1000u);
  EXPECT_EQ(rte_eth_dev_set_link_down(port.id), 0);
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
  EXPECT_EQ(rte_eth_dev_set_link_up(port.id), 0);
  EXPECT_GE(port.Echo(1000), 1000u);
}

// tests/net_enso contains the same test.
TEST(Link, ThatWasSetDownStaysDownUntilItIsSetUp) {
  Port port("wire=gen:size=64+rate=10k");
  const auto up = [&] {
    rte_eth_link link{};
    EXPECT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
    return link.link_status == RTE_ETH_LINK_UP;
  };
  const auto offered = [&] { return port.Xstats().at("wire_offered"); };
  port.Start();
  ASSERT_EQ(rte_eth_dev_set_link_down(port.id), 0);
  const uint64_t before = offered();
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  ASSERT_EQ(rte_eth_dev_start(port.id), 0);
  EXPECT_FALSE(up());
  EXPECT_EQ(offered(), before);
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  ASSERT_EQ(rte_eth_dev_set_link_up(port.id), 0);
  EXPECT_FALSE(up()) << "no queue would receive the frames";
  EXPECT_EQ(offered(), before);
  ASSERT_EQ(rte_eth_dev_start(port.id), 0);
  EXPECT_TRUE(up());
  EXPECT_GE(port.Echo(10), 10u);
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  ASSERT_EQ(rte_eth_dev_set_link_down(port.id), 0);
  ASSERT_EQ(rte_eth_dev_start(port.id), 0);
  EXPECT_FALSE(up());
  ASSERT_EQ(rte_eth_dev_set_link_up(port.id), 0);
  EXPECT_TRUE(up());
  EXPECT_GE(port.Echo(10), 10u);
}

TEST(Filter, WithoutPromiscuousModeForeignFramesAreCounted) {
  Port port("wire=loopback");
  ASSERT_EQ(rte_eth_promiscuous_disable(port.id), 0);
  port.Start();
  rte_ether_addr own;
  rte_eth_macaddr_get(port.id, &own);
  const auto send = [&](const uint8_t* to) {
    rte_mbuf* m = rte_pktmbuf_alloc(port.pool());
    std::memset(rte_pktmbuf_append(m, 60), 0, 60);
    std::memcpy(rte_pktmbuf_mtod(m, void*), to, 6);
    ASSERT_EQ(rte_eth_tx_burst(port.id, 0, &m, 1), 1);
  };
  const uint8_t foreign[6] = {2, 0, 0, 0, 0, 99};
  const uint8_t broadcast[6] = {255, 255, 255, 255, 255, 255};
  send(foreign), send(own.addr_bytes), send(broadcast);
  uint64_t received = 0;
  EXPECT_TRUE(
      port.ReceiveUntil([&] { return received == 2; }, [&](uint16_t, rte_mbuf*) { ++received; }));
  EXPECT_EQ(port.Xstats().at("model_rx_filtered"), 1u);
}

TEST(Statistics, ResetToZero) {
  Port port("wire=gen:size=64+count=1000");
  port.Start();
  EXPECT_EQ(port.Echo(1000), 1000u);
  rte_eth_dev_stop(port.id);
  ASSERT_EQ(rte_eth_xstats_reset(port.id), 0);
  for (const auto& [name, value] : port.Xstats()) {
    const bool clock = name.find("cycles") != std::string::npos;  // These counters are not reset.
    EXPECT_TRUE(value == 0 || clock) << name << " " << value;
  }
}

TEST(Queues, FramesOfAStoppedOneAreMissed) {
  Port port("wire=gen:size=64+flows=100+count=2000,pause=off", {.queues = 2, .rss_types = kRssUdp});
  rte_eth_rxconf later{};
  later.rx_deferred_start = 1;
  ASSERT_EQ(rte_eth_rx_queue_setup(port.id, 1, 512, 0, &later, port.pool()), 0);
  port.Start();
  rte_eth_stats stats{};
  EXPECT_TRUE(port.ReceiveUntil(
      [&] {
        rte_eth_stats_get(port.id, &stats);
        return stats.ipackets + stats.imissed == 2000;
      },
      [](uint16_t queue, rte_mbuf*) { EXPECT_EQ(queue, 0); }))
      << stats.ipackets << " received, " << stats.imissed << " missed";
  EXPECT_GT(stats.imissed, 2000u / 4);
  // A burst on a stopped queue does not accept any mbufs.
  rte_mbuf* m = rte_pktmbuf_alloc(port.pool());
  rte_pktmbuf_append(m, 60);
  ASSERT_EQ(rte_eth_dev_tx_queue_stop(port.id, 0), 0);
  EXPECT_EQ(rte_eth_tx_burst(port.id, 0, &m, 1), 0);
  ASSERT_EQ(rte_eth_dev_tx_queue_start(port.id, 0), 0);
  EXPECT_EQ(rte_eth_tx_burst(port.id, 0, &m, 1), 1);
}

TEST(Queues, TellTheirState) {
  Port port("wire=loopback");
  rte_eth_rxq_info rx;
  ASSERT_EQ(rte_eth_rx_queue_info_get(port.id, 0, &rx), 0);
  EXPECT_EQ(rx.nb_desc, 512);
  rte_eth_txq_info tx;
  ASSERT_EQ(rte_eth_tx_queue_info_get(port.id, 0, &tx), 0);
  EXPECT_EQ(tx.nb_desc, 512);
  port.Start();
  rte_eth_burst_mode mode;
  EXPECT_EQ(rte_eth_rx_burst_mode_get(port.id, 0, &mode), 0);
  EXPECT_EQ(rte_eth_rx_descriptor_status(port.id, 0, 0), RTE_ETH_RX_DESC_AVAIL);
  EXPECT_EQ(rte_eth_rx_descriptor_status(port.id, 0, 600), -EINVAL);
  EXPECT_EQ(rte_eth_tx_descriptor_status(port.id, 0, 0), RTE_ETH_TX_DESC_DONE);
  for (int i = 0; i < 40; ++i) {
    rte_mbuf* m = rte_pktmbuf_alloc(port.pool());
    std::memset(rte_pktmbuf_append(m, 60), 0, 60);
    ASSERT_EQ(rte_eth_tx_burst(port.id, 0, &m, 1), 1);
  }
  const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
  while (rte_eth_rx_queue_count(port.id, 0) < 40 && rte_get_timer_cycles() < deadline) {
  }
  EXPECT_EQ(rte_eth_rx_queue_count(port.id, 0), 40);
  EXPECT_EQ(rte_eth_rx_descriptor_status(port.id, 0, 39), RTE_ETH_RX_DESC_DONE);
  EXPECT_EQ(rte_eth_rx_descriptor_status(port.id, 0, 40), RTE_ETH_RX_DESC_AVAIL);
  EXPECT_EQ(rte_eth_tx_done_cleanup(port.id, 0, 0), 32) << "reports come by the batch";
}

}  // namespace
}  // namespace sluice::net_ipu::test
