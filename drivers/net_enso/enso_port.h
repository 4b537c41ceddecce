// SPDX-License-Identifier: BSD-3-Clause
//
// The ethdev port of a device: queues, rules and counters for the operations in enso_ctrl.cc,
// enso_queue.cc, enso_rss.cc, enso_stats.cc, enso_flow.cc, enso_rx.cc and enso_tx.cc.
#pragma once

#include <ethdev_driver.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dpdk/release.h"
#include "net_enso/enso_describe.h"
#include "net_enso/enso_device.h"
#include "net_enso/enso_exception.h"

/// An rte_flow rule; applications hold pointers to it.
struct rte_flow {
  sluice::net_enso::FlowKey key;
  uint16_t queue;
  bool tcp;
  bool counted;
  int counter;       ///< Index in RxQueue::rules while bound and counted, else −1.
  uint64_t packets;  ///< Packets that were counted by earlier bindings since the last reset.
  uint64_t bytes;
};

namespace sluice::net_enso {

inline constexpr uint16_t kMaxQueues = 256;
inline constexpr uint32_t kMaxFrameBytes = regs::enso::kMaxRxFlits * regs::enso::kFlitBytes;
inline constexpr uint16_t kMaxMtu = kMaxFrameBytes - RTE_ETHER_HDR_LEN;

/// Counters of a queue. Only the queue's thread writes them; any thread may read them. Aligned
/// words cannot tear, and readers do not need the latest value.
struct QueueTraffic {
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

/// A rule whose hits are counted in software. The control thread sets `key` and `tcp` and then
/// `active`; the queue's thread counts.
struct CountedRule {
  std::atomic<bool> active{false};
  FlowKey key;
  bool tcp = false;
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
};

/// A receive queue: a notification buffer and the pipes that report to it.
struct RxQueue {
  static constexpr uint32_t kStock = 64;  ///< Number of mbufs allocated at once.
  static constexpr uint32_t kSpans = 16;
  static constexpr uint32_t kRules = 8;

  // State of the walk through the bytes of one pipe; [position, end) is in the pipe's memory.
  Pipe* pipe = nullptr;
  const uint8_t* position = nullptr;
  const uint8_t* end = nullptr;
  const uint8_t* released = nullptr;  ///< Bytes before this address were given back to the NIC.

  NotificationBuffer* nb = nullptr;
  rte_mempool* pool = nullptr;
  uint64_t flags = 0;  ///< ol_flags bits that all mbufs of the pool have.
  uint64_t rearm = 0;  ///< Initial data_off, refcnt, nb_segs and port of an mbuf.
  uint32_t room = 0;   ///< Bytes that fit into one mbuf.
  uint32_t stocked = 0;
  uint16_t max_spans = kSpans;  ///< Maximum spans per poll; 0 while the queue is stopped.
  bool scatter = false;
  uint32_t max_bytes = 0;  ///< Longest frame that the MTU permits.
  Wanted wanted;

  QueueTraffic counters;
  uint64_t desync_flits = 0;
  uint64_t too_long = 0;
  uint64_t no_mbuf = 0;
  uint64_t stop_drops = 0;

  std::array<rte_mbuf*, kStock> stock;
  std::array<rte_pmd_enso_span, kSpans> spans;
  uint16_t span_count = 0;
  uint16_t next_span = 0;
  std::array<CountedRule, kRules> rules;
  /// Number of active rules; written by the control thread.
  std::atomic<uint32_t> counted_rules{0};

  uint16_t id = 0;
  uint16_t descriptors = 0;
  bool drop_enabled = false;
  bool deferred_start = false;
};

/// A transmit queue: a TX pipe on a separate buffer, because the receive queue with the same number
/// may be polled by another thread.
struct TxQueue {
  NotificationBuffer* nb = nullptr;
  Pipe* pipe = nullptr;  ///< `own`, or `none` while the queue is stopped.
  Pipe* own = nullptr;
  Pipe none;  ///< A pipe without memory.
  QueueTraffic counters;
  ExceptionPort* exception = nullptr;  ///< Exception port of the started port; may be null.
  uint64_t unframeable = 0;
  uint64_t bad_packet = 0;  ///< Packets with an invalid or unsupported checksum request.
  uint64_t exceptions = 0;  ///< Frames sent to the exception port; included in `counters`.
  uint64_t full = 0;
  uint16_t id = 0;
  uint16_t descriptors = 0;
  bool deferred_start = false;
};

struct Port {
  std::unique_ptr<Device> device;
  rte_eth_dev_data* data = nullptr;
  uint32_t pipes_per_queue = 1;
  rte_ether_addr mac{};
  bool link_allowed = true;  ///< Set by rte_eth_dev_set_link_up/down.
  bool up = false;  ///< Whether the wire is enabled: the link is allowed, and the port is started
                    ///< or used natively.
  std::atomic<bool> loss_reported{false};
  uint32_t packet_types = kPacketTypeMask;   ///< See Wanted::packet_types.
  std::vector<uint16_t> reta;                ///< Queue of each fallback pipe.
  std::string exception_name;                ///< Empty if none is configured.
  std::unique_ptr<ExceptionPort> exception;  ///< Null until the port with that name is acquired.
  std::vector<std::unique_ptr<RxQueue>> rx;
  std::vector<std::unique_ptr<TxQueue>> tx;
  std::vector<std::unique_ptr<rte_flow>> flows;
  std::vector<std::string> model_names;  ///< Names of the model's statistics, in order.
  std::vector<uint64_t> model_zero;      ///< Values of the model's statistics at the last reset.
  std::array<uint64_t, static_cast<uint32_t>(Event::kCount)> event_zero{};

