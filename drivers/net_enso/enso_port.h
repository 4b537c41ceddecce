// SPDX-License-Identifier: BSD-3-Clause
//
// The ethdev port of a device: queues, rules and counters behind the C operations
// of enso_ctrl.cc, enso_queue.cc, enso_rss.cc, enso_stats.cc, enso_flow.cc, enso_rx.cc
// and enso_tx.cc.
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

/// A rule of rte_flow, as applications hold it.
struct rte_flow {
  sluice::net_enso::FlowKey key;
  uint16_t queue;
  bool tcp;
  bool counted;
  int counter;       ///< Index in RxQueue::rules while the rule is bound and counted, else −1.
  uint64_t packets;  ///< Counted before it was bound the last time, since a reset.
  uint64_t bytes;
};

namespace sluice::net_enso {

inline constexpr uint16_t kMaxQueues = 256;
inline constexpr uint32_t kMaxFrameBytes = regs::enso::kMaxRxFlits * regs::enso::kFlitBytes;
inline constexpr uint16_t kMaxMtu = kMaxFrameBytes - RTE_ETHER_HDR_LEN;

/// Counters of a queue: written by its thread alone, read by any. Tearing is
/// impossible for aligned words, and a reader wants no more than a recent value.
struct QueueTraffic {
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

/// A rule whose hits are counted in software. The control thread fills `key` and
/// `source` and then raises `active`; the queue's thread counts.
struct CountedRule {
  std::atomic<bool> active{false};
  FlowKey key;
  bool tcp = false;
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};
};

/// One receive queue: a notification buffer and the pipes that report to it.
struct RxQueue {
  static constexpr uint32_t kStock = 64;  ///< mbufs taken from the pool at once.
  static constexpr uint32_t kSpans = 16;
  static constexpr uint32_t kRules = 8;

  // Walk through the bytes of one pipe: [position, end) lies in its memory.
  Pipe* pipe = nullptr;
  const uint8_t* position = nullptr;
  const uint8_t* end = nullptr;
  const uint8_t* released = nullptr;  ///< Bytes before it were given back.

  NotificationBuffer* nb = nullptr;
  rte_mempool* pool = nullptr;
  uint64_t flags = 0;  ///< In ol_flags of all mbufs of the pool.
  uint64_t rearm = 0;  ///< Initial data_off, refcnt, nb_segs and port of an mbuf.
  uint32_t room = 0;   ///< Bytes that one mbuf takes.
  uint32_t stocked = 0;
  uint16_t max_spans = kSpans;  ///< Of a poll; 0 while the queue is stopped.
  bool scatter = false;
  uint32_t max_bytes = 0;  ///< Longest frame that the MTU admits.
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
  std::atomic<uint32_t> counted_rules{0};  ///< Active ones; the control thread writes.

  uint16_t id = 0;
  uint16_t descriptors = 0;
  bool drop_enabled = false;
  bool deferred_start = false;
};

/// One transmit queue: a TX pipe on a buffer of its own, because another thread may
/// serve the receive queue of the same number.
struct TxQueue {
  NotificationBuffer* nb = nullptr;
  Pipe* pipe = nullptr;  ///< `own`, or `none` while the queue is stopped.
  Pipe* own = nullptr;
  Pipe none;  ///< Without memory or room.
  QueueTraffic counters;
  ExceptionPort* exception = nullptr;  ///< Of the started port; null: none.
  uint64_t unframeable = 0;
  uint64_t bad_packet = 0;  ///< Asked for a checksum outside of itself.
  uint64_t exceptions = 0;  ///< Sent there; among `counters`.
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
  bool link_allowed = true;  ///< rte_eth_dev_set_link_up/down.
  bool up = false;           ///< The wire is on: allowed, and started or natively in use.
  std::atomic<bool> loss_reported{false};
  uint32_t packet_types = kPacketTypeMask;   ///< As Wanted::packet_types.
  std::vector<uint16_t> reta;                ///< Queue of each fallback pipe.
  std::string exception_name;                ///< Empty: none.
  std::unique_ptr<ExceptionPort> exception;  ///< Null until there is such a port.
  std::vector<std::unique_ptr<RxQueue>> rx;
  std::vector<std::unique_ptr<TxQueue>> tx;
  std::vector<std::unique_ptr<rte_flow>> flows;
  std::vector<std::string> model_names;  ///< Of the model's statistics, in order.
  std::vector<uint64_t> model_zero;      ///< Their values at the last reset.
  std::array<uint64_t, static_cast<uint32_t>(Event::kCount)> event_zero{};

