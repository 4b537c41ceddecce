// SPDX-License-Identifier: BSD-3-Clause
//
// Tests links of regions through rte_pmd_ipu.h, on ports that ethdev never configured: opening,
// traffic, steering, revoking and closing. The model runs in a separate thread.
#include <rte_ether.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include <algorithm>
#include <cerrno>

#include "link_fixture.h"

namespace sluice::net_ipu::test {
namespace {

int OpenError(uint16_t port, uint16_t queue, const Sizes& sizes) {
  const rte_pmd_ipu_link_conf conf = sizes.Conf();
  rte_pmd_ipu_link* link = nullptr;
  const int error = rte_pmd_ipu_link_open(port, queue, &conf, &link);
  rte_pmd_ipu_link_close(link);
  return error;
}

TEST(LinkOpen, TheHostOwnsAnEmptyRegionOfTheSizesThatItAskedFor) {
  LinkPort port("");
  Link link(port.id, 3, {.regions = 4, .region_bytes = 16384, .max_frames = 32});
  rte_pmd_ipu_region region;
  ASSERT_TRUE(rte_pmd_ipu_link_region(link.handle, &region));
  EXPECT_EQ(region.received, 0u);
  EXPECT_EQ(region.capacity, 32u);
  EXPECT_EQ(region.bytes, 16384u);
  EXPECT_EQ(region.data, 64u + 32 * 4) << "one header line, then the entries";
  EXPECT_EQ(reinterpret_cast<uint8_t*>(region.entries), region.base + 64);
}

TEST(LinkOpen, DefaultsAreThoseOfTheHeader) {
  LinkPort port("");
  rte_pmd_ipu_link* link;
  ASSERT_EQ(rte_pmd_ipu_link_open(port.id, 0, nullptr, &link), 0);
  rte_pmd_ipu_region region;
  ASSERT_TRUE(rte_pmd_ipu_link_region(link, &region));
  EXPECT_EQ(region.capacity, 512u);
  EXPECT_EQ(region.bytes, 262144u);
  rte_pmd_ipu_link_close(link);
}

TEST(LinkOpen, WhatCannotBeIsRefused) {
  LinkPort port("queues=2");
  EXPECT_EQ(OpenError(RTE_MAX_ETHPORTS, 0, {}), -ENOTSUP);
  EXPECT_EQ(OpenError(port.id, 2, {}), -EINVAL) << "the port has two";
  for (const Sizes& bad : {Sizes{.regions = 2},
                           {.regions = 65},
                           {.region_bytes = 4097},
                           {.region_bytes = 2 * 262144},
                           {.max_frames = 17},
                           {.region_bytes = 4096, .max_frames = 1024},
                           {.headroom_bytes = 32},
                           {.headroom_bytes = 320}}) {
    EXPECT_EQ(OpenError(port.id, 0, bad), -EINVAL);
  }
  Link link(port.id, 0, {});
  EXPECT_EQ(OpenError(port.id, 0, {}), -EBUSY) << "open already";
  EXPECT_EQ(OpenError(port.id, 1, {}), 0);
}

TEST(LinkOpen, APortOfAnotherDriverHasNoLinks) {
  ASSERT_EQ(rte_vdev_init("net_null_link", ""), 0);
  uint16_t id;
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_null_link", &id), 0);
  EXPECT_EQ(OpenError(id, 0, {}), -ENOTSUP);
  EXPECT_FALSE(rte_pmd_ipu_supported(id));
  rte_vdev_uninit("net_null_link");
}

void ExpectNothingLost(std::map<std::string, uint64_t> stats) {
  for (const char* name :
       {"wire_lost", "wire_corrupted", "wire_duplicated", "wire_reordered", "model_rx_no_region",
        "model_link_bad_entries", "model_link_faults", "link_faults_host", "link_discarded_pkts",
        "link_rx_stop_discards", "link_tx_stop_discards"}) {
    EXPECT_EQ(stats.at(name), 0u) << name;
  }
}

TEST(LinkTraffic, EveryFrameGoesBackToTheWireWholeAndInOrder) {
  LinkPort port("wire=gen:size=64/128/594/1518/9018+flows=64+count=20000,verify=full");
  port.Open(1);
  port.Up();
  EXPECT_TRUE(port.EchoUntil([&] { return port.Received() == 20000; }));
  port.Down();
  const rte_pmd_ipu_link_stats link = port.links[0].Stats();
  EXPECT_GT(link.swaps, 0u);
  EXPECT_EQ(link.resets + link.faults + link.discarded_pkts, 0u);
  EXPECT_EQ(port.Xstats().at("link_swaps"), link.swaps) << "of an open link";
  port.links.clear();  // Waits until all frames have been sent.
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("wire_returned"), 20000u);
  EXPECT_EQ(stats.at("link_swaps"), stats.at("model_link_swaps"));
  ExpectNothingLost(stats);
  rte_eth_stats totals;
  rte_eth_stats_get(port.id, &totals);
  EXPECT_EQ(totals.ipackets, 20000u);
  EXPECT_EQ(totals.opackets, 20000u);
  EXPECT_EQ(totals.ibytes, totals.obytes);
  EXPECT_EQ(totals.imissed + totals.ierrors + totals.oerrors, 0u);
}

TEST(LinkTraffic, WhatIsGivenToALoopbackComesBackWithItsHeadroom) {
  LinkPort port("wire=loopback");
  Link link(port.id, 0, {.headroom_bytes = 128});
  port.Up();
  rte_pmd_ipu_region region;
  ASSERT_TRUE(link.AwaitRegion(&region));
  constexpr uint32_t kFrames = 100;
  for (uint32_t i = 0; i < kFrames; ++i) {
    const uint32_t offset = region.data + i * 256;
    std::memset(region.base + offset, static_cast<int>(i), 60 + i);
    region.entries[i] = offset | (60 + i) << 18;
  }
  rte_pmd_ipu_link_give(link.handle, kFrames, false);
  uint32_t next = 0;
  while (next < kFrames) {
    ASSERT_TRUE(link.AwaitRegion(&region));
    for (uint32_t i = 0; i < region.received; ++i, ++next) {
      const uint32_t entry = region.entries[i];
      ASSERT_EQ(LengthOf(entry), 60 + next);
      const uint8_t* const frame = region.base + OffsetOf(entry);
      EXPECT_EQ(std::count(frame, frame + 60 + next, next), 60 + next);
      EXPECT_GE(OffsetOf(entry), region.data + 128);
      EXPECT_EQ(OffsetOf(entry) % 64, 0u);
    }
    if (next < kFrames) rte_pmd_ipu_link_give(link.handle, 0, true);
  }
}

TEST(LinkTraffic, RssSharesTheFlowsOutEvenlyAndKeepsEachOnOneLink) {
  LinkPort port("wire=gen:size=64+flows=1000+count=40000,verify=full");
  port.Open(4);
  port.Up();
  std::map<std::array<uint8_t, 12>, const Link*> link_of;
  const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
  while (port.Received() < 40000 && rte_get_timer_cycles() < deadline) {
    for (Link& link : port.links) {
      link.Echo([&](const uint8_t* frame, uint32_t) {
        std::array<uint8_t, 12> tuple;
        // Copies the IPv4 addresses and the UDP ports.
        std::memcpy(tuple.data(), frame + 26, tuple.size());
        EXPECT_EQ(link_of.emplace(tuple, &link).first->second, &link);
      });
    }
  }
  EXPECT_EQ(port.Received(), 40000u);
  for (const Link& link : port.links) EXPECT_GT(link.received, 40000u / 8);
  port.Down();
  port.links.clear();
  EXPECT_EQ(port.Xstats().at("wire_returned"), 40000u);
  ExpectNothingLost(port.Xstats());
}

TEST(LinkTraffic, AFlowRuleNamesALink) {
  LinkPort port("wire=gen:size=64+flows=100+count=10000");
  port.Open(3);
  const auto rule = [&](uint16_t queue, rte_flow_error* error) {
    const rte_flow_action_queue target{queue};
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    rte_flow_item pattern[4] = {};
    pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
    pattern[1].type = RTE_FLOW_ITEM_TYPE_IPV4;
    pattern[2].type = RTE_FLOW_ITEM_TYPE_UDP;
    pattern[3].type = RTE_FLOW_ITEM_TYPE_END;
    const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &target},
                                       {RTE_FLOW_ACTION_TYPE_END, nullptr}};
    return rte_flow_create(port.id, &attributes, pattern, actions, error);
  };
  rte_flow_error error{};
  EXPECT_EQ(rule(7, &error), nullptr) << "no link, no queue";
  ASSERT_NE(rule(2, &error), nullptr) << error.message;
  port.Up();
  EXPECT_TRUE(port.EchoUntil([&] { return port.Received() == 10000; }));
  EXPECT_EQ(port.links[2].received, 10000u);
}

