// SPDX-License-Identifier: BSD-3-Clause
//
// One port of net_ipu: what probing found and what ethdev configured. Lives in
// ethdev's dev_private, which secondary processes see: they use what has no pointer in it.
// Control path, under the application's own ordering of ethdev
// calls; bursts see only their queue (ipu_queue.h), polls only their link (ipu_link.h).
//
// A device in another process can come back from power-on under the feet of the workers.
// The first one who notices writes the port's configuration again (Reapply), so whoever
// changes or writes it holds `configuration`. Workers only try that lock.
#pragma once

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bar/bar.h"
#include "dpdk/release.h"
#include "emulator/attach.h"
#include "net_ipu/ipu_endpoint.h"
#include "net_ipu/ipu_link.h"
#include "net_ipu/ipu_queue.h"
#include "regs/ipu_port.h"

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
  uint32_t age_s;                   ///< 0: no action age.
  void* context;                    ///< What the application calls the rule when it has aged.
  bool aged;                        ///< Is among Adapter::aged.
};

namespace sluice::net_ipu {

struct ExternalRange {
  uint64_t bytes;
  const rte_mempool* pool;  ///< For which it was mapped; null: for rte_dev_dma_map.
};

struct Adapter {
  std::unique_ptr<emulator::Attachment> attachment;
  bar::Bar registers;
  Addresses addressing = Addresses::kVirtual;
  uint32_t max_queues = 0;
  /// Of Attachment::Generation(), for which the port's configuration was written last.
  std::atomic<uint32_t> generation{0};
  /// Of the port, and of its clock; secondary processes choose their bursts anew for each.
  std::atomic<uint32_t> starts{0};

  std::mutex configuration;  ///< Guards what follows, up to `external`.
  bool receiving = false;    ///< The port is started, or has links.
  bool promiscuous = false;
  bool all_multicast = false;
  bool verify_checksums = false;
  bool isolated = false;  ///< rte_flow_isolate.
  bool strip_tags = false;
  bool filter_vlans = false;
  bool timesync = false;
  uint64_t station = 0;    ///< As in kStationAddress.
  uint32_t max_frame = 0;  ///< As in kMaxFrame.
  std::array<uint8_t, regs::ipu::kRssKeyBytes> rss_key{};
  uint64_t rss_types = 0;  ///< RTE_ETH_RSS_… in force.
  std::array<uint8_t, regs::ipu::kRetaEntries> reta{};
  std::array<uint32_t, regs::ipu::kVlanTableBytes / 4> vlans{};  ///< As kVlanTable.
  std::array<uint64_t, regs::ipu::kAddresses> addresses{};       ///< As kAddressTable.
  std::list<rte_flow> flows;
  std::unordered_map<const rte_flow*, std::list<rte_flow>::iterator> flow_places;
  std::vector<rte_flow*> aged;  ///< Rules that have aged and still stand, oldest first.
  bool tell_aged = true;        ///< The next rule that ages is an event.
  std::list<rte_flow_action_handle> counters;
  /// Memory that is not EAL's and that the device reaches, by address.
  std::map<uint64_t, ExternalRange> external;

