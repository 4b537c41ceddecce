// SPDX-License-Identifier: BSD-3-Clause
//
// Tests net_ipu as a wrapper of another port. It must own the port, pass all operations through,
// and not add any cost per packet. Wraps net_ring, net_null, and models of both kinds.
#include <gtest/gtest.h>
#include <rte_flow.h>
#include <rte_interrupts.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "ethdev_fixture.h"
#include "event_log.h"
#include "net_enso/rte_pmd_enso.h"

namespace sluice::net_ipu::test {
namespace {

/// The port to wrap.
class Inner {
 public:
  explicit Inner(const char* name, const char* arguments = "") : name_(name) {
    EXPECT_EQ(rte_vdev_init(name, arguments), 0);
    EXPECT_EQ(rte_eth_dev_get_port_by_name(name, &id), 0);
  }
  ~Inner() { Remove(); }
  void Remove() {
    if (name_ == nullptr) return;
    EXPECT_EQ(rte_vdev_uninit(name_), 0);
    name_ = nullptr;
  }
  bool IsOwned() const {
    rte_eth_dev_owner owner{};
    EXPECT_EQ(rte_eth_dev_owner_get(id, &owner), 0);
    return owner.id != RTE_ETH_DEV_NO_OWNER;
  }
  uint16_t id = 0;