TEST(LinkTraffic, TheLinksThatStayTakeOverTheFlowsOfTheOneThatIsClosed) {
  LinkPort port("wire=gen:size=64+flows=100,verify=full");
  port.Open(2);
  port.Up();
  EXPECT_TRUE(port.EchoUntil([&] { return port.Received() > 5000; }));
  port.links.erase(port.links.begin());
  const uint64_t filtered = port.Xstats().at("model_rx_disabled");
  const uint64_t before = port.links[0].received;
  EXPECT_TRUE(port.EchoUntil([&] { return port.links[0].received > before + 5000; }));
  EXPECT_EQ(port.Xstats().at("model_rx_disabled"), filtered);
  EXPECT_EQ(port.Xstats().at("wire_corrupted") + port.Xstats().at("wire_duplicated"), 0u);
}

TEST(LinkCancel, BringsBackTheRegionThatWaitsForFrames) {
  LinkPort port("wire=loopback");
  Link link(port.id, 0, {});
  rte_pmd_ipu_region region;
  ASSERT_TRUE(link.AwaitRegion(&region));
  const uint8_t* const own = region.base;
  EXPECT_FALSE(rte_pmd_ipu_link_cancel(link.handle)) << "it is here";
  rte_pmd_ipu_link_give(link.handle, 0, true);
  EXPECT_FALSE(rte_pmd_ipu_link_region(link.handle, &region));
  ASSERT_TRUE(rte_pmd_ipu_link_cancel(link.handle));
  ASSERT_TRUE(link.AwaitRegion(&region));
  EXPECT_EQ(region.base, own);
  EXPECT_EQ(link.Stats().rejected, 1u);
  EXPECT_EQ(link.Stats().swaps, 0u);
}

