// SPDX-License-Identifier: BSD-3-Clause
//
// One port of net_ipu: the results of probing and ethdev's configuration. It is stored in ethdev's
// dev_private, which secondary processes can read; they use only members without pointers. The
// adapter belongs to the control path, which the application's ethdev calls serialize. Bursts
// access only their queue (ipu_queue.h), and polls only their link (ipu_link.h).
//
// A device in another process can be power-cycled while workers run. The first worker that notices
// this writes the port's configuration again (Reapply). Every thread that changes or writes the
// configuration therefore holds `configuration`. Workers only try that lock.
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
  uint32_t rules = 0;  ///< Number of rules that use the counter.
  uint64_t hits = 0;   ///< Hits since the last reset that the device no longer counts.
  uint64_t bytes = 0;  ///< Bytes of the frames in `hits`.
};

/// A programmed rule, with all fields needed to find it in the device's table.
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
  rte_flow_action_handle* counter;  ///< Shared counter, or null.
  uint32_t age_s;                   ///< Timeout in seconds; 0 without an age action.
  void* context;                    ///< Identifies the aged rule to the application.
  bool aged;                        ///< The rule is in Adapter::aged.
};

namespace sluice::net_ipu {

struct ExternalRange {
  uint64_t bytes;
  const rte_mempool* pool;  ///< Pool that owns the memory; null if mapped by rte_dev_dma_map.
};

/// Number of descriptors of a ring that is large enough for the intervals at which a device on a
/// CPU is stepped.
inline constexpr uint32_t kUsualRing = 512;

struct Adapter {
  std::unique_ptr<emulator::Attachment> attachment;
  bar::Bar registers;
  Addresses addressing = Addresses::kVirtual;
  uint32_t max_queues = 0;
  uint32_t ring_entries = kUsualRing;  ///< Ring size that the port recommends to applications.
  /// Value of Attachment::Generation() when the port's configuration was last written.
  std::atomic<uint32_t> generation{0};
  /// Number of times that the port or its clock was started. Secondary processes choose their burst
  /// functions again after each start.
  std::atomic<uint32_t> starts{0};

  std::mutex configuration;  ///< Guards the following members up to `external`.
  bool receiving = false;    ///< The port is started or has links.
  bool promiscuous = false;
  bool all_multicast = false;
  bool verify_checksums = false;
  bool isolated = false;  ///< Set by rte_flow_isolate.
  bool strip_tags = false;
  bool filter_vlans = false;
  bool timesync = false;
  uint64_t station = 0;    ///< Format of kStationAddress.
  uint32_t max_frame = 0;  ///< Format of kMaxFrame.
  std::array<uint8_t, regs::ipu::kRssKeyBytes> rss_key{};
  uint64_t rss_types = 0;  ///< Active RTE_ETH_RSS_… types.
  std::array<uint8_t, regs::ipu::kRetaEntries> reta{};
  std::array<uint32_t, regs::ipu::kVlanTableBytes / 4> vlans{};  ///< Format of kVlanTable.
  std::array<uint64_t, regs::ipu::kAddresses> addresses{};       ///< Format of kAddressTable.
  std::list<rte_flow> flows;
  std::unordered_map<const rte_flow*, std::list<rte_flow>::iterator> flow_places;
  std::vector<rte_flow*> aged;  ///< Aged rules that still exist, oldest first.
  bool notify_aged = true;      ///< The next rule that ages raises an event.
  std::list<rte_flow_action_handle> counters;
  /// Memory outside EAL that the device can reach, by address.
  std::map<uint64_t, ExternalRange> external;