 private:
  const char* name_;
};

TEST(WrapProbe, RefusesWhatCannotBe) {
  Inner inner("net_null_w");
  for (const char* bad : {"port=", "port=nobody", "port=net_null_w,wire=loopback",
                          "queues=2,port=net_null_w", "port=net_null_w,device=/nowhere"}) {
    EXPECT_LT(rte_vdev_init("net_ipu_bad", bad), 0) << bad;
    EXPECT_FALSE(inner.IsOwned()) << bad;
  }
  Port port("port=net_null_w");
  EXPECT_EQ(rte_vdev_init("net_ipu_second", "port=net_null_w"), -EBUSY) << "it has an owner";
}

TEST(WrapProbe, OwnsThePortUntilItIsClosed) {
  Inner inner("net_null_w");
  {
    Port port("port=net_null_w");
    EXPECT_TRUE(inner.IsOwned());
    EXPECT_TRUE(rte_pmd_ipu_supported(port.id));
    uint16_t id;
    RTE_ETH_FOREACH_DEV(id) EXPECT_NE(id, inner.id) << "an application sees one port";
  }
  EXPECT_FALSE(inner.IsOwned());
  Port again("port=net_null_w");
}

TEST(WrapProbe, HasNoLinksForNobodyServesThem) {
  Inner inner("net_ipu_w", "");
  Port port("port=net_ipu_w");
  rte_pmd_ipu_link* link;
  EXPECT_EQ(rte_pmd_ipu_link_open(port.id, 0, nullptr, &link), -ENOTSUP);
}

TEST(WrapProbe, FindsThePortAsItWasConfigured) {
  Inner inner("net_ipu_w", "wire=loopback");
  rte_eth_conf conf{};
  conf.rxmode.mtu = 1400;
  ASSERT_EQ(rte_eth_dev_configure(inner.id, 1, 1, &conf), 0);
  ASSERT_EQ(rte_eth_promiscuous_enable(inner.id), 0);
  ASSERT_EQ(rte_eth_allmulticast_enable(inner.id), 0);
  ASSERT_EQ(rte_vdev_init(Port::kName, "port=net_ipu_w"), 0);
  uint16_t id = 0, mtu = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(Port::kName, &id), 0);
  EXPECT_EQ(rte_eth_dev_get_mtu(id, &mtu), 0);
  EXPECT_EQ(mtu, 1400);
  EXPECT_EQ(rte_eth_promiscuous_get(id), 1);
  EXPECT_EQ(rte_eth_allmulticast_get(id), 1);
  EXPECT_EQ(rte_vdev_uninit(Port::kName), 0);
}

TEST(WrapBurst, IsTheWrappedDriversOwnWithItsOwnQueues) {
  Inner inner("net_null_w");
  Port port("port=net_null_w");
  port.Start();
  const auto& own = rte_eth_fp_ops[port.id];
  const auto& wrapped = rte_eth_fp_ops[inner.id];
  EXPECT_EQ(own.rx_pkt_burst, wrapped.rx_pkt_burst);
  EXPECT_EQ(own.tx_pkt_burst, wrapped.tx_pkt_burst);
  EXPECT_EQ(own.rxq.data[0], wrapped.rxq.data[0]);
  EXPECT_EQ(own.txq.data[0], wrapped.txq.data[0]);
}

TEST(WrapTraffic, OverRingsEveryFrameComesBack) {
  Inner inner("net_ring_w");
  Port port("port=net_ring_w", {.queues = 2});
  port.Start();
  constexpr uint32_t kFrames = 2000;
  uint32_t sent = 0;
  uint32_t received = 0;
  std::vector<bool> seen(kFrames);
  EXPECT_TRUE(port.ReceiveUntil(
      [&] {
        for (; sent < kFrames; ++sent) {
          rte_mbuf* m = rte_pktmbuf_alloc(port.pool());
          std::memcpy(rte_pktmbuf_append(m, 60), &sent, sizeof(sent));
          if (rte_eth_tx_burst(port.id, sent % 2, &m, 1) == 1) continue;
          rte_pktmbuf_free(m);
          break;
        }
        return received == kFrames;
      },
      [&](uint16_t queue, rte_mbuf* m) {
        const uint32_t number = *rte_pktmbuf_mtod(m, const uint32_t*);
        ASSERT_LT(number, kFrames);
        EXPECT_EQ(number % 2, queue);
        EXPECT_FALSE(seen[number]) << "twice";
        seen[number] = true;
        ++received;
      }));
  rte_eth_stats stats;
  ASSERT_EQ(rte_eth_stats_get(port.id, &stats), 0);
  EXPECT_EQ(stats.ipackets, kFrames);
  EXPECT_EQ(stats.opackets, kFrames);
  ASSERT_EQ(rte_eth_stats_reset(port.id), 0);
  ASSERT_EQ(rte_eth_stats_get(inner.id, &stats), 0);
  EXPECT_EQ(stats.ipackets + stats.opackets, 0u);
}

void ExpectEchoKeepsEveryFrame(const char* name, uint16_t inner_id) {
  Port port(std::string("port=") + name);
  port.Start();
  EXPECT_EQ(port.Echo(10000), 10000u);
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  port.Start();  // A second start.
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("wire_returned"), 10000u);
  EXPECT_EQ(stats.at("wire_lost") + stats.at("wire_corrupted") + stats.at("wire_duplicated"), 0u);
  EXPECT_EQ(stats.at("rx_good_packets"), 10000u);
  EXPECT_EQ(rte_eth_xstats_get(port.id, nullptr, 0), rte_eth_xstats_get(inner_id, nullptr, 0));
}

TEST(WrapTraffic, OverAPacketizedModelEveryFrameIsEchoed) {
  Inner inner("net_ipu_w", "wire=gen:size=64/594+flows=64+count=10000,verify=full");
  ExpectEchoKeepsEveryFrame("net_ipu_w", inner.id);
}

TEST(WrapTraffic, OverAStreamingModelEveryFrameIsEchoed) {
  Inner inner("net_enso_w", "wire=gen:size=64/594+flows=64+count=10000,verify=full");
  ASSERT_TRUE(rte_pmd_enso_supported(inner.id));
  ExpectEchoKeepsEveryFrame("net_enso_w", inner.id);
}

