// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of the ethdev face: set-up by the application, start and stop with the port.
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "net_enso/enso_port.h"

namespace sluice::net_enso {
namespace {

/// Initial fields of a received mbuf, as one word that a burst stores.
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

/// Pipes of all queues: a power of two, because the NIC spreads by a mask, and at
/// least one a queue. Pipe k belongs to queue k mod n.
uint32_t FallbackPipes(const Port& port) {
  return std::bit_ceil(static_cast<uint32_t>(port.rx.size()) * port.pipes_per_queue);
}

int StartRxQueues(Port& port) {
  for (auto& queue : port.rx) {
    if (const int result = port.device->OpenNb(&queue->nb); result != 0) return result;
    const rte_eth_dev_data* data = port.data;
    queue->scatter = (data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
    queue->rearm = RearmWord(data->port_id);
    const uint32_t mtu_bytes = data->mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN * 2;
    queue->max_bytes = queue->scatter ? mtu_bytes : std::min(mtu_bytes, queue->room);
    queue->position = queue->end = queue->released = nullptr;
    queue->span_count = queue->next_span = 0;
  }
  if (port.rx.empty()) return 0;
  for (uint32_t i = 0; i < FallbackPipes(port); ++i) {
    RxQueue& queue = *port.rx[i % port.rx.size()];
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
                                     &queue->pipe);
    }
    if (result != 0) return result;
  }
  return 0;
}

const char* PoolError(rte_mempool* pool) {
  if (rte_pktmbuf_data_room_size(pool) < RTE_PKTMBUF_HEADROOM + regs::enso::kFlitBytes) {
    return "its mbufs hold less than the headroom and 64 bytes";
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
    queue->pipe = nullptr;
  }
}

int SetupRxQueue(rte_eth_dev* dev, uint16_t id, uint16_t descriptors, unsigned,
                 const rte_eth_rxconf* conf, rte_mempool* pool) {
  Port& port = Port::Of(dev);
  if (const char* error = PoolError(pool)) {
    ENSO_LOG(ERR, "rx queue %u: pool %s: %s", id, pool->name, error);
    return -EINVAL;
  }
  if (port.rx.size() <= id) port.rx.resize(id + 1);
  auto queue = std::make_unique<RxQueue>();
  queue->id = id;
  queue->descriptors = descriptors;
  queue->pool = pool;
  queue->room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
  queue->drop_enabled = conf->rx_drop_en != 0;
  port.rx[id] = std::move(queue);
  dev->data->rx_queues[id] = port.rx[id].get();
  return 0;
}

int SetupTxQueue(rte_eth_dev* dev, uint16_t id, uint16_t descriptors, unsigned,
                 const rte_eth_txconf*) {
  Port& port = Port::Of(dev);
  if (port.tx.size() <= id) port.tx.resize(id + 1);
  port.tx[id] = std::make_unique<TxQueue>();
  port.tx[id]->id = id;
  port.tx[id]->descriptors = descriptors;
  dev->data->tx_queues[id] = port.tx[id].get();
  return 0;
}

void ReleaseRxQueue(rte_eth_dev* dev, uint16_t id) {
  Port& port = Port::Of(dev);
  if (id < port.rx.size()) port.rx[id].reset();
  while (!port.rx.empty() && port.rx.back() == nullptr) port.rx.pop_back();
  dev->data->rx_queues[id] = nullptr;
}

void ReleaseTxQueue(rte_eth_dev* dev, uint16_t id) {
  Port& port = Port::Of(dev);
  if (id < port.tx.size()) port.tx[id].reset();
  while (!port.tx.empty() && port.tx.back() == nullptr) port.tx.pop_back();
  dev->data->tx_queues[id] = nullptr;
}

void GetRxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_rxq_info* info) {
  const RxQueue& queue = *Port::Of(dev).rx[id];
  info->mp = queue.pool;
  info->nb_desc = queue.descriptors;
  info->conf.rx_drop_en = queue.drop_enabled;
  info->conf.offloads = dev->data->dev_conf.rxmode.offloads;
  info->scattered_rx = queue.scatter;
  info->rx_buf_size = static_cast<uint16_t>(queue.room);
}

void GetTxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_txq_info* info) {
  info->nb_desc = Port::Of(dev).tx[id]->descriptors;
  info->conf.offloads = dev->data->dev_conf.txmode.offloads;
}

}  // namespace sluice::net_enso
