// SPDX-License-Identifier: BSD-3-Clause
//
// Information about queues: their set-up parameters and the state of their descriptors.
#include <ethdev_driver.h>

#include <cerrno>

#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_rx.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

dpdk::QueueCount RxQueueCount(void* queue) {
  const RxQueue& rx = *static_cast<RxQueue*>(queue);
  uint32_t used = 0;
  while (rx.head + used != rx.tail && Done(LoadHigh(rx.ring[(rx.head + used) & rx.mask]))) ++used;
  return used;
}

int RxDescriptorStatus(void* queue, uint16_t offset) {
  const RxQueue& rx = *static_cast<RxQueue*>(queue);
  if (offset > rx.mask) return -EINVAL;
  if (offset >= rx.tail - rx.head) return RTE_ETH_RX_DESC_UNAVAIL;
  return Done(LoadHigh(rx.ring[(rx.head + offset) & rx.mask])) ? RTE_ETH_RX_DESC_DONE
                                                               : RTE_ETH_RX_DESC_AVAIL;
}

/// `offset` counts from the next descriptor to be written. Completions are known per batch.
int TxDescriptorStatus(void* queue, uint16_t offset) {
  const TxQueue& tx = *static_cast<TxQueue*>(queue);
  if (offset > tx.mask) return -EINVAL;
  const uint32_t used = tx.tail - tx.cleaned;
  if (offset < tx.mask + 1 - used) return RTE_ETH_TX_DESC_DONE;
  const uint32_t index = tx.tail + offset - (tx.mask + 1);  // Descriptor of the previous lap.
  const uint32_t report = index | (kBatch - 1);
  const bool posted = static_cast<int32_t>(tx.tail - report) > 0;
  return posted && LoadHigh(tx.ring[report & tx.mask]) == kDone ? RTE_ETH_TX_DESC_DONE
                                                                : RTE_ETH_TX_DESC_FULL;
}

}  // namespace

void RxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_rxq_info* info) {
  const auto& queue = *static_cast<const RxQueue*>(dev->data->rx_queues[id]);
  info->mp = queue.pool;
  info->scattered_rx = dev->data->scattered_rx;
  info->nb_desc = static_cast<uint16_t>(queue.mask + 1);
  info->rx_buf_size = static_cast<uint16_t>(queue.room);
  info->conf.rx_free_thresh = kBatch;
  info->conf.rx_deferred_start = queue.deferred_start;
  info->conf.offloads = dev->data->dev_conf.rxmode.offloads;
}

void TxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_txq_info* info) {
  const auto& queue = *static_cast<const TxQueue*>(dev->data->tx_queues[id]);
  info->nb_desc = static_cast<uint16_t>(queue.mask + 1);
  info->conf.tx_rs_thresh = kBatch;
  info->conf.tx_free_thresh = static_cast<uint16_t>(queue.mask + 1 - queue.clean_from);
  info->conf.tx_deferred_start = queue.deferred_start;
  info->conf.offloads = queue.offloads;
}

int TxDoneCleanup(void* queue, uint32_t limit) {
  return static_cast<int>(TxClean(*static_cast<TxQueue*>(queue), limit));
}

void SetRingOps(rte_eth_dev* dev) {
  dev->rx_queue_count = RxQueueCount;
  dev->rx_descriptor_status = RxDescriptorStatus;
  dev->tx_descriptor_status = TxDescriptorStatus;
}

}  // namespace sluice::net_ipu
