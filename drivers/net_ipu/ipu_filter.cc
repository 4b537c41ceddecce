// SPDX-License-Identifier: BSD-3-Clause
//
// Receive filters of the port: addresses, groups and VLANs, from ethdev's operations to the
// device's tables.
#include <rte_ether.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// Returns the table entry of the address; 0 for null.
uint64_t EntryOf(const rte_ether_addr* address) {
  if (address == nullptr) return 0;
  uint64_t entry = 0;
  std::memcpy(&entry, address->addr_bytes, RTE_ETHER_ADDR_LEN);
  return entry | kAddressValid;
}

/// Stores an entry of the address table and writes it to the device if it has changed. Requires
/// `configuration`.
void SetEntry(Adapter& adapter, uint32_t index, uint64_t entry) {
  if (adapter.addresses[index] == entry) return;
  adapter.addresses[index] = entry;
  adapter.registers.Write64(kAddressTable + 8 * index, entry);
}

}  // namespace

void WriteFilters(Adapter& adapter) {
  for (uint32_t i = 0; i < kAddresses; ++i) {
    if (adapter.addresses[i] == 0) continue;
    adapter.registers.Write64(kAddressTable + 8 * i, adapter.addresses[i]);
  }
  for (uint32_t i = 0; i < adapter.vlans.size(); ++i) {
    if (adapter.vlans[i] != 0) adapter.registers.Write32(kVlanTable + 4 * i, adapter.vlans[i]);
  }
}

int MacAddressAdd(rte_eth_dev* dev, rte_ether_addr* address, uint32_t index, uint32_t) {
  Adapter& adapter = AdapterOf(dev);
  if (index >= kPortAddresses) return -ENOSPC;
  const std::scoped_lock lock(adapter.configuration);
  SetEntry(adapter, index, EntryOf(address));
  return 0;
}

void MacAddressRemove(rte_eth_dev* dev, uint32_t index) {
  Adapter& adapter = AdapterOf(dev);
  if (index >= kPortAddresses) return;
  const std::scoped_lock lock(adapter.configuration);
  SetEntry(adapter, index, 0);
}

int SetGroups(rte_eth_dev* dev, rte_ether_addr* groups, uint32_t count) {
  Adapter& adapter = AdapterOf(dev);
  if (count > kGroups) {
    Log(RTE_LOG_ERR,
        "%s: %u groups exceed the device's limit of %u: use fewer, or receive all groups "
        "(allmulticast)",
        dev->data->name, count, kGroups);
    return -ENOSPC;
  }
  const std::scoped_lock lock(adapter.configuration);
  for (uint32_t i = 0; i < kGroups; ++i) {
    SetEntry(adapter, kPortAddresses + i, EntryOf(i < count ? groups + i : nullptr));
  }
  return 0;
}

int VlanFilterSet(rte_eth_dev* dev, uint16_t vlan, int on) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  uint32_t& word = adapter.vlans[vlan / 32];
  const uint32_t bit = 1u << vlan % 32;
  word = on != 0 ? word | bit : word & ~bit;
  adapter.registers.Write32(kVlanTable + vlan / 32 * 4, word);
  return 0;
}

void ReadVlanOffloads(const rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const uint64_t offloads = dev->data->dev_conf.rxmode.offloads;
  adapter.strip_tags = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
  adapter.filter_vlans = (offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0;
}

int VlanOffloadSet(rte_eth_dev* dev, int) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  ReadVlanOffloads(dev);
  WritePortControl(adapter);
  return 0;
}

}  // namespace sluice::net_ipu
