// SPDX-License-Identifier: BSD-3-Clause
//
// Sets up the queues of the ethdev port, and starts and stops them with the port or individually.
//
// The NIC cannot stop a queue: a frame that reaches a disabled pipe wedges it. The pipes of a
// stopped receive queue therefore fill until the NIC drops frames (or, with pause=on, until the
// wire waits); a start discards their contents.
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "dpdk/pool_flags.h"
#include "net_enso/enso_port.h"
#include "secondary.h"

namespace sluice::net_enso {
namespace {

/// Returns the initial fields of a received mbuf as one word, for a single store.
uint64_t RearmWord(uint16_t port) {
  rte_mbuf mbuf{};
  mbuf.data_off = RTE_PKTMBUF_HEADROOM;
  mbuf.nb_segs = 1;
  mbuf.port = port;
  rte_mbuf_refcnt_set(&mbuf, 1);
  uint64_t word;
  std::memcpy(&word, &mbuf.rearm_data, sizeof(word));
  return word;
}

Wanted WantedOf(const Port& port) {
  const uint64_t offloads = port.data->dev_conf.rxmode.offloads;
  return {.packet_types = port.packet_types,
          .ip_checksum = (offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0,
          .udp_checksum = (offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0,
          .tcp_checksum = (offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM) != 0,
          .hash = (offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0};
}

int StartRxQueues(Port& port) {
  for (auto& queue : port.rx) {
    if (const int result = port.device->OpenNb(&queue->nb); result != 0) return result;
    const rte_eth_dev_data* data = port.data;
    queue->scatter = (data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
    queue->rearm = RearmWord(data->port_id);
    queue->flags = dpdk::FlagsOfPool(queue->pool);
    queue->wanted = WantedOf(port);
    queue->max_spans = queue->deferred_start ? 0 : RxQueue::kSpans;
    const uint32_t mtu_bytes = data->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN * 2;
    queue->max_bytes = queue->scatter ? mtu_bytes : std::min(mtu_bytes, queue->room);
    queue->position = queue->end = queue->released = nullptr;
    queue->span_count = queue->next_span = 0;
  }
  for (const uint16_t id : port.reta) {
    RxQueue& queue = *port.rx[id];
    Pipe* pipe = nullptr;
    const int result =
        port.device->OpenPipe(queue.nb, RTE_PMD_ENSO_RX, true, FallbackOwner::kEthdev, &pipe);
    if (result != 0) return result;
  }
  return 0;
}

int StartTxQueues(Port& port) {
  for (auto& queue : port.tx) {
    int result = port.device->OpenNb(&queue->nb);
    if (result == 0) {
      result = port.device->OpenPipe(queue->nb, RTE_PMD_ENSO_TX, false, FallbackOwner::kNone,
                                     &queue->own);
    }
    if (result != 0) return result;
    queue->pipe = queue->deferred_start ? &queue->none : queue->own;
  }
  return 0;
}

const char* PoolError(rte_mempool* pool) {
  if (rte_pktmbuf_data_room_size(pool) < RTE_PKTMBUF_HEADROOM + regs::enso::kFlitBytes) {
    return "its mbufs are smaller than the headroom plus 64 bytes";
  }
  return nullptr;
}

}  // namespace

int StartQueues(Port& port) {
  if (port.device->fallback_owner() == FallbackOwner::kNative) {
    ENSO_LOG(ERR, "native fallback pipes are open: close them before starting the port");
    return -EBUSY;
  }
  int result = StartRxQueues(port);
  if (result == 0) result = StartTxQueues(port);
  if (result == 0) result = BindRules(port);
  if (result != 0) {
    ENSO_LOG(ERR, "cannot start %s: %s", port.data->name, rte_strerror(-result));
    StopQueues(port);
  }
  return result;
}

void StopQueues(Port& port) {
  UnbindRules(port);
  if (port.device->fallback_owner() == FallbackOwner::kEthdev) port.device->StopFallback();
  for (auto& queue : port.rx) {
    if (queue->nb == nullptr) continue;
    DiscardPending(*queue);
    port.device->CloseNb(queue->nb);
    queue->nb = nullptr;
  }
  for (auto& queue : port.tx) {
    if (queue->nb == nullptr) continue;
    port.device->CloseNb(queue->nb);
    queue->nb = nullptr;
    queue->pipe = queue->own = nullptr;
  }
}

int SetupRxQueue(rte_eth_dev* dev, uint16_t id, uint16_t descriptors, unsigned,
                 const rte_eth_rxconf* conf, rte_mempool* pool) {
  Port& port = Port::Of(dev);
  if (const char* error = PoolError(pool)) {
    ENSO_LOG(ERR, "rx queue %u: pool %s: %s", id, pool->name, error);
    return -EINVAL;
  }
  const std::scoped_lock lock(drivers::AnswerMutex());
  if (port.rx.size() <= id) port.rx.resize(id + 1);
  auto queue = std::make_unique<RxQueue>();
  queue->id = id;
  queue->descriptors = descriptors;
  queue->pool = pool;
  queue->room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
  queue->drop_enabled = conf->rx_drop_en != 0;
  queue->deferred_start = conf->rx_deferred_start != 0;
  port.rx[id] = std::move(queue);
  dev->data->rx_queues[id] = port.rx[id].get();
  return 0;
}

int SetupTxQueue(rte_eth_dev* dev, uint16_t id, uint16_t descriptors, unsigned,
                 const rte_eth_txconf* conf) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(drivers::AnswerMutex());
  if (port.tx.size() <= id) port.tx.resize(id + 1);
  port.tx[id] = std::make_unique<TxQueue>();
  port.tx[id]->id = id;
  port.tx[id]->descriptors = descriptors;
  port.tx[id]->deferred_start = conf->tx_deferred_start != 0;
  dev->data->tx_queues[id] = port.tx[id].get();
  return 0;
}

void ReleaseRxQueue(rte_eth_dev* dev, uint16_t id) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(drivers::AnswerMutex());
  if (id < port.rx.size()) port.rx[id].reset();
  while (!port.rx.empty() && port.rx.back() == nullptr) port.rx.pop_back();
  dev->data->rx_queues[id] = nullptr;
}

void ReleaseTxQueue(rte_eth_dev* dev, uint16_t id) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(drivers::AnswerMutex());
  if (id < port.tx.size()) port.tx[id].reset();
  while (!port.tx.empty() && port.tx.back() == nullptr) port.tx.pop_back();
  dev->data->tx_queues[id] = nullptr;
}

void GetRxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_rxq_info* info) {
  const RxQueue& queue = *Port::Of(dev).rx[id];
  info->mp = queue.pool;
  info->nb_desc = queue.descriptors;
  info->conf.rx_drop_en = queue.drop_enabled;
  info->conf.rx_deferred_start = queue.deferred_start;
  info->conf.offloads = dev->data->dev_conf.rxmode.offloads;
  info->scattered_rx = queue.scatter;
  info->rx_buf_size = static_cast<uint16_t>(queue.room);
}

void GetTxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_txq_info* info) {
  const TxQueue& queue = *Port::Of(dev).tx[id];
  info->nb_desc = queue.descriptors;
  info->conf.tx_deferred_start = queue.deferred_start;
  info->conf.offloads = dev->data->dev_conf.txmode.offloads;
}

