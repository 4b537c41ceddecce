// SPDX-License-Identifier: BSD-3-Clause
//
// One port of net_ipu: what probing found and what ethdev configured. Lives in
// ethdev's dev_private. Control path, under the application's own ordering of ethdev
// calls; bursts see only their queue (ipu_queue.h), polls only their link (ipu_link.h).
//
// A device in another process can come back from power-on under the feet of the workers.
// The first one who notices writes the port's configuration again (Reapply), so whoever
// changes or writes it holds `configuration`. Workers only try that lock.
#pragma once

#include <ethdev_driver.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "bar/bar.h"
#include "emulator/attach.h"
#include "net_ipu/ipu_endpoint.h"
#include "net_ipu/ipu_link.h"
#include "net_ipu/ipu_queue.h"
#include "regs/ipu.h"

/// A counter that rules share: rte_flow's indirect count action.
struct rte_flow_action_handle {
  uint32_t rules = 0;  ///< That count here now.
  uint64_t hits = 0;   ///< Of rules that are gone,
  uint64_t bytes = 0;  ///< since the last query that reset it.
};

/// A rule as it was programmed: enough to find it again in the device's table.
struct rte_flow {
  uint32_t fields;
  uint32_t protocol;
  uint32_t ports;
  std::array<uint8_t, 16> source;
  std::array<uint8_t, 16> destination;
  uint32_t shape;
  std::array<uint8_t, 8> ether_source;
  std::array<uint8_t, 8> ether_destination;
  uint32_t action;
  uint32_t mark;
  bool count;
  rte_flow_action_handle* counter;  ///< Shared, or null.
};

namespace sluice::net_ipu {

struct Adapter {
  std::unique_ptr<emulator::Attachment> attachment;
  bar::Bar registers;
  uint32_t max_queues = 0;
  /// Of Attachment::Generation(), for which the port's configuration was written last.
  std::atomic<uint32_t> generation{0};

  std::mutex configuration;  ///< Guards what follows, up to `counters`.
  bool receiving = false;    ///< The port is started, or has links.
  bool promiscuous = false;
  bool all_multicast = false;
  bool verify_checksums = false;
  bool isolated = false;   ///< rte_flow_isolate.
  uint64_t station = 0;    ///< As in kStationAddress.
  uint32_t max_frame = 0;  ///< As in kMaxFrame.
  std::array<uint8_t, regs::ipu::kRssKeyBytes> rss_key{};
  uint64_t rss_types = 0;  ///< RTE_ETH_RSS_… in force.
  std::array<uint8_t, regs::ipu::kRetaEntries> reta{};
  std::list<rte_flow> flows;
  std::list<rte_flow_action_handle> counters;

  bool link_allowed = true;  ///< rte_eth_dev_set_link_up/down.
  bool wire_enabled = false;
  uint32_t started_generation = 0;  ///< The one that the rings were enabled for.
  std::array<std::unique_ptr<rte_pmd_ipu_link>, regs::ipu::kMaxQueues> links;
  LinkTotals closed_links;  ///< What links counted that are closed.
  LinkTotals link_base;     ///< As device_base.
  std::array<std::unique_ptr<rte_pmd_ipu_endpoint>, regs::ipu::kMaxQueues> endpoints;
  LineTotals closed_endpoints{};
  LineTotals line_base{};
  /// Values at the last reset: the device's counters, and the attachment's list.
  std::array<uint64_t, regs::ipu::kStatisticCount> device_base{};
  std::vector<uint64_t> attachment_base;
};

inline Adapter& AdapterOf(const rte_eth_dev* dev) {
  return *static_cast<Adapter*>(dev->data->dev_private);
}

/// Bytes of a received frame beyond the MTU: Ethernet header and two VLAN tags.
inline constexpr uint32_t kFrameOverhead = RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN;
/// Descriptors in use before transmitted mbufs are reclaimed: few enough to stay in
/// the cache, enough that the report to look for is an old one.
inline constexpr uint32_t kTxInUse = 4 * kBatch;

inline constexpr uint64_t kRxOffloads =
    RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_CHECKSUM;
inline constexpr uint64_t kTxOffloads =
    RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
inline constexpr uint64_t kRssTypes = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;

/// One log line, prefixed with the driver's name; RTE_LOG_… levels.
void Log(uint32_t level, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// The ops table of every port, and its connection to one.
extern const eth_dev_ops kEthdevOps;
void SetOps(rte_eth_dev* dev);

// ipu_port.cc: the port page. Posted writes only; `configuration` is held.
void WritePortControl(Adapter& adapter);
void WriteStation(Adapter& adapter);
/// Programs key, fields and table from the adapter.
void WriteRss(Adapter& adapter);
/// All of the port page, and the flow rules, of a device that is at power-on.
void Reapply(Adapter& adapter);
/// Reapplies if the device is at another power-on than the configuration was written for.
void ReapplyIfNew(Adapter& adapter, uint32_t generation);

// ipu_port.cc: control path, without the lock.
void SetReceiving(Adapter& adapter, bool receiving);
/// Starts or stops the traffic behind the port; updates ethdev's link status.
void EnableWire(rte_eth_dev* dev, bool enabled);
/// Sets address and largest frame up from ethdev's data. Links alone take every frame.
void ConfigureStation(rte_eth_dev* dev);
/// The same and RSS: all queues in turn as ethdev's configuration says, or, where no queue
/// is configured, all open links in turn.
void ConfigurePort(rte_eth_dev* dev);
int PromiscuousEnable(rte_eth_dev* dev);
int PromiscuousDisable(rte_eth_dev* dev);
int AllMulticastEnable(rte_eth_dev* dev);
int AllMulticastDisable(rte_eth_dev* dev);
int MacAddressSet(rte_eth_dev* dev, rte_ether_addr* address);
int MtuSet(rte_eth_dev* dev, uint16_t mtu);
/// Whether frames of this MTU, with their tags, fit the buffers of every queue.
bool FitsBuffers(const rte_eth_dev* dev, uint32_t mtu);
int LinkUpdate(rte_eth_dev* dev, int wait_to_complete);
int SetLinkUp(rte_eth_dev* dev);
int SetLinkDown(rte_eth_dev* dev);
int RetaUpdate(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int RetaQuery(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int RssHashUpdate(rte_eth_dev* dev, rte_eth_rss_conf* conf);
int RssHashGet(rte_eth_dev* dev, rte_eth_rss_conf* conf);

// ipu_bursts.cc
/// By the port's configuration; it is about to start.
void ChooseBursts(rte_eth_dev* dev);
int RxBurstMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);
int TxBurstMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);

// ipu_stats.cc
int StatsGet(rte_eth_dev* dev, rte_eth_stats* stats);
int StatsReset(rte_eth_dev* dev);
int XstatsGet(rte_eth_dev* dev, rte_eth_xstat* stats, unsigned int count);
int XstatsGetNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned int size);
int XstatsReset(rte_eth_dev* dev);

// ipu_flow.cc
int FlowOpsGet(rte_eth_dev* dev, const rte_flow_ops** ops);
/// Forgets all rules, here and in the device.
void FlowClear(rte_eth_dev* dev);
/// Gives all rules to a device that has none. `configuration` is held.
void FlowReplay(Adapter& adapter);

}  // namespace sluice::net_ipu
