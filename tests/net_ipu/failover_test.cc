// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that ports on a device in another process report when the device has ended, and wake
// threads that wait for frames. DPDK's bonding and failsafe drivers must then switch to another
// port.
#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "device_process.h"
#include "dpdk/release.h"
#include "ethdev_fixture.h"
#include "event_log.h"

namespace sluice::net_ipu::test {
namespace {

bool LinkIsUp(uint16_t port) {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/// Stops and starts the port until its device accepts it again. Returns false on a timeout.
bool Restarts(uint16_t port) {
  return Eventually([&] {
    usleep(50'000);
    rte_eth_dev_stop(port);
    return rte_eth_dev_start(port) == 0 && LinkIsUp(port);
  });
}

TEST(DeviceEvents, ADeathIsALostLinkAndARemoval) {
  DeviceProcess device("loopback");
  Port port("device=" + device.socket(), {.link_events = true, .removal_events = true});
  EventLog links(port.id, RTE_ETH_EVENT_INTR_LSC);
  EventLog removals(port.id, RTE_ETH_EVENT_INTR_RMV);
  port.Start();
  EXPECT_TRUE(LinkIsUp(port.id));
  device.Kill();
  ASSERT_TRUE(links.WaitFor(1));
  ASSERT_TRUE(removals.WaitFor(1));
  EXPECT_FALSE(LinkIsUp(port.id));
  device.Start();
  // The device is back, but it does not have the port's rings until the port is restarted.
  ASSERT_TRUE(Restarts(port.id));
  device.Kill();
  ASSERT_TRUE(removals.WaitFor(2)) << "again";
  device.Start();
}

TEST(DeviceEvents, TheCarrierBehindADeviceIsTold) {
  DeviceProcess device("loopback", "linkdown:600ms/200ms");
  Port port("device=" + device.socket(), {.link_events = true});
  EventLog links(port.id, RTE_ETH_EVENT_INTR_LSC);
  port.Start();
  ASSERT_TRUE(links.WaitFor(3));
  const std::vector<bool> up = links.link_up();
  EXPECT_EQ(std::vector<bool>(up.begin(), up.begin() + 3), (std::vector<bool>{false, true, false}));
}

TEST(DeviceEvents, FramesWakeWhoWaits) {
  DeviceProcess device("loopback");
  Port port("device=" + device.socket(), {.rx_interrupts = true});
  port.Start();
  const auto wait = [](int ms) {
    rte_epoll_event event{};
    return rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, ms);
  };
  const auto receive_one = [&] {
    uint64_t received = 0;
    return port.ReceiveUntil([&] { return received == 1; },
                             [&](uint16_t, rte_mbuf*) { ++received; });
  };
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(
        rte_eth_dev_rx_intr_ctl_q(port.id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr),
        0);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id, 0), 0);
      EXPECT_EQ(wait(10), 0);
      port.Send(port.Fill(std::string(60, '\x02')));
      EXPECT_EQ(wait(kPatienceS * 1000), 1);
      EXPECT_TRUE(receive_one());
    }
    ASSERT_EQ(
        rte_eth_dev_rx_intr_ctl_q(port.id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, nullptr),
        0);
    if (round != 0) break;
    // The restarted device is told the interrupts' addresses again.
    device.Replace();
    ASSERT_TRUE(Restarts(port.id));
  }
}