  static Port& Of(const rte_eth_dev* dev) { return *static_cast<Port*>(dev->data->dev_private); }
};

/// Creates an ethdev named `name` on a probed back end. Frames that the device cannot send go to
/// the ethdev `exception`, unless this name is empty. On failure, releases all resources, logs the
/// reason and returns a negative errno.
int CreatePort(rte_device* device, const char* name, std::unique_ptr<Backend> backend,
               const Geometry& geometry, uint32_t pipes_per_queue,
               const std::string& exception = {});
/// Closes and releases the port with that name, if it exists. A secondary process releases it only
/// locally.
int RemovePort(const char* name);

// Implemented in enso_ctrl.cc:
inline constexpr const char* kSecondaryChannel = "net_enso_ports";
/// In a secondary process, attaches the primary's port with that name. Returns 0 or a negative
/// errno.
int AttachSecondaryPort(rte_device* device, const char* name);
extern const eth_dev_ops kEthdevOps;
extern const rte_flow_ops kFlowOps;

// Implemented in enso_queue.cc: start and stop of the queues. The caller must hold the device's
// lock.
int StartQueues(Port& port);
void StopQueues(Port& port);

// Implemented in enso_rss.cc: selects the queue of frames that match no rule.
inline constexpr uint64_t kRssTypes = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
                                      RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER;
/// Returns the total number of fallback pipes of all queues: a power of two, because the NIC
/// distributes frames by a mask, and at least one per queue.
uint32_t FallbackPipes(const Port& port);
/// Assigns queues to pipes round-robin. Called while the port is being configured.
void ResetReta(Port& port);
int UpdateReta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int QueryReta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int UpdateRssHash(rte_eth_dev* dev, rte_eth_rss_conf* conf);
int GetRssHash(rte_eth_dev* dev, rte_eth_rss_conf* conf);

// Implemented in enso_flow.cc: inserts the port's rules into the NIC's table when the port starts,
// and removes them when it stops.
int BindRules(Port& port);
void UnbindRules(Port& port);

// Implemented in enso_ctrl.cc:
int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info);

// Implemented in enso_stats.cc:

/// Must be called once before the first statistics request, because other threads read the names at
/// any time.
void NameModelStatistics(Port& port);
int GetStats(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues);
int ResetStats(rte_eth_dev* dev);
int GetXstats(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned size);
int GetXstatNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned size);

// Implemented in enso_queue.cc:
int SetupRxQueue(rte_eth_dev* dev, uint16_t id, uint16_t descriptors, unsigned socket,
                 const rte_eth_rxconf* conf, rte_mempool* pool);
int SetupTxQueue(rte_eth_dev* dev, uint16_t id, uint16_t descriptors, unsigned socket,
                 const rte_eth_txconf* conf);
void ReleaseRxQueue(rte_eth_dev* dev, uint16_t id);
void ReleaseTxQueue(rte_eth_dev* dev, uint16_t id);
void GetRxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_rxq_info* info);
void GetTxQueueInfo(rte_eth_dev* dev, uint16_t id, rte_eth_txq_info* info);
int StartRxQueue(rte_eth_dev* dev, uint16_t id);
int StopRxQueue(rte_eth_dev* dev, uint16_t id);
int StartTxQueue(rte_eth_dev* dev, uint16_t id);
int StopTxQueue(rte_eth_dev* dev, uint16_t id);
int GetRxBurstMode(rte_eth_dev* dev, uint16_t id, rte_eth_burst_mode* mode);
int GetTxBurstMode(rte_eth_dev* dev, uint16_t id, rte_eth_burst_mode* mode);
int CleanTxQueue(void* queue, uint32_t free_count);
// Called by the queue's thread. The descriptors of a receive queue are frames, and their number is
// that with which the queue was set up. The descriptors of a transmit queue are flits.
dpdk::QueueCount CountRxQueue(void* queue);
int GetRxStatus(void* queue, uint16_t offset);
int GetTxStatus(void* queue, uint16_t offset);

// Burst functions. The exact variants use the packet boundaries of notify=packet. The described
// variants, and the one with checksums, fill in the fields that the application requests.
uint16_t RxBurst(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstExact(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstDescribed(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstExactDescribed(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t TxBurst(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t TxBurstChecksums(void* queue, rte_mbuf** packets, uint16_t count);
/// Returns the number of frames that have arrived but have not been received yet, at most `limit`.
/// Called by the queue's thread.
uint32_t CountPending(RxQueue& queue, uint32_t limit);
/// Discards the bytes that the queue's pipes still hold, and counts their frames as stop_drops.
/// Then returns the stocked mbufs to the pool and sets max_spans to kSpans.
void DiscardPending(RxQueue& queue);

}  // namespace sluice::net_enso

/// The driver's log type, "pmd.net.enso"; registered in enso_vdev.cc.
extern int net_enso_log_type;
#define ENSO_LOG(level, format, ...) \
  rte_log(RTE_LOG_##level, net_enso_log_type, "net_enso: " format "\n" __VA_OPT__(, ) __VA_ARGS__)