  bool link_allowed = true;  ///< rte_eth_dev_set_link_up/down.
  // Read by EAL's interrupt thread, too.
  std::atomic<bool> wire_enabled{false};
  std::atomic<uint32_t> started_generation{0};  ///< The one that the rings were enabled for.
  uint32_t removal_told = 0;  ///< The generation whose end was told; the interrupt thread's.
  std::mutex link_update;     ///< From a look at the link to its state in ethdev's data.
  rte_intr_handle* port_interrupt = nullptr;
  std::array<std::unique_ptr<rte_pmd_ipu_link>, regs::ipu::kMaxQueues> links;
  LinkTotals closed_links;  ///< What links counted that are closed.
  LinkTotals link_base;     ///< As device_base.
  std::array<std::unique_ptr<rte_pmd_ipu_endpoint>, regs::ipu::kMaxQueues> endpoints;
  LineTotals closed_endpoints{};
  LineTotals line_base{};
  /// Values at the last reset: the device's counters, and the attachment's list, which is as long
  /// from probing on.
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

/// Of the device's table of addresses: the first ones are those of the port (the first of all is
/// its default address, which has a register of its own), the others groups.
inline constexpr uint32_t kPortAddresses = 32;
inline constexpr uint32_t kGroups = regs::ipu::kAddresses - kPortAddresses;

inline constexpr uint64_t kRxOffloads =
    RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_CHECKSUM |
    RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP;
inline constexpr uint64_t kTxOffloads =
    RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
    RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_TCP_TSO;
inline constexpr uint64_t kRssTypes = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP;

/// One log line, prefixed with the driver's name; RTE_LOG_… levels.
void Log(uint32_t level, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// Probing, once ethdev has a port with room for an Adapter: that, the device's identity,
/// operations and events. 0, and the application sees the port; else a negative errno with `error`
/// set, and the port is released.
int CreatePort(rte_eth_dev* dev, std::unique_ptr<emulator::Attachment> attachment,
               Addresses addressing, uint32_t queues, std::string* error);
/// Closes and releases the port of that name, if there is one; in a secondary process, there alone.
int RemovePort(const char* name);

/// The ops table of every port, and its connection to one.
extern const eth_dev_ops kEthdevOps;
void SetOps(rte_eth_dev* dev);

// ipu_queue_state.cc
void RxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_rxq_info* info);
void TxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_txq_info* info);
int TxDoneCleanup(void* queue, uint32_t limit);
/// Operations of the port that look at rings alone, which need no process but the caller's.
void SetRingOps(rte_eth_dev* dev);

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

// ipu_filter.cc
/// Address and VLAN tables of a device that is at power-on; `configuration` is held.
void WriteFilters(Adapter& adapter);
/// Takes the filter's switches from ethdev's data; `configuration` is held.
void ReadVlanOffloads(const rte_eth_dev* dev);
int MacAddressAdd(rte_eth_dev* dev, rte_ether_addr* address, uint32_t index, uint32_t pool);
void MacAddressRemove(rte_eth_dev* dev, uint32_t index);
int SetGroups(rte_eth_dev* dev, rte_ether_addr* groups, uint32_t count);
int VlanFilterSet(rte_eth_dev* dev, uint16_t vlan, int on);
int VlanOffloadSet(rte_eth_dev* dev, int mask);

// ipu_interrupt.cc
/// Events of the port from now on, in EAL's interrupt thread. 0 or a negative errno.
int WatchPort(rte_eth_dev* dev);
void UnwatchPort(rte_eth_dev* dev);
/// Reads the link's state; if it changed, tells who asked for RTE_ETH_EVENT_INTR_LSC.
void TellLink(rte_eth_dev* dev);
/// Files of the queues' interrupts where ethdev's configuration asks for them. 0 or a negative
/// errno.
int OpenRxInterrupts(rte_eth_dev* dev);
void CloseRxInterrupts(rte_eth_dev* dev);
int RxInterruptEnable(rte_eth_dev* dev, uint16_t queue);
int RxInterruptDisable(rte_eth_dev* dev, uint16_t queue);

// ipu_clock.cc
int TimesyncEnable(rte_eth_dev* dev);
int TimesyncDisable(rte_eth_dev* dev);
int TimesyncReadRx(rte_eth_dev* dev, timespec* time, uint32_t flags);
int TimesyncReadTx(rte_eth_dev* dev, timespec* time);
int TimesyncAdjust(rte_eth_dev* dev, int64_t by_ns);
int TimesyncRead(rte_eth_dev* dev, timespec* time);
int TimesyncWrite(rte_eth_dev* dev, const timespec* time);
int ReadClock(rte_eth_dev* dev, uint64_t* now_ns);

// ipu_registers.cc
const uint32_t* SupportedPacketTypes(rte_eth_dev* dev);
int FirmwareVersion(rte_eth_dev* dev, char* text, size_t bytes);
int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info);

// ipu_bursts.cc
/// By the port's configuration; it is about to start.
void ChooseBursts(rte_eth_dev* dev);
int RxBurstMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);
int TxBurstMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);

// ipu_memory.cc
/// As rte_dev_dma_map and its inverse, which take what rte_extmem_register knows. 0, or −1 with
/// rte_errno set and the reason logged.
int DmaMap(rte_vdev_device* vdev, void* begin, uint64_t iova, size_t bytes);
int DmaUnmap(rte_vdev_device* vdev, void* begin, uint64_t iova, size_t bytes);
/// Lets the device reach all mbufs of the pool until that is destroyed. False, and the reason is
/// logged, if it cannot.
bool MapPool(rte_eth_dev* dev, rte_mempool* pool);
/// From probing to closing: pools that are destroyed are unmapped.
void WatchPools(Adapter& adapter);
void ForgetPools(Adapter& adapter);

// ipu_stats.cc
int StatsGet(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues);
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

// ipu_flow_age.cc
/// Takes from the device which rules have aged, and tells it as RTE_ETH_EVENT_FLOW_AGED.
void CollectAged(rte_eth_dev* dev);
int GetAgedFlows(rte_eth_dev* dev, void** contexts, uint32_t count, rte_flow_error* error);
/// The rule is about to go; `configuration` is held.
void ForgetAge(Adapter& adapter, rte_flow& flow);

}  // namespace sluice::net_ipu
