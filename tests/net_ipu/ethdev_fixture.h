// SPDX-License-Identifier: BSD-3-Clause
//
// A net_ipu port that tests use only through ethdev, as an application does.
#pragma once

#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../waiting.h"
#include "net_ipu/rte_pmd_ipu.h"

namespace sluice::net_ipu::test {

class Port {
 public:
  static constexpr const char* kName = "net_ipu_test0";

  struct Options {
    uint16_t queues = 1;
    uint64_t rss_types = 0;
    uint64_t rx_offloads = 0;
    uint64_t tx_offloads = 0;
    uint16_t mtu = 1500;
    uint16_t room = 2048;
    uint16_t descriptors = 512;
    bool link_events = false;
    bool removal_events = false;
    bool rx_interrupts = false;
  };

  explicit Port(const std::string& arguments) : Port(arguments, Options{}) {}
  Port(const std::string& arguments, const Options& options) : options_(options) {
    pool_ = rte_pktmbuf_pool_create("port", 16383, 256, 0,
                                    static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + options.room),
                                    SOCKET_ID_ANY);
    EXPECT_NE(pool_, nullptr);
    EXPECT_EQ(rte_vdev_init(kName, arguments.c_str()), 0);
    EXPECT_EQ(rte_eth_dev_get_port_by_name(kName, &id), 0);
    EXPECT_TRUE(rte_pmd_ipu_supported(id));
    rte_eth_conf conf{};
    conf.rxmode.mtu = options.mtu;
    conf.rxmode.offloads = options.rx_offloads;
    conf.txmode.offloads = options.tx_offloads;
    conf.intr_conf.lsc = options.link_events;
    conf.intr_conf.rmv = options.removal_events;
    conf.intr_conf.rxq = options.rx_interrupts;
    if (options.rss_types != 0) {
      conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
      conf.rx_adv_conf.rss_conf.rss_hf = options.rss_types;
    }
    EXPECT_EQ(rte_eth_dev_configure(id, options.queues, options.queues, &conf), 0);
    for (uint16_t q = 0; q < options.queues; ++q) {
      EXPECT_EQ(rte_eth_rx_queue_setup(id, q, options.descriptors, 0, nullptr, pool_), 0);
      EXPECT_EQ(rte_eth_tx_queue_setup(id, q, options.descriptors, 0, nullptr), 0);
    }
    EXPECT_EQ(rte_eth_promiscuous_enable(id), 0);
  }
  ~Port() {
    rte_eth_dev_stop(id);
    EXPECT_EQ(rte_eth_dev_close(id), 0);
    rte_vdev_uninit(kName);
    EXPECT_EQ(rte_mempool_avail_count(pool_), 16383u) << "mbufs leaked, or freed twice";
    rte_mempool_free(pool_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void Start() { ASSERT_EQ(rte_eth_dev_start(id), 0); }

  /// Receives from all queues until `done` returns true. Calls `each` for every frame and then
  /// frees the frame. Returns false on a timeout.
  bool ReceiveUntil(const std::function<bool()>& done,
                    const std::function<void(uint16_t queue, rte_mbuf*)>& each) {
    const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
    while (!done()) {
      if (rte_get_timer_cycles() > deadline) return false;
      for (uint16_t q = 0; q < options_.queues; ++q) {
        rte_mbuf* packets[32];
        const uint16_t n = rte_eth_rx_burst(id, q, packets, 32);
        for (uint16_t i = 0; i < n; ++i) each(q, packets[i]);
        rte_pktmbuf_free_bulk(packets, n);
      }
    }
    return true;
  }
  /// Sends received frames back until `packets` frames have been sent, or until a timeout. Returns
  /// the number of frames sent.
  uint64_t Echo(uint64_t packets) {
    const uint64_t deadline = rte_get_timer_cycles() + kPatienceS * rte_get_timer_hz();
    uint64_t echoed = 0;
    while (echoed < packets && rte_get_timer_cycles() < deadline) {
      for (uint16_t q = 0; q < options_.queues; ++q) {
        rte_mbuf* burst[32];
        const uint16_t n = rte_eth_rx_burst(id, q, burst, 32);
        uint16_t sent = 0;
        while (sent < n && rte_get_timer_cycles() < deadline) {
          sent += rte_eth_tx_burst(id, q, burst + sent, static_cast<uint16_t>(n - sent));
        }
        rte_pktmbuf_free_bulk(burst + sent, n - sent);
        echoed += sent;
      }
    }
    return echoed;
  }

  std::map<std::string, uint64_t> Xstats() {
    const int count = rte_eth_xstats_get(id, nullptr, 0);
    std::vector<rte_eth_xstat> values(count);
    std::vector<rte_eth_xstat_name> names(count);
    EXPECT_EQ(rte_eth_xstats_get(id, values.data(), count), count);
    EXPECT_EQ(rte_eth_xstats_get_names(id, names.data(), count), count);
    std::map<std::string, uint64_t> stats;
    for (int i = 0; i < count; ++i) stats[names[i].name] = values[i].value;
    return stats;
  }

  /// Returns an mbuf with these bytes; the caller owns it.
  rte_mbuf* Fill(const std::string& frame) {
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
    std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())), frame.data(),
                frame.size());
    return mbuf;
  }
  void Send(rte_mbuf* mbuf) { ASSERT_EQ(rte_eth_tx_burst(id, 0, &mbuf, 1), 1); }

  rte_mempool* pool() { return pool_; }
  uint16_t id = 0;

 private:
  const Options options_;
  rte_mempool* pool_;
};

}  // namespace sluice::net_ipu::test