TEST(LinkClose, CountsWhatWasReceivedAndNotFetched) {
  LinkPort port("wire=gen:size=64+flows=10+count=300,verify=full");
  port.Open(1);
  port.Up();
  const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
  while (port.Xstats().at("model_rx_frames") < 300 && rte_get_timer_cycles() < deadline) {
  }
  rte_pmd_ipu_region region;
  ASSERT_TRUE(port.links[0].AwaitRegion(&region));
  port.links.clear();
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("model_rx_frames"), 300u);
  EXPECT_EQ(stats.at("link_rx_stop_discards"), 300u);
}

TEST(LinkClose, TenTimesUnderTrafficLeavesNothingBehind) {
  LinkPort port("wire=gen:size=64+flows=100");
  uint64_t received = 0;
  for (int round = 0; round < 10; ++round) {
    port.Open(2);
    port.Up();
    EXPECT_TRUE(port.EchoUntil([&] { return port.Received() >= 2000; })) << "round " << round;
    received += port.Received();
    port.links.clear();
  }
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("model_rx_frames"), received + stats.at("link_rx_stop_discards"));
  EXPECT_EQ(stats.at("model_tx_frames"), received - stats.at("link_tx_stop_discards"));
  EXPECT_EQ(stats.at("wire_corrupted") + stats.at("wire_duplicated"), 0u);
  EXPECT_EQ(stats.at("model_link_faults") + stats.at("link_faults_host"), 0u);
}

TEST(LinkClose, ThePortClosesLinksThatAreStillOpen) {
  LinkPort port("wire=gen:size=64+flows=100");
  port.Open(3);
  port.Up();
  EXPECT_TRUE(port.EchoUntil([&] { return port.Received() >= 1000; }));
  for (Link& link : port.links) link.handle = nullptr;  // The port owns the links now.
}