  bool link_allowed = true;  ///< Set by rte_eth_dev_set_link_up/down.
  // EAL's interrupt thread also reads the following members.
  std::atomic<bool> wire_enabled{false};
  std::atomic<uint32_t> started_generation{0};  ///< Generation in which the rings were enabled.
  uint32_t removal_told = 0;  ///< Last generation with a reported removal; interrupt thread only.
  std::mutex link_update;     ///< Held from the reading of the link until ethdev's data is updated.
  rte_intr_handle* port_interrupt = nullptr;
  std::array<std::unique_ptr<rte_pmd_ipu_link>, regs::ipu::kMaxQueues> links;
  LinkTotals closed_links;  ///< Totals of closed links.
  LinkTotals link_base;     ///< Values at the last reset.
  std::array<std::unique_ptr<rte_pmd_ipu_endpoint>, regs::ipu::kMaxQueues> endpoints;
  LineTotals closed_endpoints{};
  LineTotals line_base{};
  /// Values at the last reset, of the device's counters and of the attachment's list, whose length
  /// is fixed after probing.
  std::array<uint64_t, regs::ipu::kStatisticCount> device_base{};
  std::vector<uint64_t> attachment_base;
};

inline Adapter& AdapterOf(const rte_eth_dev* dev) {
  return *static_cast<Adapter*>(dev->data->dev_private);
}

/// Maximum bytes of a received frame in addition to the MTU: Ethernet header and two VLAN tags.
inline constexpr uint32_t kFrameOverhead = RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN;
/// Number of descriptors that are in use before transmitted mbufs are reclaimed. It is small enough
/// that the mbufs stay in the cache, and large enough that the device writes the completion report
/// long before the driver reads it.
inline constexpr uint32_t kTxInUse = 4 * kBatch;

/// Partition of the device's address table. The first entries are the port's addresses; entry 0 is
/// the default address, which also has a separate register. The other entries are multicast groups.
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

/// Logs one line, prefixed with the driver's name. `level` is an RTE_LOG_… value.
void Log(uint32_t level, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// Creates the Adapter of a new ethdev port and sets identity, operations and events. Returns 0 and
/// makes the port visible to the application. On failure, returns a negative errno, sets `error`
/// and releases the port.
int CreatePort(rte_eth_dev* dev, std::unique_ptr<emulator::Attachment> attachment,
               Addresses addressing, uint32_t queues, uint32_t ring_entries, std::string* error);
/// Closes and releases the port with that name, if it exists. A secondary process releases it only
/// locally.
int RemovePort(const char* name);

/// The operations of every port, and the function that sets them for one port.
extern const eth_dev_ops kEthdevOps;
void SetOps(rte_eth_dev* dev);

// Implemented in ipu_ethdev.cc:
void RxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_rxq_info* info);
void TxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_txq_info* info);
int TxDoneCleanup(void* queue, uint32_t limit);
/// Sets the operations that access only rings, and which any process can therefore execute.
void SetRingOps(rte_eth_dev* dev);

// Implemented in ipu_port.cc: writes to the port page. These functions use only posted writes. The
// caller must hold `configuration`.
void WritePortControl(Adapter& adapter);
void WriteStation(Adapter& adapter);
/// Programs the RSS key, fields and table with the adapter's values.
void WriteRss(Adapter& adapter);
/// Writes the complete port page and the flow rules to a device after power-on.
void Reapply(Adapter& adapter);
/// Calls Reapply if the device's generation differs from the one for which the configuration was
/// written.
void ReapplyIfNew(Adapter& adapter, uint32_t generation);

