// SPDX-License-Identifier: BSD-3-Clause
//
// A link whose regions replace the rings of a queue pair: the host side of the swaps
// (swap/host_link.h), the memory that it shares with the device, and the registers that contain the
// memory's address.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "bar/ring_memory.h"
#include "net_ipu/ipu_counters.h"
#include "net_ipu/rte_pmd_ipu.h"
#include "swap/host_link.h"

struct rte_eth_dev;

namespace sluice::net_ipu {

struct Adapter;

}  // namespace sluice::net_ipu

/// State of an open link. Only the link's thread uses `host`, `fruitless` and `generation`.
struct rte_pmd_ipu_link {
  std::unique_ptr<sluice::swap::HostLink> host;
  uint32_t fruitless = 0;   ///< Number of polls without an answer so far.
  uint32_t generation = 0;  ///< Device generation when the registers were written.
  std::atomic<bool> faulted{false};

  rte_eth_dev* dev;
  sluice::net_ipu::Adapter* adapter;
  uint16_t queue;
  sluice::bar::RingMemory memory;
  sluice::swap::LinkMemory layout;  ///< A view of `memory`.
};

namespace sluice::net_ipu {

/// Number of fruitless polls between two checks of the device. A poll lasts about ten nanoseconds.
inline constexpr uint32_t kPollsPerLook = 1024;

/// Opens a link; used on the control path. `suspect_cycles` is in TSC cycles. Returns 0 or the
/// errors of rte_pmd_ipu_link_open.
int OpenLink(rte_eth_dev* dev, uint16_t queue, const swap::Geometry& geometry,
             uint64_t suspect_cycles, rte_pmd_ipu_link** link);
/// Waits, for a bounded time, until the device has sent or answered the outstanding frames, then
/// frees the link.
void CloseLink(rte_eth_dev* dev, uint16_t queue);
void CloseLinks(rte_eth_dev* dev);

// The following functions apply to links and to endpoints (ipu_endpoint.h); both replace rings.
bool AnyLinkOpen(const Adapter& adapter);
/// Returns whether a link or an endpoint is open on the queue.
bool HasLink(const Adapter& adapter, uint16_t queue);
/// Returns whether a ring of the queue pair is started.
bool HasRings(const rte_eth_dev* dev, uint16_t queue);
/// Starts reception. Called after each link has been opened; `first` is true for the first one.
void StartReceiving(rte_eth_dev* dev, bool first);
/// Stops reception if no link remains and the port is not started. Without receive queues,
/// distributes frames over the remaining links. Called after a link was removed from the adapter
/// but before it is stopped, so that the wire does not deliver any more frames to it.
void StopReceiving(rte_eth_dev* dev);
/// Returns the totals of open and closed links.
LinkTotals SumLinks(const Adapter& adapter);

/// Checks whether the device has been power-cycled and, if so, programs the port and the link
/// again. Called by the link's thread; uses only posted stores and does not wait for a lock.
void RepairLink(rte_pmd_ipu_link& link);

}  // namespace sluice::net_ipu