TEST(LinkAndRings, ShareAPortButNotAQueue) {
  LinkPort port("wire=gen:size=64+flows=1000+count=20000,verify=full");
  rte_mempool* const pool = rte_pktmbuf_pool_create("rings", 4095, 0, 0, 2048 + 128, SOCKET_ID_ANY);
  ASSERT_NE(pool, nullptr);
  rte_eth_conf conf{};
  conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP;
  ASSERT_EQ(rte_eth_dev_configure(port.id, 2, 2, &conf), 0);
  for (uint16_t queue = 0; queue < 2; ++queue) {
    ASSERT_EQ(rte_eth_rx_queue_setup(port.id, queue, 512, 0, nullptr, pool), 0);
    ASSERT_EQ(rte_eth_tx_queue_setup(port.id, queue, 512, 0, nullptr), 0);
  }
  port.links.emplace_back(port.id, 1, Sizes{});
  ASSERT_EQ(rte_eth_promiscuous_enable(port.id), 0);
  ASSERT_EQ(rte_eth_dev_start(port.id), 0);
  EXPECT_EQ(OpenError(port.id, 0, {}), -EBUSY) << "its rings run";
  EXPECT_EQ(rte_eth_dev_rx_queue_start(port.id, 1), -EBUSY) << "a link is in its place";
  EXPECT_EQ(rte_eth_dev_tx_queue_start(port.id, 1), -EBUSY);

  uint64_t over_rings = 0;
  EXPECT_TRUE(port.EchoUntil([&] {
    rte_mbuf* burst[32];
    const uint16_t count = rte_eth_rx_burst(port.id, 0, burst, 32);
    for (uint16_t sent = 0; sent < count;) {
      sent += rte_eth_tx_burst(port.id, 0, burst + sent, static_cast<uint16_t>(count - sent));
    }
    over_rings += count;
    return over_rings + port.Received() == 20000;
  }));
  EXPECT_GT(over_rings, 20000u / 4);
  EXPECT_GT(port.Received(), 20000u / 4);
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  port.links.clear();
  EXPECT_EQ(port.Xstats().at("wire_returned"), 20000u);
  ExpectNothingLost(port.Xstats());
  // After the link is closed, the rings with its queue number can be used.
  ASSERT_EQ(rte_eth_dev_start(port.id), 0);
  rte_eth_rxq_info queue;
  EXPECT_EQ(rte_eth_rx_queue_info_get(port.id, 1, &queue), 0);
  EXPECT_EQ(queue.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  EXPECT_EQ(rte_mempool_avail_count(pool), 4095u);
  rte_mempool_free(pool);
}

TEST(LinkStatus, FollowsThePortAndTheWire) {
  LinkPort port("wire=gen:size=64");
  rte_eth_link status;
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &status), 0);
  EXPECT_EQ(status.link_status, RTE_ETH_LINK_DOWN);
  port.Open(1);
  EXPECT_TRUE(rte_pmd_ipu_link_up(port.links[0].handle));
  port.Up();
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &status), 0);
  EXPECT_EQ(status.link_status, RTE_ETH_LINK_UP);
  EXPECT_TRUE(port.EchoUntil([&] { return port.Received() >= 1000; }));
  port.Down();
  EXPECT_EQ(rte_eth_link_get_nowait(port.id, &status), 0);
  EXPECT_EQ(status.link_status, RTE_ETH_LINK_DOWN);
  port.Up();
  const uint64_t before = port.Received();
  EXPECT_TRUE(port.EchoUntil([&] { return port.Received() >= before + 1000; }));
}

TEST(LinkFilter, IsOffUnlessTheApplicationAsksForIt) {
  LinkPort port("wire=loopback");
  Link link(port.id, 0, {});
  EXPECT_EQ(rte_eth_promiscuous_get(port.id), 1);
  ASSERT_EQ(rte_eth_promiscuous_disable(port.id), 0);
  port.Up();
  rte_pmd_ipu_region region;
  ASSERT_TRUE(link.AwaitRegion(&region));
  std::memset(region.base + region.data, 2, 60);  // The destination is not this port's address.
  std::memset(region.base + region.data + 64, 0xff, 60);
  region.entries[0] = region.data | 60 << 18;
  region.entries[1] = (region.data + 64) | 60 << 18;
  rte_pmd_ipu_link_give(link.handle, 2, false);
  uint64_t received = 0;
  while (received == 0) {
    ASSERT_TRUE(link.AwaitRegion(&region));
    received += region.received;
    if (received == 0) rte_pmd_ipu_link_give(link.handle, 0, true);
  }
  EXPECT_EQ(region.base[OffsetOf(region.entries[0])], 0xff);
  EXPECT_EQ(port.Xstats().at("model_rx_filtered"), 1u);
}

}  // namespace
}  // namespace sluice::net_ipu::test