TEST(WrapControl, AddressMtuAndModesAreThoseOfTheWrappedPort) {
  Inner inner("net_ipu_w", "wire=loopback");
  Port port("port=net_ipu_w");
  rte_ether_addr own, wrapped;
  rte_eth_macaddr_get(port.id, &own);
  rte_eth_macaddr_get(inner.id, &wrapped);
  EXPECT_TRUE(rte_is_same_ether_addr(&own, &wrapped));
  rte_ether_addr other{{2, 0, 0, 0, 0, 9}};
  ASSERT_EQ(rte_eth_dev_default_mac_addr_set(port.id, &other), 0);
  rte_eth_macaddr_get(inner.id, &wrapped);
  EXPECT_TRUE(rte_is_same_ether_addr(&other, &wrapped));
  uint16_t mtu = 0;
  ASSERT_EQ(rte_eth_dev_set_mtu(port.id, 1400), 0);
  ASSERT_EQ(rte_eth_dev_get_mtu(inner.id, &mtu), 0);
  EXPECT_EQ(mtu, 1400);
  EXPECT_EQ(rte_eth_promiscuous_get(inner.id), 1) << "the fixture asked for it";
  ASSERT_EQ(rte_eth_promiscuous_disable(port.id), 0);
  EXPECT_EQ(rte_eth_promiscuous_get(inner.id), 0);
  ASSERT_EQ(rte_eth_allmulticast_enable(port.id), 0);
  EXPECT_EQ(rte_eth_allmulticast_get(inner.id), 1);

  rte_eth_dev_info info, wrapped_info;
  ASSERT_EQ(rte_eth_dev_info_get(port.id, &info), 0);
  ASSERT_EQ(rte_eth_dev_info_get(inner.id, &wrapped_info), 0);
  EXPECT_EQ(info.rx_offload_capa, wrapped_info.rx_offload_capa);
  EXPECT_EQ(info.tx_offload_capa, wrapped_info.tx_offload_capa);
  EXPECT_EQ(info.max_rx_queues, wrapped_info.max_rx_queues);
  EXPECT_STREQ(info.driver_name, "net_ipu");

  port.Start();
  rte_eth_link link;
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
  ASSERT_EQ(rte_eth_dev_set_link_down(port.id), 0);
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
  rte_eth_rxq_info queue;
  ASSERT_EQ(rte_eth_rx_queue_info_get(port.id, 0, &queue), 0);
  EXPECT_EQ(queue.mp, port.pool());
  EXPECT_EQ(rte_eth_rx_descriptor_status(port.id, 0, 0), RTE_ETH_RX_DESC_AVAIL);
  ASSERT_EQ(rte_eth_dev_rx_queue_stop(port.id, 0), 0);
  ASSERT_EQ(rte_eth_dev_rx_queue_start(port.id, 0), 0);
}

TEST(WrapControl, RssSpreadsAsItWasAskedThroughTheWrapper) {
  Inner inner("net_ipu_w", "wire=gen:size=64+flows=1000+count=4000");
  Port port("port=net_ipu_w", {.queues = 4, .rss_types = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP});
  rte_eth_rss_conf conf{};
  ASSERT_EQ(rte_eth_dev_rss_hash_conf_get(port.id, &conf), 0);
  EXPECT_EQ(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP, RTE_ETH_RSS_NONFRAG_IPV4_UDP);
  rte_eth_rss_reta_entry64 reta[2] = {};
  for (auto& group : reta) {
    group.mask = UINT64_MAX;
    for (auto& queue : group.reta) queue = 2;
  }
  ASSERT_EQ(rte_eth_dev_rss_reta_update(port.id, reta, 128), 0);
  port.Start();
  uint64_t received = 0;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received == 4000; },
                                [&](uint16_t queue, rte_mbuf*) {
                                  EXPECT_EQ(queue, 2);
                                  ++received;
                                }));
}

