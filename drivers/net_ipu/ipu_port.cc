// SPDX-License-Identifier: BSD-3-Clause
//
// Settings of the port, as opposed to those of its queues: filters, addresses, MTU, link and RSS.
#include <rte_ether.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// The verification key published in Microsoft's RSS specification.
constexpr std::array<uint8_t, kRssKeyBytes> kDefaultKey = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// ethdev RSS types that kRssIpv4 or kRssIpv6 covers.
constexpr uint64_t kIpv4Types =
    RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER;
constexpr uint64_t kIpv6Types =
    RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_IPV6_EX;

uint32_t RssFields(uint64_t types) {
  uint32_t fields = 0;
  if (types & kIpv4Types) fields |= kRssIpv4;
  if (types & RTE_ETH_RSS_NONFRAG_IPV4_TCP) fields |= kRssIpv4Tcp;
  if (types & RTE_ETH_RSS_NONFRAG_IPV4_UDP) fields |= kRssIpv4Udp;
  if (types & kIpv6Types) fields |= kRssIpv6;
  if (types & (RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX)) fields |= kRssIpv6Tcp;
  if (types & (RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX)) fields |= kRssIpv6Udp;
  return fields;
}

/// Writes `bytes` bytes, a multiple of 4, to consecutive 32-bit registers.
void WriteBlock(bar::Bar& registers, uint32_t offset, const uint8_t* data, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += 4) {
    uint32_t word;
    std::memcpy(&word, data + at, 4);
    registers.Write32(offset + at, word);
  }
}

/// The queues among which RSS distributes frames.
struct Targets {
  std::array<uint8_t, kMaxQueues> queues{};
  uint32_t count = 0;
  bool links = false;  ///< The queues are links, because no ethdev queue is configured.
};

Targets ReceiveTargets(const rte_eth_dev* dev) {
  Targets targets;
  targets.links = dev->data->nb_rx_queues == 0;
  for (uint8_t i = 0; i < kMaxQueues; ++i) {
    const bool serves = targets.links ? HasLink(AdapterOf(dev), i) : i < dev->data->nb_rx_queues;
    if (serves) targets.queues[targets.count++] = i;
  }
  targets.count = std::max(targets.count, 1u);
  return targets;
}

void SwitchWire(Adapter& adapter, bool enabled) {
  adapter.attachment->EnableWire(enabled);
  adapter.wire_enabled = enabled;
}

int SetFlag(rte_eth_dev* dev, bool Adapter::*flag, bool value) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  adapter.*flag = value;
  WritePortControl(adapter);
  return 0;
}

/// Returns the table entry of the address; 0 for null.
uint64_t EntryOf(const rte_ether_addr* address) {
  if (address == nullptr) return 0;
  uint64_t entry = 0;
  std::memcpy(&entry, address->addr_bytes, RTE_ETHER_ADDR_LEN);
  return entry | kAddressValid;
}

/// Stores an entry of the address table, and writes it to the device if it has changed. The caller
/// must hold `configuration`.
void SetEntry(Adapter& adapter, uint32_t index, uint64_t entry) {
  if (adapter.addresses[index] == entry) return;
  adapter.addresses[index] = entry;
  adapter.registers.Write64(kAddressTable + 8 * index, entry);
}

}  // namespace

void WritePortControl(Adapter& adapter) {
  uint32_t control = 0;
  if (adapter.receiving) control |= kPortReceive;
  if (adapter.promiscuous) control |= kPortPromiscuous;
  if (adapter.all_multicast) control |= kPortAllMulticast;
  if (adapter.verify_checksums) control |= kPortChecksum;
  if (adapter.isolated) control |= kPortIsolate;
  if (adapter.strip_tags) control |= kPortVlanStrip;
  if (adapter.filter_vlans) control |= kPortVlanFilter;
  if (adapter.timesync) control |= kPortTimesync;
  adapter.registers.Write32(kPortControl, control);
}

