// SPDX-License-Identifier: BSD-3-Clause
//
// The ethdev operations of net_ipu: capabilities, queues, start and stop.
#include <ethdev_driver.h>
#include <rte_dev_info.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf_ptype.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_rx.h"
#include "secondary.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

RxQueue* Rx(const rte_eth_dev* dev, uint32_t id) {
  return static_cast<RxQueue*>(dev->data->rx_queues[id]);
}
TxQueue* Tx(const rte_eth_dev* dev, uint32_t id) {
  return static_cast<TxQueue*>(dev->data->tx_queues[id]);
}

// ------------------------------------------------------------- capabilities

int InfosGet(rte_eth_dev* dev, rte_eth_dev_info* info) {
  const Adapter& adapter = AdapterOf(dev);
  info->min_mtu = RTE_ETHER_MIN_MTU;
  info->max_mtu = kMaxFrameBytes - kFrameOverhead;
  info->min_rx_bufsize = kMinBuffer;
  info->max_rx_pktlen = kMaxFrameBytes;
  info->max_rx_queues = info->max_tx_queues = static_cast<uint16_t>(adapter.max_queues);
  info->max_mac_addrs = kPortAddresses;
  info->rx_offload_capa = kRxOffloads;
  info->tx_offload_capa = kTxOffloads;
  info->tx_queue_offload_capa = kTxOffloads;
  info->reta_size = kRetaEntries;
  info->hash_key_size = kRssKeyBytes;
  info->flow_type_rss_offloads = kRssTypes;
  dpdk::OfferToeplitz(info);
  info->default_rxconf.rx_free_thresh = kBatch;
  info->default_txconf.tx_rs_thresh = kBatch;
  info->rx_desc_lim = {.nb_max = kMaxRing,
                       .nb_min = kMinRing,
                       .nb_align = kBatch,
                       .nb_seg_max = kMaxSegments,
                       .nb_mtu_seg_max = kMaxSegments};
  info->tx_desc_lim = info->rx_desc_lim;
  info->speed_capa = RTE_ETH_LINK_SPEED_200G;
  const auto ring = static_cast<uint16_t>(adapter.ring_entries);
  info->default_rxportconf = {.burst_size = kBatch, .ring_size = ring, .nb_queues = 1};
  info->default_txportconf = {.burst_size = kBatch, .ring_size = ring, .nb_queues = 1};
  info->dev_capa = RTE_ETH_DEV_CAPA_FLOW_RULE_KEEP;
  return 0;
}

// ------------------------------------------------------------------- queues

/// Returns the ring size for `wanted` descriptors: a power of two, at least kMinRing.
uint32_t RingEntries(uint16_t wanted) {
  return std::bit_ceil<uint32_t>(std::max<uint32_t>(wanted, kMinRing));
}

