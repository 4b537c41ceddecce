// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a port on a device in another process that loses power. The links' thread must set up the
// device again, including filters, RSS and flow rules, and continue.
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_flow.h>
#include <sched.h>

#include <algorithm>
#include <functional>

#include "device_process.h"
#include "endpoint_fixture.h"
#include "external_pool.h"
#include "link_fixture.h"

namespace sluice::net_ipu::test {
namespace {

/// Steers every UDP frame to link `queue`.
rte_flow* SteerUdp(uint16_t port, uint16_t queue) {
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
  rte_flow_error error{};
  return rte_flow_create(port, &attributes, pattern, actions, &error);
}

bool EchoPatiently(LinkPort& port, const std::function<bool()>& done) {
  const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
  while (!done()) {
    if (rte_get_timer_cycles() > deadline) return false;
    for (Link& link : port.links) link.Echo();
    sched_yield();  // The device may be on the same processor.
  }
  return true;
}

bool AllWereReset(const LinkPort& port, uint64_t times) {
  return std::all_of(port.links.begin(), port.links.end(),
                     [&](const Link& link) { return link.Stats().resets == times; });
}

class Restart : public ::testing::TestWithParam<void (DeviceProcess::*)()> {};

TEST_P(Restart, LinksRssAndRulesAreThereAgain) {
  DeviceProcess device;
  LinkPort port("device=" + device.socket());
  port.Open(3);
  port.Up();
  EXPECT_TRUE(EchoPatiently(port, [&] { return port.Received() > 5000; }));
  for (const Link& link : port.links) EXPECT_GT(link.received, 0u) << "RSS";
  (device.*GetParam())();
  EXPECT_TRUE(EchoPatiently(port, [&] { return AllWereReset(port, 1); }));
  std::vector<uint64_t> before;
  for (const Link& link : port.links) before.push_back(link.received);
  EXPECT_TRUE(EchoPatiently(port, [&] {
    bool each = true;
    for (size_t i = 0; i < 3; ++i) each = each && port.links[i].received > before[i] + 1000;
    return each;
  })) << "RSS is as it was";

  ASSERT_NE(SteerUdp(port.id, 2), nullptr);
  const uint64_t now = port.links[2].received;
  EXPECT_TRUE(EchoPatiently(port, [&] { return port.links[2].received > now + 5000; }));
  rte_eth_stats counted[2];
  EXPECT_EQ(rte_eth_stats_get(port.id, &counted[0]), 0);
  const uint64_t others = port.links[0].received + port.links[1].received;
  (device.*GetParam())();
  EXPECT_TRUE(EchoPatiently(port, [&] { return AllWereReset(port, 2); }));
  // Counters must never decrease, even if the new device starts with other values.
  EXPECT_EQ(rte_eth_stats_get(port.id, &counted[1]), 0);
  // The device forwarded 1000 frames three times and then 5000, and its counters had not been read
  // before.
  EXPECT_GE(counted[0].ipackets, 8000u);
  EXPECT_GE(counted[1].ipackets, counted[0].ipackets);
  EXPECT_GE(counted[1].imissed, counted[0].imissed);
  const uint64_t then = port.links[2].received;
  EXPECT_TRUE(EchoPatiently(port, [&] { return port.links[2].received > then + 5000; }));
  // The other links only get frames that the device had already steered. These fit in a few
  // regions.
  EXPECT_LE(port.links[0].received + port.links[1].received, others + 2 * 7 * 512);
  for (const Link& link : port.links) {
    EXPECT_EQ(link.Stats().faults + link.Stats().discarded_pkts, 0u);
    EXPECT_LE(link.Stats().in_doubt, 2u) << "one a reset";
    EXPECT_TRUE(rte_pmd_ipu_link_up(link.handle));
  }
  const auto stats = port.Xstats();
  EXPECT_EQ(stats.at("link_resets"), 6u);
  EXPECT_EQ(stats.at("wire_corrupted"), 0u);
  // A killed device loses its generator's state, so the new device sends the same numbers again
  // while earlier frames return to it.
  if (GetParam() == &DeviceProcess::Reset) {
    EXPECT_EQ(stats.at("wire_duplicated"), 0u);
  }
}

TEST_P(Restart, EndpointsAreThereAgain) {
  DeviceProcess device;
  LinkPort port("device=" + device.socket());
  Endpoints endpoints = OpenEndpoints(port.id, 2);
  port.Up();
  const auto echo_until = [&](const std::function<bool()>& done) {
    const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
    while (!done()) {
      if (rte_get_timer_cycles() > deadline) return false;
      for (const auto& endpoint : endpoints) endpoint->Echo();
      sched_yield();  // The device may be on the same processor.
    }
    return true;
  };
  EXPECT_TRUE(echo_until([&] { return Received(endpoints) > 5000; }));
  for (uint64_t times = 1; times <= 2; ++times) {
    (device.*GetParam())();
    EXPECT_TRUE(echo_until([&] {
      return std::all_of(endpoints.begin(), endpoints.end(),
                         [&](const auto& endpoint) { return endpoint->Stats().resets == times; });
    }));
    const std::vector<uint64_t> before = {endpoints[0]->received, endpoints[1]->received};
    EXPECT_TRUE(echo_until([&] {
      return endpoints[0]->received > before[0] + 1000 && endpoints[1]->received > before[1] + 1000;
    })) << "RSS is as it was";
  }
  for (const auto& endpoint : endpoints) EXPECT_EQ(endpoint->Stats().faults, 0u);
}

INSTANTIATE_TEST_SUITE_P(OfTheDevice, Restart,
                         ::testing::Values(&DeviceProcess::Reset, &DeviceProcess::Replace),
                         [](const auto& info) { return info.index == 0 ? "Reset" : "Killed"; });

/// Opens a port with one TX queue. The caller sets up the RX queue and starts the port.
uint16_t OpenPort(const std::string& arguments) {
  uint16_t port = 0;
  EXPECT_EQ(rte_vdev_init("net_ipu_external0", arguments.c_str()), 0);
  EXPECT_EQ(rte_eth_dev_get_port_by_name("net_ipu_external0", &port), 0);
  const rte_eth_conf conf{};
  EXPECT_EQ(rte_eth_dev_configure(port, 1, 1, &conf), 0);
  EXPECT_EQ(rte_eth_tx_queue_setup(port, 0, 512, 0, nullptr), 0);
  EXPECT_EQ(rte_eth_promiscuous_enable(port), 0);
  return port;
}

TEST(ExternalMemory, IsReachedByAnotherProcessIfItIsInAFile) {
  DeviceProcess device;
  const uint16_t port = OpenPort("device=" + device.socket());
  {
    ExternalPool secret(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    ASSERT_EQ(secret.Register(), 0);
    EXPECT_EQ(secret.Map(port), -1);
    EXPECT_EQ(rte_errno, ENOTSUP);
    EXPECT_EQ(rte_eth_rx_queue_setup(port, 0, 512, 0, nullptr, secret.get()), -EINVAL);
  }
  const int file = memfd_create("pool", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, ExternalPool::kBytes), 0);
  {
    ExternalPool pool(MAP_SHARED, file);
    ASSERT_EQ(pool.Register(), 0);
    ASSERT_EQ(pool.Map(port), 0);
    ASSERT_EQ(rte_eth_rx_queue_setup(port, 0, 512, 0, nullptr, pool.get()), 0);
    ASSERT_EQ(rte_eth_dev_start(port), 0);
    const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
    uint64_t sent = 0;
    while (sent < 2000 && rte_get_timer_cycles() < deadline) {
      rte_mbuf* burst[32];
      const uint16_t n = rte_eth_rx_burst(port, 0, burst, 32);
      const uint16_t accepted = rte_eth_tx_burst(port, 0, burst, n);
      rte_pktmbuf_free_bulk(burst + accepted, n - accepted);
      sent += accepted;
      sched_yield();
    }
    EXPECT_GE(sent, 2000u);
    rte_eth_stats stats;
    EXPECT_EQ(rte_eth_stats_get(port, &stats), 0);
    EXPECT_EQ(stats.ierrors + stats.oerrors, 0u);
    EXPECT_EQ(rte_eth_dev_stop(port), 0);
    EXPECT_EQ(pool.Unmap(port), 0);
    EXPECT_EQ(rte_eth_dev_close(port), 0);
    EXPECT_EQ(rte_mempool_avail_count(pool.get()), ExternalPool::kMbufs);
  }
  rte_vdev_uninit("net_ipu_external0");
  close(file);
}

}  // namespace
}  // namespace sluice::net_ipu::test