void WriteStation(Adapter& adapter) {
  adapter.registers.Write64(kStationAddress, adapter.station);
  adapter.registers.Write32(kMaxFrame, adapter.max_frame);
}

void WriteRss(Adapter& adapter) {
  WriteBlock(adapter.registers, kRssKey, adapter.rss_key.data(), kRssKeyBytes);
  WriteBlock(adapter.registers, kReta, adapter.reta.data(), kRetaEntries);
  adapter.registers.Write32(kRssFields, RssFields(adapter.rss_types));
}

void Reapply(Adapter& adapter) {
  WriteStation(adapter);
  WriteFilters(adapter);
  WriteRss(adapter);
  FlowReplay(adapter);
  WritePortControl(adapter);
}

void ReapplyIfNew(Adapter& adapter, uint32_t generation) {
  if (adapter.generation == generation) return;
  Reapply(adapter);
  adapter.generation = generation;
}

void SetReceiving(Adapter& adapter, bool receiving) {
  const std::scoped_lock lock(adapter.configuration);
  adapter.receiving = receiving;
  WritePortControl(adapter);
}

void EnableWire(rte_eth_dev* dev, bool enabled) {
  SwitchWire(AdapterOf(dev), enabled);
  LinkUpdate(dev, 0);
}

void ConfigureStation(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  ReapplyIfNew(adapter, adapter.attachment->Generation());
  std::memcpy(&adapter.station, dev->data->mac_addrs->addr_bytes, RTE_ETHER_ADDR_LEN);
  adapter.max_frame =
      dev->data->nb_rx_queues == 0 ? kMaxFrameBytes : dev->data->mtu + kFrameOverhead;
  adapter.verify_checksums =
      (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_CHECKSUM) != 0;
  ReadVlanOffloads(dev);
  WriteStation(adapter);
}

void ConfigurePort(rte_eth_dev* dev) {
  ConfigureStation(dev);
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  const Targets targets = ReceiveTargets(dev);
  adapter.rss_types = targets.links ? kRssTypes : 0;
  adapter.rss_key = kDefaultKey;
  uint32_t used = targets.links ? targets.count : 1;
  const rte_eth_conf& conf = dev->data->dev_conf;
  if (!targets.links && (conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0) {
    const rte_eth_rss_conf& rss = conf.rx_adv_conf.rss_conf;
    adapter.rss_types = rss.rss_hf & kRssTypes;
    used = targets.count;
    if (rss.rss_key != nullptr) {  // Configure has checked the length of the key.
      std::copy_n(rss.rss_key, kRssKeyBytes, adapter.rss_key.begin());
    }
  }
  for (uint32_t i = 0; i < kRetaEntries; ++i) adapter.reta[i] = targets.queues[i % used];
  WriteRss(adapter);
}

int PromiscuousEnable(rte_eth_dev* dev) { return SetFlag(dev, &Adapter::promiscuous, true); }
int PromiscuousDisable(rte_eth_dev* dev) { return SetFlag(dev, &Adapter::promiscuous, false); }
int AllMulticastEnable(rte_eth_dev* dev) { return SetFlag(dev, &Adapter::all_multicast, true); }
int AllMulticastDisable(rte_eth_dev* dev) { return SetFlag(dev, &Adapter::all_multicast, false); }

int MacAddressSet(rte_eth_dev* dev, rte_ether_addr* address) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  rte_ether_addr_copy(address, dev->data->mac_addrs);
  std::memcpy(&adapter.station, address->addr_bytes, RTE_ETHER_ADDR_LEN);
  WriteStation(adapter);
  return 0;
}

bool FitsBuffers(const rte_eth_dev* dev, uint32_t mtu) {
  for (uint32_t i = 0; i < dev->data->nb_rx_queues; ++i) {
    const auto* const queue = static_cast<const RxQueue*>(dev->data->rx_queues[i]);
    if (queue != nullptr && mtu + kFrameOverhead > queue->room) return false;
  }
  return true;
}

