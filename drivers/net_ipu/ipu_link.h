// SPDX-License-Identifier: BSD-3-Clause
//
// A link of regions in place of the rings of a queue pair: the host's end of the swaps
// (swap/host_link.h), the memory that it shares with the device, and the registers that
// tell the device where that is.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "bar/ring_memory.h"
#include "net_ipu/rte_pmd_ipu.h"
#include "swap/host_link.h"

struct rte_eth_dev;

namespace sluice::net_ipu {

struct Adapter;

/// What links count: swap::HostLinkCounters in their order, then frames that closing a
/// link lost: received and not fetched, given and not sent.
enum LinkStat : uint32_t {
  kLinkSwaps,
  kLinkRejected,
  kLinkTooLate,
  kLinkSuspects,
  kLinkResets,
  kLinkInDoubt,
  kLinkDiscardedPkts,
  kLinkHostFaults,
  kLinkRxStopDiscards,
  kLinkTxStopDiscards,
};
inline constexpr uint32_t kLinkStats = 10;
inline constexpr std::array<const char*, kLinkStats> kLinkStatNames = {
    "link_swaps",           "link_rejected",    "link_too_late",
    "link_suspects",        "link_resets",      "link_in_doubt",
    "link_discarded_pkts",  "link_faults_host", "link_rx_stop_discards",
    "link_tx_stop_discards"};
using LinkTotals = std::array<uint64_t, kLinkStats>;

}  // namespace sluice::net_ipu

/// `host`, `fruitless` and `generation` belong to the link's thread.
struct rte_pmd_ipu_link {
  std::unique_ptr<sluice::swap::HostLink> host;
  uint32_t fruitless = 0;   ///< Polls without an answer.
  uint32_t generation = 0;  ///< Of the device, for which the link's registers were written.
  std::atomic<bool> faulted{false};

  rte_eth_dev* dev;
  sluice::net_ipu::Adapter* adapter;
  uint16_t queue;
  sluice::bar::RingMemory memory;
  sluice::swap::LinkMemory layout;  ///< A view of `memory`.
};

namespace sluice::net_ipu {

/// Fruitless polls between two looks at the device: a poll takes some ten nanoseconds.
inline constexpr uint32_t kPollsPerLook = 1024;

/// Control path. `suspect_cycles`: TSC. Errors are those of rte_pmd_ipu_link_open.
int OpenLink(rte_eth_dev* dev, uint16_t queue, const swap::Geometry& geometry,
             uint64_t suspect_cycles, rte_pmd_ipu_link** link);
/// Waits, bounded, for what the device still has to send or to answer; frees the link.
void CloseLink(rte_eth_dev* dev, uint16_t queue);
void CloseLinks(rte_eth_dev* dev);

// Of whatever takes the place of rings: links, and endpoints (ipu_endpoint.h).
bool AnyLinkOpen(const Adapter& adapter);
/// A link or an endpoint.
bool HasLink(const Adapter& adapter, uint16_t queue);
/// Rings that are started.
bool HasRings(const rte_eth_dev* dev, uint16_t queue);
/// After the first one (`first`) and each further one was opened: the port receives.
void StartReceiving(rte_eth_dev* dev, bool first);
/// After one was taken from the adapter, before it is stopped: the wire brings it nothing more.
void StopReceiving(rte_eth_dev* dev);
/// Open and closed ones.
LinkTotals SumLinks(const Adapter& adapter);
LinkTotals CountersOf(const swap::HostLink& link);

/// Looks whether the device came back from power-on, and if so tells it everything again.
/// Called by the link's thread; posted stores only, and no wait for a lock.
void RepairLink(rte_pmd_ipu_link& link);

}  // namespace sluice::net_ipu
