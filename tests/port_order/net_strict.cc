// SPDX-License-Identifier: BSD-3-Clause
//
// `--vdev=net_strict<n>`: an ethdev port that ends the process at each call that rte_ethdev.h does
// not allow in the port's current state, because some drivers fail in that case. Each receive queue
// receives the frames that the transmit queue with the same number sent while the link was up.
//
//   down_ms=<n>       the link comes up n milliseconds after the start
//   link=<n>+<n>+…    from the first burst on, the link is alternately up and down for these
//                     numbers of milliseconds: 500+200 is down from 500 to 700 ms, and up from
//                     then on
//
// Prints "net_strict0: closed after <n> calls" when the port is closed.
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "dpdk/release.h"
#include "split_arguments.h"

namespace sluice::net_strict {
namespace {

/// The states in their usual order. A stopped port is kReady again.
enum State : unsigned { kProbed, kConfigured, kReady, kStarted, kStates };
constexpr std::array<const char*, kStates> kStateNames = {
    "before rte_eth_dev_configure", "before all queues are set up", "before rte_eth_dev_start",
    "while the port is started"};

// Sets of states.
constexpr unsigned kNotStarted = 1u << kProbed | 1u << kConfigured | 1u << kReady;
constexpr unsigned kStopped = 1u << kConfigured | 1u << kReady;
constexpr unsigned kOnlyReady = 1u << kReady;
constexpr unsigned kRunning = 1u << kStarted;
constexpr unsigned kSetUp = kOnlyReady | kRunning;
constexpr unsigned kKnown = kStopped | kRunning;
constexpr unsigned kAny = kNotStarted | kRunning;

struct Port;

struct Queue {
  Port* port = nullptr;  ///< Null if the queue is not set up.
  bool receives = false;
  std::atomic<bool> in_use{false};
  /// Used only by receive queues. A receive queue and the transmit queue with the same number are
  /// used by the same thread.
  std::deque<rte_mbuf*> mbufs;
};

constexpr uint16_t kMaxQueues = 16;
constexpr size_t kMostMbufs = 512;

/// State of a port. It exists from the probe to the close; dev_private contains a pointer to it.
struct Port {
  std::string name;
  std::string link;      ///< Device argument "link".
  uint64_t down_ms = 0;  ///< Device argument "down_ms".
  State state = kProbed;
  uint64_t started_cycles = 0;
  std::atomic<uint64_t> used_cycles{0};  ///< Time of the first burst; 0 before the first burst.
  uint64_t calls = 0;
  std::atomic<bool> in_call{false};
  std::array<Queue, kMaxQueues> rx, tx;
};

[[noreturn]] void Fail(const Port& port, const char* call, const char* why) {
  std::fprintf(stderr, "%s: %s %s\n", port.name.c_str(), call, why);
  std::abort();
}

Port& PortOf(const rte_eth_dev* dev) { return **static_cast<Port**>(dev->data->dev_private); }

/// A call to a control function. Control functions must not run in parallel (rte_ethdev.h).
class Call {
 public:
  Call(const rte_eth_dev* dev, const char* call, unsigned allowed) : port_(PortOf(dev)) {
    if (port_.in_call.exchange(true)) Fail(port_, call, "beside another call");
    if ((allowed >> port_.state & 1) == 0) Fail(port_, call, kStateNames[port_.state]);
    ++port_.calls;
  }
  ~Call() { port_.in_call.store(false); }
  Port* operator->() const { return &port_; }
  Port& operator*() const { return port_; }

 private:
  Port& port_;
};

/// A burst on a queue, which only one thread at a time may use.
class Burst {
 public:
  Burst(void* queue, bool receives) : queue_(*static_cast<Queue*>(queue)) {
    Port& port = *queue_.port;
    if (queue_.receives != receives) Fail(port, "a burst", "in the wrong direction");
    if (port.state != kStarted) Fail(port, "a burst", kStateNames[port.state]);
    if (queue_.in_use.exchange(true)) Fail(port, "a burst", "beside another one");
    if (port.used_cycles == 0) port.used_cycles = rte_get_timer_cycles();
  }
  ~Burst() { queue_.in_use.store(false); }
  Queue& operator*() const { return queue_; }