int MtuSet(rte_eth_dev* dev, uint16_t mtu) {
  Adapter& adapter = AdapterOf(dev);
  const uint32_t frame = mtu + kFrameOverhead;
  if (frame > kMaxFrameBytes) return -EINVAL;
  // Scattered or unscattered receive is chosen when the port starts.
  if (dev->data->dev_started && !dev->data->scattered_rx && !FitsBuffers(dev, mtu)) {
    Log(RTE_LOG_ERR, "%s: MTU %u requires scattered receive; stop the port first", dev->data->name,
        mtu);
    return -EBUSY;
  }
  const std::scoped_lock lock(adapter.configuration);
  adapter.max_frame = frame;
  WriteStation(adapter);
  return 0;
}

int LinkUpdate(rte_eth_dev* dev, int) {
  Adapter& adapter = AdapterOf(dev);
  // Serializes reads and stores of the link state, so that an older state never overwrites a newer
  // one.
  const std::scoped_lock lock(adapter.link_update);
  rte_eth_link link{};
  // Rings do not survive a power-on of the device; the port is down until it is restarted.
  const bool stale =
      dev->data->dev_started && adapter.started_generation != adapter.attachment->Generation();
  const bool up =
      adapter.wire_enabled && !stale && adapter.registers.LinkUp() && adapter.attachment->WireUp();
  link.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  link.link_speed = up ? RTE_ETH_SPEED_NUM_200G : RTE_ETH_SPEED_NUM_NONE;
  link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
  link.link_autoneg = RTE_ETH_LINK_FIXED;
  return rte_eth_linkstatus_set(dev, &link);
}

int SetLinkUp(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  adapter.link_allowed = true;
  if (dev->data->dev_started || AnyLinkOpen(adapter)) SwitchWire(adapter, true);
  ReportLink(dev);
  return 0;
}

int SetLinkDown(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  adapter.link_allowed = false;
  SwitchWire(adapter, false);
  ReportLink(dev);
  return 0;
}

int RetaUpdate(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size) {
  if (size != kRetaEntries) return -EINVAL;
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  for (uint32_t i = 0; i < size; ++i) {
    const rte_eth_rss_reta_entry64& group = entries[i / RTE_ETH_RETA_GROUP_SIZE];
    const uint32_t entry = i % RTE_ETH_RETA_GROUP_SIZE;
    if (group.mask & RTE_BIT64(entry)) adapter.reta[i] = static_cast<uint8_t>(group.reta[entry]);
  }
  WriteRss(adapter);
  return 0;
}

int RetaQuery(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size) {
  if (size != kRetaEntries) return -EINVAL;
  for (uint32_t i = 0; i < size; ++i) {
    rte_eth_rss_reta_entry64& group = entries[i / RTE_ETH_RETA_GROUP_SIZE];
    const uint32_t entry = i % RTE_ETH_RETA_GROUP_SIZE;
    if (group.mask & RTE_BIT64(entry)) group.reta[entry] = AdapterOf(dev).reta[i];
  }
  return 0;
}

int RssHashUpdate(rte_eth_dev* dev, rte_eth_rss_conf* conf) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  if (conf->rss_key != nullptr) {
    if (conf->rss_key_len != kRssKeyBytes) return -EINVAL;
    std::copy_n(conf->rss_key, kRssKeyBytes, adapter.rss_key.begin());
  }
  adapter.rss_types = conf->rss_hf & kRssTypes;
  WriteRss(adapter);
  return 0;
}

int RssHashGet(rte_eth_dev* dev, rte_eth_rss_conf* conf) {
  const Adapter& adapter = AdapterOf(dev);
  if (conf->rss_key != nullptr && conf->rss_key_len >= kRssKeyBytes) {
    std::copy(adapter.rss_key.begin(), adapter.rss_key.end(), conf->rss_key);
    conf->rss_key_len = kRssKeyBytes;
  }
  conf->rss_hf = adapter.rss_types;
  dpdk::ReportToeplitz(conf);
  return 0;
}

// Receive filters of the port: ethdev's operations set addresses, groups and VLANs in the device's
// tables.

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