/// Enables timestamps if the port's configuration requests them. It may have changed since the
/// queue was set up. Returns 0 or a negative errno.
int StampIfAsked(const rte_eth_dev* dev, RxQueue& queue) {
  const bool asked = (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
  return asked && queue.stamp_bytes == 0 ? RxStamp(queue) : 0;
}

int RxQueueSetup(rte_eth_dev* dev, uint16_t id, uint16_t entries, unsigned int socket,
                 const rte_eth_rxconf* conf, rte_mempool* pool) {
  if (rte_pktmbuf_data_room_size(pool) < RTE_PKTMBUF_HEADROOM + kMinBuffer) {
    Log(RTE_LOG_ERR,
        "%s: mbufs of pool %s have less than %u bytes after the headroom: use larger mbufs",
        dev->data->name, pool->name, kMinBuffer);
    return -EINVAL;
  }
  if (!MapPool(dev, pool)) return -EINVAL;
  RxQueue* const queue =
      RxCreate(AdapterOf(dev).registers, dev->data->port_id, id, RingEntries(entries), pool,
               static_cast<int>(socket), AdapterOf(dev).addressing);
  if (queue == nullptr) return -ENOMEM;
  queue->deferred_start = conf->rx_deferred_start != 0;
  if (StampIfAsked(dev, *queue) != 0) {
    RxDestroy(queue);
    return -ENOMEM;
  }
  dev->data->rx_queues[id] = queue;
  return 0;
}

void RxQueueRelease(rte_eth_dev* dev, uint16_t id) {
  const std::scoped_lock lock(drivers::AnswerMutex());
  RxDestroy(Rx(dev, id));
  dev->data->rx_queues[id] = nullptr;
}

int TxQueueSetup(rte_eth_dev* dev, uint16_t id, uint16_t wanted, unsigned int socket,
                 const rte_eth_txconf* conf) {
  const uint32_t entries = RingEntries(wanted);
  const uint64_t offloads = conf->offloads | dev->data->dev_conf.txmode.offloads;
  const uint32_t threshold =
      conf->tx_free_thresh != 0 ? conf->tx_free_thresh : entries - std::min(kTxInUse, entries / 2);
  if (threshold > entries) {
    Log(RTE_LOG_ERR, "%s: tx_free_thresh %u exceeds the ring's %u descriptors", dev->data->name,
        threshold, entries);
    return -EINVAL;
  }
  TxQueue* const queue =
      TxCreate(AdapterOf(dev).registers, dev->data->port_id, id, entries, threshold, offloads,
               static_cast<int>(socket), AdapterOf(dev).addressing);
  if (queue == nullptr) return -ENOMEM;
  queue->deferred_start = conf->tx_deferred_start != 0;
  dev->data->tx_queues[id] = queue;
  return 0;
}

void TxQueueRelease(rte_eth_dev* dev, uint16_t id) {
  const std::scoped_lock lock(drivers::AnswerMutex());
  TxDestroy(Tx(dev, id));
  dev->data->tx_queues[id] = nullptr;
}

/// A link or an endpoint replaces both rings with the same number.
bool HasLink(const rte_eth_dev* dev, uint16_t id) { return HasLink(AdapterOf(dev), id); }

int RxQueueStart(rte_eth_dev* dev, uint16_t id) {
  if (HasLink(dev, id)) return -EBUSY;
  int error = StampIfAsked(dev, *Rx(dev, id));
  if (error == 0) error = RxStart(*Rx(dev, id), dev->data->scattered_rx != 0);
  if (error == 0) dev->data->rx_queue_state[id] = RTE_ETH_QUEUE_STATE_STARTED;
  return error;
}
int RxQueueStop(rte_eth_dev* dev, uint16_t id) {
  if (Rx(dev, id) == nullptr) return 0;
  RxStop(*Rx(dev, id));
  dev->data->rx_queue_state[id] = RTE_ETH_QUEUE_STATE_STOPPED;
  return 0;
}
int TxQueueStart(rte_eth_dev* dev, uint16_t id) {
  if (HasLink(dev, id)) return -EBUSY;
  const int error = TxStart(*Tx(dev, id));
  if (error == 0) dev->data->tx_queue_state[id] = RTE_ETH_QUEUE_STATE_STARTED;
  return error;
}
int TxQueueStop(rte_eth_dev* dev, uint16_t id) {
  if (Tx(dev, id) == nullptr) return 0;
  TxStop(*Tx(dev, id));
  dev->data->tx_queue_state[id] = RTE_ETH_QUEUE_STATE_STOPPED;
  return 0;
}

// ------------------------------------------------------------- start and stop

int Configure(rte_eth_dev* dev) {
  const rte_eth_conf& conf = dev->data->dev_conf;
  const rte_eth_rss_conf& rss = conf.rx_adv_conf.rss_conf;
  if ((conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0 && rss.rss_key != nullptr &&
      rss.rss_key_len != kRssKeyBytes) {
    Log(RTE_LOG_ERR, "%s: the RSS key has %u bytes; give %u, or none", dev->data->name,
        uint32_t{rss.rss_key_len}, kRssKeyBytes);
    return -EINVAL;
  }
  ConfigurePort(dev);
  return 0;
}

/// Stops the traffic source; then the transmit rings, which first send their posted frames
/// (TxStop); then reception, unless a link is open; and then the receive rings.
int Stop(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  dev->data->dev_started = 0;
  EnableWire(dev, false);
  for (uint32_t i = 0; i < dev->data->nb_tx_queues; ++i) TxQueueStop(dev, i);
  SetReceiving(adapter, AnyLinkOpen(adapter));
  for (uint32_t i = 0; i < dev->data->nb_rx_queues; ++i) RxQueueStop(dev, i);
  CloseRxInterrupts(dev);
  return 0;
}

/// Returns whether the queue is started with the port, i.e. no link replaces it and its start is
/// not deferred.
template <typename Queue>
bool StartsNow(const rte_eth_dev* dev, uint16_t id, const Queue* queue) {
  return !HasLink(dev, id) && queue != nullptr && !queue->deferred_start;
}

/// Returns a queue that a rule uses but that neither ethdev nor a link serves any longer, or −1.
int QueueWithoutServer(const rte_eth_dev* dev) {
  for (const rte_flow& flow : AdapterOf(dev).flows) {
    const auto queue = static_cast<uint16_t>(flow.action & kFlowActionQueueMask);
    const bool steers = (flow.action & kFlowActionQueue) != 0;
    if (steers && queue >= dev->data->nb_rx_queues && !HasLink(dev, queue)) return queue;
  }
  return -1;
}

int Start(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  if (const int queue = QueueWithoutServer(dev); queue >= 0) {
    Log(RTE_LOG_ERR, "%s: a flow rule refers to queue %d, which no longer exists: flush the rules",
        dev->data->name, queue);
    return -EINVAL;
  }
  if (const int error = OpenRxInterrupts(dev); error != 0) {
    Log(RTE_LOG_ERR, "%s: cannot enable interrupts of its receive queues: %s", dev->data->name,
        rte_strerror(-error));
    return error;
  }
  dev->data->scattered_rx = !FitsBuffers(dev, dev->data->mtu);
  adapter.started_generation = adapter.attachment->Generation();
  ConfigureStation(dev);
  int error = 0;
  for (uint16_t i = 0; error == 0 && i < dev->data->nb_tx_queues; ++i) {
    if (StartsNow(dev, i, Tx(dev, i))) error = TxQueueStart(dev, i);
  }
  for (uint16_t i = 0; error == 0 && i < dev->data->nb_rx_queues; ++i) {
    if (StartsNow(dev, i, Rx(dev, i))) error = RxQueueStart(dev, i);
  }
  if (error != 0) {
    Log(RTE_LOG_ERR, "%s: cannot start: %s", dev->data->name,
        error == -ENOMEM ? "the mbuf pool is too small for the receive rings"
                         : "the device does not enable its queues, since it cannot access their "
                           "memory; in a virtual machine, see the log of sluice-device");
    Stop(dev);
    return error;
  }
  ChooseBursts(dev);
  adapter.starts.fetch_add(1, std::memory_order_release);
  SetReceiving(adapter, true);
  dev->data->dev_started = 1;
  EnableWire(dev, adapter.link_allowed);
  return 0;
}

/// Restores the device to its state after power-on, except for the counters, and configures the
/// port and its filters again. ethdev has stopped the port. All rules are removed.
int Reset(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  if (AnyLinkOpen(adapter)) {
    Log(RTE_LOG_ERR, "%s: a reset would end its links: close them first", dev->data->name);
    return -EBUSY;
  }
  if (!adapter.registers.LinkUp()) {
    Log(RTE_LOG_ERR, "%s: the device does not answer: reset the port once it is back",
        dev->data->name);
    return -EIO;
  }
  FlowClear(dev);
  adapter.registers.Write32(kReset, kResetMagic);
  adapter.link_allowed = true;
  ConfigurePort(dev);
  const std::scoped_lock lock(adapter.configuration);
  WriteFilters(adapter);
  return 0;
}

int Close(rte_eth_dev* dev) {
  if (dev->data->dev_private == nullptr) return 0;
  UnwatchPort(dev);
  if (dev->data->dev_started) Stop(dev);
  for (uint32_t i = 0; i < dev->data->nb_rx_queues; ++i) RxQueueRelease(dev, i);
  for (uint32_t i = 0; i < dev->data->nb_tx_queues; ++i) TxQueueRelease(dev, i);
  dev->data->nb_rx_queues = dev->data->nb_tx_queues = 0;
  FlowClear(dev);
  CloseLinks(dev);
  CloseEndpoints(dev);
  ForgetPools(AdapterOf(dev));
  const std::scoped_lock lock(drivers::AnswerMutex());
  AdapterOf(dev).~Adapter();  // This stops the model.
  rte_free(dev->data->dev_private);
  dev->data->dev_private = nullptr;
  return 0;
}

constexpr eth_dev_ops MakeOps() {
  eth_dev_ops ops{};
  ops.dev_configure = Configure;
  ops.dev_start = Start;
  ops.dev_stop = Stop;
  ops.dev_close = Close;
  ops.dev_reset = Reset;
  ops.dev_set_link_up = SetLinkUp;
  ops.dev_set_link_down = SetLinkDown;
  ops.link_update = LinkUpdate;
  ops.promiscuous_enable = PromiscuousEnable;
  ops.promiscuous_disable = PromiscuousDisable;
  ops.allmulticast_enable = AllMulticastEnable;
  ops.allmulticast_disable = AllMulticastDisable;
  ops.mac_addr_set = MacAddressSet;
  ops.mac_addr_add = MacAddressAdd;
  ops.mac_addr_remove = MacAddressRemove;
  ops.set_mc_addr_list = SetGroups;
  ops.vlan_filter_set = VlanFilterSet;
  ops.vlan_offload_set = VlanOffloadSet;
  ops.mtu_set = MtuSet;
  ops.stats_get = dpdk::kStatsGet<StatsGet>;
  ops.stats_reset = StatsReset;
  ops.xstats_get = XstatsGet;
  ops.xstats_reset = XstatsReset;
  ops.xstats_get_names = XstatsGetNames;
  ops.dev_infos_get = InfosGet;
  ops.rxq_info_get = RxQueueInfo;
  ops.txq_info_get = TxQueueInfo;
  ops.rx_burst_mode_get = RxBurstMode;
  ops.tx_burst_mode_get = TxBurstMode;
  ops.dev_supported_ptypes_get = dpdk::kSupportedPtypesGet<SupportedPacketTypes>;
  ops.rx_queue_start = RxQueueStart;
  ops.rx_queue_stop = RxQueueStop;
  ops.tx_queue_start = TxQueueStart;
  ops.tx_queue_stop = TxQueueStop;
  ops.rx_queue_setup = RxQueueSetup;
  ops.rx_queue_release = RxQueueRelease;
  ops.tx_queue_setup = TxQueueSetup;
  ops.tx_queue_release = TxQueueRelease;
  ops.tx_done_cleanup = TxDoneCleanup;
  ops.rss_hash_update = RssHashUpdate;
  ops.rss_hash_conf_get = RssHashGet;
  ops.reta_update = RetaUpdate;
  ops.reta_query = RetaQuery;
  ops.flow_ops_get = FlowOpsGet;
  ops.rx_queue_intr_enable = RxInterruptEnable;
  ops.rx_queue_intr_disable = RxInterruptDisable;
  ops.timesync_enable = TimesyncEnable;
  ops.timesync_disable = TimesyncDisable;
  ops.timesync_read_rx_timestamp = TimesyncReadRx;
  ops.timesync_read_tx_timestamp = TimesyncReadTx;
  ops.timesync_adjust_time = TimesyncAdjust;
  ops.timesync_read_time = TimesyncRead;
  ops.timesync_write_time = TimesyncWrite;
  ops.read_clock = ReadClock;
  ops.fw_version_get = FirmwareVersion;
  ops.get_reg = DumpRegisters;
  return ops;
}

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

/// `offset` counts from the next descriptor to be written. Completion is known only per batch.
int TxDescriptorStatus(void* queue, uint16_t offset) {
  const TxQueue& tx = *static_cast<TxQueue*>(queue);
  if (offset > tx.mask) return -EINVAL;
  const uint32_t used = tx.tail - tx.cleaned;
  if (offset < tx.mask + 1 - used) return RTE_ETH_TX_DESC_DONE;
  const uint32_t index = tx.tail + offset - (tx.mask + 1);  // A descriptor of the previous lap.
  const uint32_t report = index | (kBatch - 1);
  const bool posted = static_cast<int32_t>(tx.tail - report) > 0;
  return posted && LoadHigh(tx.ring[report & tx.mask]) == kDone ? RTE_ETH_TX_DESC_DONE
                                                                : RTE_ETH_TX_DESC_FULL;
}

/// Layout of a dump: the port page up to the end of the statistics; then, for every queue pair, the
/// registers kRingBase to kRingTail of its RX ring and of its TX ring.
constexpr uint32_t kPortWords = StatisticRegister(kStatisticCount) / 4;
constexpr uint32_t kRingWords = kRingTail / 4 + 1;

}  // namespace

constinit const eth_dev_ops kEthdevOps = MakeOps();

void SetOps(rte_eth_dev* dev) {
  dev->dev_ops = &kEthdevOps;
  SetRingOps(dev);
}

// Information about queues: their set-up parameters and the state of their descriptors.

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

// Information from the device: supported packet types, version, and a register dump.

const uint32_t* SupportedPacketTypes(rte_eth_dev*) {
  static constexpr uint32_t kTypes[] = {
      RTE_PTYPE_L2_ETHER, RTE_PTYPE_L2_ETHER_ARP, RTE_PTYPE_L2_ETHER_VLAN, RTE_PTYPE_L2_ETHER_QINQ,
      RTE_PTYPE_L3_IPV4,  RTE_PTYPE_L3_IPV4_EXT,  RTE_PTYPE_L3_IPV6,       RTE_PTYPE_L3_IPV6_EXT,
      RTE_PTYPE_L4_TCP,   RTE_PTYPE_L4_UDP,       RTE_PTYPE_L4_FRAG,       RTE_PTYPE_L4_SCTP,
      RTE_PTYPE_L4_ICMP,  RTE_PTYPE_L4_NONFRAG,   RTE_PTYPE_UNKNOWN};
  return kTypes;
}

int FirmwareVersion(rte_eth_dev* dev, char* text, size_t bytes) {
  const uint32_t version = AdapterOf(dev).registers.Read32(kFirmware);
  if (version == UINT32_MAX) return -EIO;
  const int length =
      std::snprintf(text, bytes, "%u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
  const auto needed = static_cast<size_t>(length) + 1;
  return needed > bytes ? static_cast<int>(needed) : 0;
}

int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info) {
  Adapter& adapter = AdapterOf(dev);
  const uint32_t words = kPortWords + adapter.max_queues * 2 * kRingWords;
  info->width = sizeof(uint32_t);
  info->version = kDeviceIdValue;
  if (info->data == nullptr) {
    info->length = words;
    return 0;
  }
  // Only a complete dump is supported.
  if (info->offset != 0 || (info->length != 0 && info->length != words)) return -ENOTSUP;
  info->length = words;
  auto* word = static_cast<uint32_t*>(info->data);
  const auto read = [&](uint32_t from, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) *word++ = adapter.registers.Read32(from + 4 * i);
  };
  read(0, kPortWords);
  for (uint32_t queue = 0; queue < adapter.max_queues; ++queue) {
    read(QueuePage(queue) + kRxBlock, kRingWords);
    read(QueuePage(queue) + kTxBlock, kRingWords);
  }
  return 0;
}

}  // namespace sluice::net_ipu