  static Port& Of(const rte_eth_dev* dev) { return *static_cast<Port*>(dev->data->dev_private); }
};

/// Puts an ethdev named `name` over a probed back end; what that cannot send goes to the ethdev
/// `exception`, if one is named. On failure everything is
/// released, the reason is logged and the result is a negative errno.
int CreatePort(rte_device* device, const char* name, std::unique_ptr<Backend> backend,
               const Geometry& geometry, uint32_t pipes_per_queue,
               const std::string& exception = {});
/// Closes and releases the port of that name, if there is one; in a secondary process, there alone.
int RemovePort(const char* name);

// enso_secondary.cc
inline constexpr const char* kSecondaryChannel = "net_enso_ports";
/// The primary's port of that name, in a secondary process. 0, or a negative errno.
int AttachSecondaryPort(rte_device* device, const char* name);
extern const eth_dev_ops kEthdevOps;
extern const rte_flow_ops kFlowOps;

// enso_queue.cc: starts and stops the queues; the device's lock is held.
int StartQueues(Port& port);
void StopQueues(Port& port);

// enso_rss.cc: which queue a frame goes to that no rule claims.
inline constexpr uint64_t kRssTypes = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
                                      RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER;
/// Fallback pipes of all queues: a power of two, because the NIC spreads by a mask, and at least
/// one a queue.
uint32_t FallbackPipes(const Port& port);
/// Gives each pipe a queue in turn. The port is being configured.
void ResetReta(Port& port);
int UpdateReta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int QueryReta(rte_eth_dev* dev, rte_eth_rss_reta_entry64* entries, uint16_t size);
int UpdateRssHash(rte_eth_dev* dev, rte_eth_rss_conf* conf);
int GetRssHash(rte_eth_dev* dev, rte_eth_rss_conf* conf);

// enso_flow.cc: while the port is stopped its rules wait outside the table.
int BindRules(Port& port);
void UnbindRules(Port& port);

// enso_registers.cc
int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info);

// enso_stats.cc
/// Once, before anybody asks for statistics: others read the names at any time.
void NameModelStatistics(Port& port);
int GetStats(rte_eth_dev* dev, rte_eth_stats* stats, dpdk::QueueStats* queues);
int ResetStats(rte_eth_dev* dev);
int GetXstats(rte_eth_dev* dev, rte_eth_xstat* xstats, unsigned size);
int GetXstatNames(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned size);

// enso_queue.cc
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
// By the queue's thread. Descriptors are the frames of a receive queue, as many as it was set up
// with, and the flits of a transmit queue.
dpdk::QueueCount CountRxQueue(void* queue);
int GetRxStatus(void* queue, uint16_t offset);
int GetTxStatus(void* queue, uint16_t offset);

// Bursts. The exact variants walk the boundaries of notify=packet, the described ones and that with
// checksums fill in what the application wants.
uint16_t RxBurst(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstExact(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstDescribed(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t RxBurstExactDescribed(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t TxBurst(void* queue, rte_mbuf** packets, uint16_t count);
uint16_t TxBurstChecksums(void* queue, rte_mbuf** packets, uint16_t count);
/// Frames that have arrived and were not received yet, `limit` at most. By the queue's thread.
uint32_t CountPending(RxQueue& queue, uint32_t limit);
/// Walks what the queue's pipes still hold and counts its frames as stop_drops.
void DiscardPending(RxQueue& queue);

}  // namespace sluice::net_enso

/// Type of the driver's log lines, "pmd.net.enso"; registered in enso_vdev.cc.
extern int net_enso_log_type;
#define ENSO_LOG(level, format, ...) \
  rte_log(RTE_LOG_##level, net_enso_log_type, "net_enso: " format "\n" __VA_OPT__(, ) __VA_ARGS__)
