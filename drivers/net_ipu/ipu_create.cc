// SPDX-License-Identifier: BSD-3-Clause
//
// Creates a port on a probed device, independently of the device's bus.
#include <ethdev_driver.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "net_ipu/ipu_adapter.h"
#include "secondary.h"

namespace sluice::net_ipu {
namespace {

/// Checks that the device responds, and reads its address.
bool Identify(rte_eth_dev* dev, std::string* error) {
  Adapter& adapter = AdapterOf(dev);
  if (adapter.registers.Read32(regs::ipu::kDeviceId) != regs::ipu::kDeviceIdValue) {
    *error = "the device's identification register has a wrong value";
    return false;
  }
  adapter.registers.Write32(regs::ipu::kReset, regs::ipu::kResetMagic);
  adapter.max_queues =
      std::min(adapter.max_queues, adapter.registers.Read32(regs::ipu::kQueuePairs));
  dev->data->mac_addrs = static_cast<rte_ether_addr*>(rte_calloc_socket(
      "net_ipu", kPortAddresses, sizeof(rte_ether_addr), 0, dev->data->numa_node));
  if (dev->data->mac_addrs == nullptr) {
    *error = "no memory for the port";
    return false;
  }
  adapter.attachment->MacAddress(dev->data->mac_addrs->addr_bytes);
  adapter.attachment_base.resize(adapter.attachment->Statistics().size());
  return true;
}

/// Enables the port's events. A port without events must be polled.
void ListenTo(rte_eth_dev* dev) {
  const int failure = WatchPort(dev);
  if (failure == 0) {
    dev->data->dev_flags |= RTE_ETH_DEV_INTR_LSC;
    // On a bus, removal is reported as a device event (rte_dev_event_callback_register).
    if (AdapterOf(dev).addressing == Addresses::kVirtual) {
      dev->data->dev_flags |= RTE_ETH_DEV_INTR_RMV;
    }
  } else {
    Log(failure == -ENOTSUP ? RTE_LOG_NOTICE : RTE_LOG_WARNING,
        "%s: reports no events (interrupts, link changes): %s", dev->data->name,
        failure == -ENOTSUP ? "its kernel driver delivers no interrupts; use vfio-pci"
                            : rte_strerror(-failure));
  }
}

}  // namespace

int CreatePort(rte_eth_dev* dev, std::unique_ptr<emulator::Attachment> attachment,
               Addresses addressing, uint32_t queues, uint32_t ring_entries, std::string* error) {
  auto* const adapter = new (dev->data->dev_private) Adapter();
  adapter->registers = attachment->registers();
  adapter->attachment = std::move(attachment);
  adapter->addressing = addressing;
  adapter->max_queues = queues;
  adapter->ring_entries = ring_entries;
  if (!Identify(dev, error)) {
    adapter->~Adapter();
    rte_eth_dev_release_port(dev);
    return -EIO;
  }
  SetOps(dev);
  WatchPools(*adapter);
  dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
  ListenTo(dev);
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int RemovePort(const char* name) {
  if (rte_eal_process_type() != RTE_PROC_PRIMARY) return drivers::RemoveSecondary(name);
  rte_eth_dev* const dev = rte_eth_dev_allocated(name);
  if (dev == nullptr) return 0;  // The port has already been closed.
  dev->dev_ops->dev_close(dev);
  return rte_eth_dev_release_port(dev);
}

}  // namespace sluice::net_ipu