TEST(WrapControl, FlowRulesAreTheWrappedPorts) {
  Inner inner("net_ipu_w", "wire=gen:size=64+flows=10+count=1000");
  Port port("port=net_ipu_w", {.queues = 2});
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_item pattern[4] = {};
  pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
  pattern[1].type = RTE_FLOW_ITEM_TYPE_IPV4;
  pattern[2].type = RTE_FLOW_ITEM_TYPE_UDP;
  pattern[3].type = RTE_FLOW_ITEM_TYPE_END;
  const rte_flow_action_queue queue{1};
  const rte_flow_action_mark mark{77};
  const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &queue},
                                     {RTE_FLOW_ACTION_TYPE_MARK, &mark},
                                     {RTE_FLOW_ACTION_TYPE_COUNT, nullptr},
                                     {RTE_FLOW_ACTION_TYPE_END, nullptr}};
  rte_flow_error error{};
  ASSERT_EQ(rte_flow_validate(port.id, &attributes, pattern, actions, &error), 0) << error.message;
  rte_flow* const flow = rte_flow_create(port.id, &attributes, pattern, actions, &error);
  ASSERT_NE(flow, nullptr) << error.message;
  port.Start();
  uint64_t received = 0;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received == 1000; },
                                [&](uint16_t id, rte_mbuf* m) {
                                  EXPECT_EQ(id, 1);
                                  EXPECT_EQ(m->hash.fdir.hi, 77u);
                                  ++received;
                                }));
  rte_flow_query_count count{};
  ASSERT_EQ(rte_flow_query(port.id, flow, &actions[2], &count, &error), 0);
  EXPECT_EQ(count.hits, 1000u);
  EXPECT_EQ(rte_flow_destroy(port.id, flow, &error), 0);
  EXPECT_EQ(rte_flow_flush(port.id, &error), 0);
}

TEST(WrapControl, WhatTheWrappedDriverCannotDoIsRefused) {
  Inner inner("net_null_w");
  Port port("port=net_null_w");
  rte_flow_error error{};
  EXPECT_LT(rte_flow_flush(port.id, &error), 0);
  EXPECT_EQ(rte_eth_dev_set_link_up(port.id), -ENOTSUP);
}

TEST(WrapControl, OutlivesThePortThatItWraps) {
  std::optional<Inner> inner(std::in_place, "net_null_w");
  Port port("port=net_null_w");
  inner->Remove();
  rte_eth_stats stats;
  EXPECT_LT(rte_eth_stats_get(port.id, &stats), 0);
  EXPECT_LT(rte_eth_dev_start(port.id), 0);
  rte_eth_link link;
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_DOWN);
}

TEST(WrapEvents, ArePassedOn) {
  Inner inner("net_ipu_w", "wire=loopback");
  Port port("port=net_ipu_w", {.link_events = true, .rx_interrupts = true});
  EventLog log(port.id, RTE_ETH_EVENT_INTR_LSC);
  port.Start();
  rte_eth_link link{};
  ASSERT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
  EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
  EXPECT_EQ(rte_eth_dev_set_link_down(port.id), 0);
  EXPECT_EQ(rte_eth_dev_set_link_up(port.id), 0);
  EXPECT_EQ(log.link_up(), (std::vector<bool>{false, true}));
  ASSERT_EQ(
      rte_eth_dev_rx_intr_ctl_q(port.id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr), 0);
  ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id, 0), 0);
  port.Send(port.Fill(std::string(60, '\x02')));
  rte_epoll_event event{};
  EXPECT_EQ(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, 10'000), 1);
}

TEST(WrapClock, IsTheWrappedPorts) {
  Inner inner("net_ipu_w", "wire=loopback");
  Port port("port=net_ipu_w");
  port.Start();
  ASSERT_EQ(rte_eth_timesync_enable(port.id), 0);
  rte_mbuf* const mbuf = port.Fill(std::string(60, '\x02'));
  mbuf->ol_flags |= RTE_MBUF_F_TX_IEEE1588_TMST;
  port.Send(mbuf);
  uint64_t received = 0;
  EXPECT_TRUE(
      port.ReceiveUntil([&] { return received == 1; }, [&](uint16_t, rte_mbuf*) { ++received; }));
  timespec sent{};
  EXPECT_EQ(rte_eth_timesync_read_tx_timestamp(port.id, &sent), 0);
}

}  // namespace
}  // namespace sluice::net_ipu::test
