// SPDX-License-Identifier: BSD-3-Clause
//
// ports EAL-ARGUMENTS -- PROCESS PROCESSES: echoes on all ports, like DPDK's symmetric_mp. Port 0
// has one queue per process. Other ports have one queue, which the primary process uses. The
// primary process (PROCESS 0) delays the traffic of net_ipu1 until it reads the line "up".
// Secondary processes print their view of the ports. Commands on standard input: "up", "attach NAME
// ARGUMENTS", "restart" (with a larger MTU), "pause" until another line follows, "quit".
#include <poll.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pdump.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

namespace {

constexpr uint16_t kBurst = 32;
constexpr uint64_t kMany = 1000;

bool Configure(uint16_t port, uint16_t queues, rte_mempool* pool) {
  rte_eth_conf conf{};
  if (queues > 1) {
    rte_eth_dev_info info;
    if (rte_eth_dev_info_get(port, &info) != 0) return false;
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
  }
  if (rte_eth_dev_configure(port, queues, queues, &conf) != 0) return false;
  for (uint16_t queue = 0; queue < queues; ++queue) {
    if (rte_eth_rx_queue_setup(port, queue, 512, 0, nullptr, pool) != 0 ||
        rte_eth_tx_queue_setup(port, queue, 512, 0, nullptr) != 0) {
      return false;
    }
  }
  return rte_eth_promiscuous_enable(port) == 0;
}

bool StartPorts(uint16_t processes) {
  rte_mempool* const pool =
      rte_pktmbuf_pool_create("ports", 16383, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  if (pool == nullptr || rte_pdump_init() != 0) return false;
  uint16_t waiting = RTE_MAX_ETHPORTS;
  rte_eth_dev_get_port_by_name("net_ipu1", &waiting);
  uint16_t port;
  RTE_ETH_FOREACH_DEV(port) {
    if (!Configure(port, port == 0 ? processes : 1, pool)) return false;
    if (port == waiting) rte_eth_dev_set_link_down(port);
    if (rte_eth_dev_start(port) != 0) return false;
  }
  return true;
}

/// Prints a secondary process's view of the ports.
void Describe() {
  uint16_t port;
  RTE_ETH_FOREACH_DEV(port) {
    rte_eth_dev_info info{};
    rte_eth_link link{};
    rte_eth_stats stats{};
    const int known = rte_eth_dev_info_get(port, &info);
    if (rte_eth_link_get_nowait(port, &link) != 0) link = {};
    const int counted = rte_eth_stats_get(port, &stats);
    const int xstats = rte_eth_xstats_get(port, nullptr, 0);
    rte_eth_burst_mode mode{};
    const int bursts = rte_eth_rx_burst_mode_get(port, 0, &mode);
    std::printf(
        "port %u: info %d queues %u link %u stats %d received %d xstats %s stop %d mode "
        "%s\n",
        port, known, info.nb_rx_queues, unsigned{link.link_status}, counted, stats.ipackets != 0,
        xstats > 10 ? "many" : "few", rte_eth_dev_stop(port), bursts == 0 ? mode.info : "none");
  }
}

uint64_t Echo(uint16_t port, uint16_t queue) {
  rte_mbuf* packets[kBurst];
  const uint16_t received = rte_eth_rx_burst(port, queue, packets, kBurst);
  if (received == 0) return 0;
  uint16_t sent = 0;
  const uint64_t deadline = rte_get_timer_cycles() + rte_get_timer_hz();
  while (sent < received && rte_get_timer_cycles() < deadline) {
    sent += rte_eth_tx_burst(port, queue, packets + sent, static_cast<uint16_t>(received - sent));
  }
  rte_pktmbuf_free_bulk(packets + sent, received - sent);
  return sent;
}

/// Executes a command. Returns false if the process must end.
bool Obey(const std::string& line) {
  std::istringstream words(line);
  std::string command, name, arguments;
  words >> command >> name >> arguments;
  if (command == "up") {
    uint16_t port = 0;
    rte_eth_dev_get_port_by_name("net_ipu1", &port);
    std::printf("up %d\n", rte_eth_dev_set_link_up(port));
  } else if (command == "attach") {
    std::printf("attached %d\n", rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str()));
  } else if (command == "pause") {
    std::printf("paused\n");
    std::getline(std::cin, name);
    rte_eth_burst_mode mode{};
    rte_eth_rx_burst_mode_get(0, 0, &mode);
    std::printf("goes on with %s\n", mode.info);
  } else if (command == "restart") {
    int error = rte_eth_dev_stop(0);
    if (error == 0) error = rte_eth_dev_set_mtu(0, 9000);
    if (error == 0) error = rte_eth_dev_start(0);
    std::printf("restarted %d\n", error);
  } else {
    return false;
  }
  return true;
}

bool HasLine() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return std::cin.rdbuf()->in_avail() > 0 || poll(&input, 1, 0) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::cin.sync_with_stdio(false);
  const int used = rte_eal_init(argc, argv);
  if (used < 0 || argc - used != 3) return 2;
  const auto process = static_cast<uint16_t>(std::atoi(argv[used + 1]));
  const auto processes = static_cast<uint16_t>(std::atoi(argv[used + 2]));
  const bool primary = rte_eal_process_type() == RTE_PROC_PRIMARY;
  if (primary && !StartPorts(processes)) {
    std::fprintf(stderr, "cannot start the ports\n");
    return 1;
  }
  if (!primary) Describe();
  const uint16_t ports = rte_eth_dev_count_avail();
  std::printf("ready %u\n", ports);
  uint64_t echoed = 0;
  for (uint32_t turn = 0;; ++turn) {
    const uint64_t before = echoed;
    echoed += Echo(0, process);
    if (before < kMany && echoed >= kMany) std::printf("echoes\n");
    // The secondary process polls one of the primary process's pipes once, to provoke the driver's
    // log line.
    if (primary || turn == 0) {
      for (uint16_t port = 1; port < ports; ++port) Echo(port, 0);
    }
    if (turn % 1024 != 0 || !HasLine()) continue;
    std::string line;
    if (!std::getline(std::cin, line) || !Obey(line)) break;
    echoed = 0;  // Counts frames since the last command.
  }
  if (primary) {
    // The other processes have ended. Print the statistics, which include returned frames.
    rte_eth_stats stats{};
    rte_eth_stats_get(0, &stats);
    std::printf("port 0: oerrors %lu ierrors %lu\n", stats.oerrors, stats.ierrors);
    for (uint16_t port = 0; port < ports; ++port) rte_eth_dev_stop(port);
    for (uint16_t port = 0; port < ports; ++port) rte_eth_dev_close(port);
  }
  rte_eal_cleanup();
  return 0;
}