int StartRxQueue(rte_eth_dev* dev, uint16_t id) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  DiscardPending(*port.rx[id]);
  dev->data->rx_queue_state[id] = RTE_ETH_QUEUE_STATE_STARTED;
  return 0;
}

int StopRxQueue(rte_eth_dev* dev, uint16_t id) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  DiscardPending(*port.rx[id]);
  port.rx[id]->max_spans = 0;
  dev->data->rx_queue_state[id] = RTE_ETH_QUEUE_STATE_STOPPED;
  return 0;
}

int StartTxQueue(rte_eth_dev* dev, uint16_t id) {
  TxQueue& queue = *Port::Of(dev).tx[id];
  queue.pipe = queue.own;
  dev->data->tx_queue_state[id] = RTE_ETH_QUEUE_STATE_STARTED;
  return 0;
}

int StopTxQueue(rte_eth_dev* dev, uint16_t id) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  TxQueue& queue = *port.tx[id];
  queue.nb->Drain(queue.own);
  queue.pipe = &queue.none;
  dev->data->tx_queue_state[id] = RTE_ETH_QUEUE_STATE_STOPPED;
  return 0;
}

int GetRxBurstMode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) {
  constexpr struct {
    eth_rx_burst_t burst;
    const char* name;
  } kNames[] = {{RxBurst, "Copy, Lengths from Headers"},
                {RxBurstExact, "Copy, Lengths from Notifications"},
                {RxBurstDescribed, "Copy, Lengths from Headers, Offloads in Software"},
                {RxBurstExactDescribed, "Copy, Lengths from Notifications, Offloads in Software"}};
  for (const auto& [burst, name] : kNames) {
    if (burst != dev->rx_pkt_burst) continue;
    std::snprintf(mode->info, sizeof(mode->info), "%s", name);
    return 0;
  }
  return -EINVAL;  // The port is not started.
}

int GetTxBurstMode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) {
  const bool checksums = dev->tx_pkt_burst == TxBurstChecksums;
  if (!checksums && dev->tx_pkt_burst != TxBurst) return -EINVAL;  // The port is not started.
  std::snprintf(mode->info, sizeof(mode->info), checksums ? "Copy, Offloads in Software" : "Copy");
  return 0;
}

dpdk::QueueCount CountRxQueue(void* opaque) {
  auto& queue = *static_cast<RxQueue*>(opaque);
  return CountPending(queue, queue.descriptors);
}

int GetRxStatus(void* opaque, uint16_t offset) {
  auto& queue = *static_cast<RxQueue*>(opaque);
  if (offset >= queue.descriptors) return -EINVAL;
  return CountPending(queue, offset + 1u) > offset ? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL;
}

int GetTxStatus(void* opaque, uint16_t offset) {
  const auto& queue = *static_cast<TxQueue*>(opaque);
  const Pipe& pipe = *queue.own;
  if (offset >= pipe.flits) return -EINVAL;
  queue.nb->ReapCompletions();
  return offset < pipe.flits - (pipe.tx_tail - pipe.tx_head) ? RTE_ETH_TX_DESC_DONE
                                                             : RTE_ETH_TX_DESC_FULL;
}

}  // namespace sluice::net_enso