 private:
  Queue& queue_;
};

uint64_t MsSince(uint64_t cycles) {
  return (rte_get_timer_cycles() - cycles) * 1000 / rte_get_timer_hz();
}

bool IsUp(const Port& port) {
  if (MsSince(port.started_cycles) < port.down_ms) return false;
  uint64_t ms = port.used_cycles == 0 ? 0 : MsSince(port.used_cycles);
  bool up = true;
  for (const char* at = port.link.c_str(); *at != '\0'; up = !up) {
    char* end = nullptr;
    const uint64_t length = std::strtoull(at, &end, 10);
    if (ms < length) break;
    ms -= length;
    at = *end == '\0' ? end : end + 1;
  }
  return up;
}

uint16_t Receive(void* queue, rte_mbuf** mbufs, uint16_t count) {
  const Burst burst(queue, true);
  std::deque<rte_mbuf*>& waiting = (*burst).mbufs;
  count = static_cast<uint16_t>(std::min<size_t>(count, waiting.size()));
  std::copy_n(waiting.begin(), count, mbufs);
  waiting.erase(waiting.begin(), waiting.begin() + count);
  return count;
}

uint16_t Transmit(void* queue, rte_mbuf** mbufs, uint16_t count) {
  const Burst burst(queue, false);
  Port& port = *(*burst).port;
  Queue& back = port.rx[static_cast<size_t>(&*burst - port.tx.data())];
  const bool returns = back.port != nullptr && IsUp(port);
  for (uint16_t i = 0; i < count; ++i) {
    if (returns && back.mbufs.size() < kMostMbufs) {
      back.mbufs.push_back(mbufs[i]);
    } else {
      rte_pktmbuf_free(mbufs[i]);
    }
  }
  return count;
}

int Configure(rte_eth_dev* dev) {
  const Call port(dev, "rte_eth_dev_configure", kNotStarted);
  port->state = kConfigured;
  return 0;
}

void SetUp(rte_eth_dev* dev, Port& port, Queue& queue, void** entry, bool receives) {
  queue.port = &port;
  queue.receives = receives;
  *entry = &queue;
  const rte_eth_dev_data& data = *dev->data;
  const auto is_set_up = [](const void* set_up) { return set_up != nullptr; };
  if (std::all_of(data.rx_queues, data.rx_queues + data.nb_rx_queues, is_set_up) &&
      std::all_of(data.tx_queues, data.tx_queues + data.nb_tx_queues, is_set_up)) {
    port.state = kReady;
  }
}

int SetUpReceive(rte_eth_dev* dev, uint16_t queue, uint16_t, unsigned, const rte_eth_rxconf*,
                 rte_mempool*) {
  const Call port(dev, "rte_eth_rx_queue_setup", kStopped);
  SetUp(dev, *port, port->rx[queue], &dev->data->rx_queues[queue], true);
  return 0;
}

int SetUpTransmit(rte_eth_dev* dev, uint16_t queue, uint16_t, unsigned, const rte_eth_txconf*) {
  const Call port(dev, "rte_eth_tx_queue_setup", kStopped);
  SetUp(dev, *port, port->tx[queue], &dev->data->tx_queues[queue], false);
  return 0;
}

int Start(rte_eth_dev* dev) {
  const Call port(dev, "rte_eth_dev_start", kOnlyReady);
  port->state = kStarted;
  port->started_cycles = rte_get_timer_cycles();
  return 0;
}

int Stop(rte_eth_dev* dev) {
  const Call port(dev, "rte_eth_dev_stop", kRunning);
  port->state = kReady;
  for (Queue& queue : port->rx) {
    for (rte_mbuf* const mbuf : queue.mbufs) rte_pktmbuf_free(mbuf);
    queue.mbufs.clear();
  }
  return 0;
}

int Close(rte_eth_dev* dev) {
  Port* const port = &PortOf(dev);
  {
    const Call call(dev, "rte_eth_dev_close", kNotStarted);
    std::fprintf(stderr, "%s: closed after %llu calls\n", port->name.c_str(),
                 static_cast<unsigned long long>(port->calls));
  }
  dev->data->mac_addrs = nullptr;  // Prevents ethdev from freeing mac_addrs.
  delete port;
  return 0;
}

int GetInfo(rte_eth_dev* dev, rte_eth_dev_info* info) {
  const Call port(dev, "rte_eth_dev_info_get", kAny);
  info->max_rx_queues = info->max_tx_queues = kMaxQueues;
  info->max_mac_addrs = 1;
  info->min_rx_bufsize = 64;
  info->max_mtu = 9000;
  info->max_rx_pktlen = info->max_mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
  return 0;
}

int UpdateLink(rte_eth_dev* dev, int) {
  const Call port(dev, "rte_eth_link_get", kRunning);
  rte_eth_link link{};
  link.link_status = IsUp(*port) ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  link.link_speed = RTE_ETH_SPEED_NUM_10G;
  link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
  return rte_eth_linkstatus_set(dev, &link);
}

int GetStats(rte_eth_dev* dev, rte_eth_stats*, dpdk::QueueStats*) {
  const Call port(dev, "rte_eth_stats_get", kSetUp);
  return 0;
}

int CleanTransmit(void* queue, uint32_t) {
  const Burst burst(queue, false);
  return 0;
}

/// An operation that only checks the state.
template <unsigned kAllowed, typename... Arguments>
int Check(rte_eth_dev* dev, Arguments...) {
  const Call call(dev, "a setting", kAllowed);
  return 0;
}

constinit const eth_dev_ops kOps = [] {
  eth_dev_ops ops{};
  ops.dev_configure = Configure;
  ops.dev_start = Start;
  ops.dev_stop = Stop;
  ops.dev_close = Close;
  ops.dev_infos_get = GetInfo;
  ops.rx_queue_setup = SetUpReceive;
  ops.tx_queue_setup = SetUpTransmit;
  ops.link_update = UpdateLink;
  ops.stats_get = dpdk::kStatsGet<GetStats>;
  ops.stats_reset = Check<kSetUp>;
  ops.tx_done_cleanup = CleanTransmit;
  ops.promiscuous_enable = ops.promiscuous_disable = Check<kKnown>;
  ops.allmulticast_enable = ops.allmulticast_disable = Check<kKnown>;
  ops.mtu_set = Check<kKnown, uint16_t>;
  ops.dev_set_link_up = ops.dev_set_link_down = Check<kRunning>;
  return ops;
}();

int Probe(rte_vdev_device* vdev) {
  static rte_ether_addr address = {{2, 0, 0, 0, 0, 0x57}};
  std::vector<std::pair<std::string, std::string>> arguments;
  std::string error;
  if (!drivers::SplitArguments(rte_vdev_device_args(vdev), &arguments, &error)) return -EINVAL;
  rte_eth_dev* const dev = rte_eth_vdev_allocate(vdev, sizeof(Port*));
  if (dev == nullptr) return -ENOMEM;
  auto* const port = new Port;
  port->name = rte_vdev_device_name(vdev);
  for (const auto& [name, value] : arguments) {
    if (name == "link") port->link = value;
    if (name == "down_ms") port->down_ms = std::strtoull(value.c_str(), nullptr, 10);
  }
  *static_cast<Port**>(dev->data->dev_private) = port;
  dev->data->mac_addrs = &address;
  dev->dev_ops = &kOps;
  dev->rx_pkt_burst = Receive;
  dev->tx_pkt_burst = Transmit;
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int Remove(rte_vdev_device* vdev) {
  rte_eth_dev* const dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
  return dev == nullptr ? 0 : rte_eth_dev_close(dev->data->port_id);
}

constinit rte_vdev_driver driver = [] {
  rte_vdev_driver vdev_driver{};
  vdev_driver.driver.name = "net_strict";
  vdev_driver.probe = Probe;
  vdev_driver.remove = Remove;
  return vdev_driver;
}();

}  // namespace
}  // namespace sluice::net_strict

RTE_INIT(net_strict_register) { rte_vdev_register(&sluice::net_strict::driver); }
RTE_PMD_REGISTER_PARAM_STRING(net_strict, "link=<string> down_ms=<int>");