// Implemented in ipu_port.cc: control path. The caller must not hold `configuration`.
void SetReceiving(Adapter& adapter, bool receiving);
/// Starts or stops the port's wire and updates ethdev's link status.
void EnableWire(rte_eth_dev* dev, bool enabled);
/// Sets address, VLAN settings, checksum verification and maximum frame length from ethdev's data.
/// Without receive queues, the port accepts frames of up to kMaxFrameBytes, because its links have
/// no MTU.
void ConfigureStation(rte_eth_dev* dev);
/// Calls ConfigureStation and configures RSS over all queues round-robin, according to ethdev's
/// configuration. If no queue is configured, distributes frames over all open links.
void ConfigurePort(rte_eth_dev* dev);
int PromiscuousEnable(rte_eth_dev* dev);
int PromiscuousDisable(rte_eth_dev* dev);
int AllMulticastEnable(rte_eth_dev* dev);
int AllMulticastDisable(rte_eth_dev* dev);
int MacAddressSet(rte_eth_dev* dev, rte_ether_addr* address);
int MtuSet(rte_eth_dev* dev, uint16_t mtu);
/// Returns whether frames with this MTU, including their tags, fit into the buffers of every queue.
bool FitsBuffers(const rte_eth_dev* dev, uint32_t mtu);
int LinkUpdate(rte_eth_dev* dev, int wait_to_complete);
int SetLinkUp(rte_eth_dev* dev);
int SetLinkDown(rte_eth_dev* dev);
int RetaUpdate(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int RetaQuery(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int RssHashUpdate(rte_eth_dev* dev, rte_eth_rss_conf* conf);
int RssHashGet(rte_eth_dev* dev, rte_eth_rss_conf* conf);

// Implemented in ipu_port.cc:

/// Writes the address and VLAN tables to a device after power-on. The caller must hold
/// `configuration`.
void WriteFilters(Adapter& adapter);
/// Copies the VLAN settings (stripping and filter) from ethdev's data. The caller must hold
/// `configuration`.
void ReadVlanOffloads(const rte_eth_dev* dev);
int MacAddressAdd(rte_eth_dev* dev, rte_ether_addr* address, uint32_t index, uint32_t pool);
void MacAddressRemove(rte_eth_dev* dev, uint32_t index);
int SetGroups(rte_eth_dev* dev, rte_ether_addr* groups, uint32_t count);
int VlanFilterSet(rte_eth_dev* dev, uint16_t vlan, int on);
int VlanOffloadSet(rte_eth_dev* dev, int mask);

// Implemented in ipu_interrupt.cc:

/// Starts to deliver port events in EAL's interrupt thread. Returns 0 or a negative errno.
int WatchPort(rte_eth_dev* dev);
void UnwatchPort(rte_eth_dev* dev);
/// Reads the link's state and reports a change through RTE_ETH_EVENT_INTR_LSC if it is enabled.
void ReportLink(rte_eth_dev* dev);
/// Opens the queues' interrupt files if ethdev's configuration requests them. Returns 0 or a
/// negative errno.
int OpenRxInterrupts(rte_eth_dev* dev);
void CloseRxInterrupts(rte_eth_dev* dev);
int RxInterruptEnable(rte_eth_dev* dev, uint16_t queue);
int RxInterruptDisable(rte_eth_dev* dev, uint16_t queue);

// Implemented in ipu_clock.cc:
int TimesyncEnable(rte_eth_dev* dev);
int TimesyncDisable(rte_eth_dev* dev);
int TimesyncReadRx(rte_eth_dev* dev, timespec* time, uint32_t flags);
int TimesyncReadTx(rte_eth_dev* dev, timespec* time);
int TimesyncAdjust(rte_eth_dev* dev, int64_t by_ns);
int TimesyncRead(rte_eth_dev* dev, timespec* time);
int TimesyncWrite(rte_eth_dev* dev, const timespec* time);
int ReadClock(rte_eth_dev* dev, uint64_t* now_ns);

// Implemented in ipu_ethdev.cc:
const uint32_t* SupportedPacketTypes(rte_eth_dev* dev);
int FirmwareVersion(rte_eth_dev* dev, char* text, size_t bytes);
int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info);

// Implemented in ipu_bursts.cc:

/// Chooses the burst functions for the port's configuration. Called when the port starts, and in
/// secondary processes when they attach and after each start.
void ChooseBursts(rte_eth_dev* dev);
int RxBurstMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);
int TxBurstMode(rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode);

// Implemented in ipu_memory.cc:

/// Implement rte_dev_dma_map and its inverse for memory registered with rte_extmem_register. Return
/// 0, or −1 with rte_errno set and the reason logged.
int DmaMap(rte_vdev_device* vdev, void* begin, uint64_t iova, size_t bytes);
int DmaUnmap(rte_vdev_device* vdev, void* begin, uint64_t iova, size_t bytes);
/// Makes all mbufs of the pool reachable by the device until the pool is destroyed. On a bus, does
/// nothing, because EAL or the application maps memory. Returns false and logs the reason on
/// failure.
bool MapPool(rte_eth_dev* dev, rte_mempool* pool);
/// Register and unregister the callback that unmaps the memory of destroyed pools. The callback is
/// registered from probing until closing.
void WatchPools(Adapter& adapter);
void ForgetPools(Adapter& adapter);

// Implemented in ipu_stats.cc:
int StatsGet(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues);
int StatsReset(rte_eth_dev* dev);
int XstatsGet(rte_eth_dev* dev, rte_eth_xstat* stats, unsigned int count);
int XstatsGetNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned int size);
int XstatsReset(rte_eth_dev* dev);

// Implemented in ipu_flow.cc:
int FlowOpsGet(rte_eth_dev* dev, const rte_flow_ops** ops);
/// Removes all rules from the driver and the device.
void FlowClear(rte_eth_dev* dev);
/// Programs all rules into a device that contains none. The caller must hold `configuration`.
void FlowReplay(Adapter& adapter);

// Implemented in ipu_flow.cc:

/// Reads the aged rules from the device. If there are new ones, raises RTE_ETH_EVENT_FLOW_AGED, but
/// not again until the application has called GetAgedFlows.
void CollectAged(rte_eth_dev* dev);
int GetAgedFlows(rte_eth_dev* dev, void** contexts, uint32_t count, rte_flow_error* error);
/// Removes the rule from Adapter::aged. Call it before the rule is removed. The caller must hold
/// `configuration`.
void ForgetAge(Adapter& adapter, rte_flow& flow);

}  // namespace sluice::net_ipu
