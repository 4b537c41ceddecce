// SPDX-License-Identifier: BSD-3-Clause
//
// The device's interrupts: port events in EAL's interrupt thread, and receive queue events for
// threads that wait on their files (rte_eth_dev_rx_intr_ctl_q).
#include <ethdev_driver.h>
#include <rte_interrupts.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_link.h"
#include "regs/vectors.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// Reports the loss of a device in another process as a removal, once per device generation.
void ReportRemoval(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const uint32_t generation = adapter.attachment->Generation();  // Read before the link state.
  if (adapter.registers.LinkUp() || adapter.removal_told == generation) return;
  adapter.removal_told = generation;
  if (dev->data->dev_conf.intr_conf.rmv != 0) {
    rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, nullptr);
  }
}

void OnPortInterrupt(void* opaque) {
  auto* const dev = static_cast<rte_eth_dev*>(opaque);
  eventfd_t times;
  eventfd_read(rte_intr_fd_get(AdapterOf(dev).port_interrupt), &times);
  // The callback may close the port.
  const auto is_open = [dev] { return dev->dev_ops == &kEthdevOps; };
  CollectAged(dev);
  if (is_open()) ReportLink(dev);
  if (is_open()) ReportRemoval(dev);
}

}  // namespace

int WatchPort(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const int fd = adapter.attachment->InterruptFd(regs::kPortVector);
  if (fd < 0) return -errno;
  adapter.port_interrupt = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  if (adapter.port_interrupt == nullptr) return -ENOMEM;
  rte_intr_fd_set(adapter.port_interrupt, fd);
  rte_intr_type_set(adapter.port_interrupt, RTE_INTR_HANDLE_EXT);
  return rte_intr_callback_register(adapter.port_interrupt, OnPortInterrupt, dev);
}

void UnwatchPort(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  if (adapter.port_interrupt == nullptr) return;
  // An application may close the port in a callback that OnPortInterrupt called.
  if (rte_thread_is_intr() != 0) {
    rte_intr_callback_unregister_pending(adapter.port_interrupt, OnPortInterrupt, dev, nullptr);
  } else {
    rte_intr_callback_unregister_sync(adapter.port_interrupt, OnPortInterrupt, dev);
  }
  rte_intr_instance_free(adapter.port_interrupt);
  adapter.port_interrupt = nullptr;
}

void ReportLink(rte_eth_dev* dev) {
  const bool changed = LinkUpdate(dev, 0) == 0;
  if (changed && dev->data->dev_conf.intr_conf.lsc != 0) {
    rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, nullptr);
  }
}

int OpenRxInterrupts(rte_eth_dev* dev) {
  if (dev->data->dev_conf.intr_conf.rxq == 0 || dev->intr_handle != nullptr) return 0;
  const uint16_t queues = dev->data->nb_rx_queues;
  rte_intr_handle* const handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  if (handle == nullptr) return -ENOMEM;
  rte_intr_type_set(handle, RTE_INTR_HANDLE_VDEV);
  rte_intr_efd_counter_size_set(handle, sizeof(eventfd_t));
  int error = rte_intr_vec_list_alloc(handle, "net_ipu", queues);
  for (uint16_t i = 0; error == 0 && i < queues; ++i) {
    const int fd = AdapterOf(dev).attachment->InterruptFd(regs::QueueVector(i));
    error = fd < 0 ? -errno : rte_intr_efds_index_set(handle, i, fd);
    if (error == 0) error = rte_intr_vec_list_index_set(handle, i, RTE_INTR_VEC_RXTX_OFFSET + i);
  }
  if (error == 0) error = rte_intr_nb_efd_set(handle, queues);
  dev->intr_handle = handle;
  if (error != 0) CloseRxInterrupts(dev);
  return error;
}

void CloseRxInterrupts(rte_eth_dev* dev) {
  if (dev->intr_handle == nullptr) return;
  rte_intr_free_epoll_fd(
      dev->intr_handle);  // Removes epoll registrations that the application has not removed.
  rte_intr_vec_list_free(dev->intr_handle);
  rte_intr_instance_free(dev->intr_handle);
  dev->intr_handle = nullptr;
}

int RxInterruptEnable(rte_eth_dev* dev, uint16_t id) {
  if (HasLink(AdapterOf(dev), id)) return -ENOTSUP;
  RxQueue& queue = *static_cast<RxQueue*>(dev->data->rx_queues[id]);
  queue.registers.Write64(queue.page + kRingInterrupt, kRingInterruptArm | queue.head);
  return 0;
}

int RxInterruptDisable(rte_eth_dev* dev, uint16_t id) {
  if (HasLink(AdapterOf(dev), id)) return -ENOTSUP;
  RxQueue& queue = *static_cast<RxQueue*>(dev->data->rx_queues[id]);
  queue.registers.Write64(queue.page + kRingInterrupt, 0);
  return 0;
}

}  // namespace sluice::net_ipu