/// A DPDK port on top of net_ipu ports.
class Aggregate {
 public:
  Aggregate(const char* name, const std::string& arguments) : name_(name) {
    pool_ =
        rte_pktmbuf_pool_create("aggregate", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    EXPECT_NE(pool_, nullptr);
    EXPECT_EQ(rte_vdev_init(name, arguments.c_str()), 0);
    EXPECT_EQ(rte_eth_dev_get_port_by_name(name, &id), 0);
    rte_eth_conf conf{};
    conf.intr_conf.lsc = 1;
    EXPECT_EQ(rte_eth_dev_configure(id, 1, 1, &conf), 0);
    EXPECT_EQ(rte_eth_rx_queue_setup(id, 0, 512, 0, nullptr, pool_), 0);
    EXPECT_EQ(rte_eth_tx_queue_setup(id, 0, 512, 0, nullptr), 0);
    EXPECT_EQ(rte_eth_dev_start(id), 0);
    EXPECT_EQ(rte_eth_promiscuous_enable(id), 0);
  }
  ~Aggregate() {
    rte_eth_dev_stop(id);
    rte_eth_dev_close(id);
    rte_vdev_uninit(name_);
    rte_mempool_free(pool_);
  }

  /// Sends one frame and receives the returned frames.
  void Turn() {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    if (mbuf != nullptr) {
      std::memset(rte_pktmbuf_append(mbuf, 60), 2, 60);
      if (rte_eth_tx_burst(id, 0, &mbuf, 1) == 0) rte_pktmbuf_free(mbuf);
    }
    rte_mbuf* back[32];
    const uint16_t count = rte_eth_rx_burst(id, 0, back, 32);
    rte_pktmbuf_free_bulk(back, count);
    received += count;
  }
  /// Repeats Turn until `member` has sent more than ten frames and the port has received more than
  /// ten. Returns false on a timeout.
  bool UsesFor(const char* member) {
    const auto sent = [&]() -> uint64_t {
      uint16_t port;
      rte_eth_stats stats{};
      if (rte_eth_dev_get_port_by_name(member, &port) != 0) return 0;
      return rte_eth_stats_get(port, &stats) == 0 ? stats.opackets : 0;
    };
    const uint64_t before = sent(), received_before = received;
    return Eventually([&] {
      Turn();
      return sent() > before + 10 && received > received_before + 10;
    });
  }
  uint16_t id = 0;
  uint64_t received = 0;

 private:
  const char* const name_;
  rte_mempool* pool_;
};

uint16_t PortOf(const char* name) {
  uint16_t port = RTE_MAX_ETHPORTS;
  EXPECT_EQ(rte_eth_dev_get_port_by_name(name, &port), 0);
  return port;
}

TEST(Bonding, TurnsToItsOtherPortWhenALinkIsLost) {
  DeviceProcess device("loopback");
  ASSERT_EQ(rte_vdev_init("net_ipu_a", ("device=" + device.socket()).c_str()), 0);
  ASSERT_EQ(rte_vdev_init("net_ipu_b", "wire=loopback"), 0);
  {
    const std::string member = std::string(",") + dpdk::kBondMember + "=";
    Aggregate bond("net_bonding_test",
                   "mode=1,primary=net_ipu_a" + member + "net_ipu_a" + member + "net_ipu_b");
    EXPECT_TRUE(bond.UsesFor("net_ipu_a"));
    device.Kill();
    EXPECT_TRUE(bond.UsesFor("net_ipu_b"));
    EXPECT_TRUE(LinkIsUp(bond.id));
    rte_eth_dev_set_link_down(PortOf("net_ipu_b"));
    EXPECT_TRUE(Eventually([&] { return !LinkIsUp(bond.id); })) << "none is left";
    rte_eth_dev_set_link_up(PortOf("net_ipu_b"));
    EXPECT_TRUE(bond.UsesFor("net_ipu_b"));
    device.Start();
  }
  EXPECT_EQ(rte_vdev_uninit("net_ipu_a"), 0);
  EXPECT_EQ(rte_vdev_uninit("net_ipu_b"), 0);
}

/// This is tested before failsafe removes the dead port (hotplug_poll), because the removal crashes
/// DPDK 22.11: see docs/programs.md, "Bonding and failsafe".
TEST(Failsafe, TurnsToItsOtherPortWhenADeviceIsRemoved) {
  DeviceProcess device("loopback");
  Aggregate port("net_failsafe_test", "dev(net_ipu_fa,device=" + device.socket() +
                                          "),dev(net_ipu_fb,wire=loopback),hotplug_poll=10000");
  EXPECT_TRUE(port.UsesFor("net_ipu_fa"));
  device.Kill();
  EXPECT_TRUE(port.UsesFor("net_ipu_fb"));
}

}  // namespace
}  // namespace sluice::net_ipu::test
