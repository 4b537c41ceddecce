// SPDX-License-Identifier: BSD-3-Clause
//
// An endpoint of cache lines in place of the rings of a queue pair: the host's end of the frames
// in them (coherent/frame_host.h), the memory that it shares with the device, and the registers
// that tell the device where that is.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "bar/ring_memory.h"
#include "coherent/frame_host.h"
#include "net_ipu/rte_pmd_ipu.h"

struct rte_eth_dev;

namespace sluice::net_ipu {

struct Adapter;

/// What endpoints count: coherent::FrameHostCounters in their order, then power-ons of the device,
/// then frames that closing an endpoint lost: received and not looked at, handed over and not
/// taken out.
enum LineStat : uint32_t {
  kLineRequests,
  kLineTryAgains,
  kLineGrants,
  kLineHostFaults,
  kLineResets,
  kLineRxStopDiscards,
  kLineTxStopDiscards,
};
inline constexpr uint32_t kLineStats = 7;
inline constexpr std::array<const char*, kLineStats> kLineStatNames = {
    "line_requests", "line_tryagains",        "line_grants",          "line_faults_host",
    "line_resets",   "line_rx_stop_discards", "line_tx_stop_discards"};
using LineTotals = std::array<uint64_t, kLineStats>;

}  // namespace sluice::net_ipu

/// `host`, `fruitless` and `generation` belong to the endpoint's thread.
struct rte_pmd_ipu_endpoint {
  explicit rte_pmd_ipu_endpoint(const sluice::coherent::EndpointMemory& layout) : host(layout) {}

  sluice::coherent::FrameHost host;
  uint32_t fruitless = 0;   ///< Looks without an answer.
  uint32_t generation = 0;  ///< Of the device, for which the registers were written.
  std::atomic<uint64_t> resets{0};

  rte_eth_dev* dev = nullptr;
  sluice::net_ipu::Adapter* adapter = nullptr;
  uint16_t queue = 0;
  sluice::bar::RingMemory memory;
};

namespace sluice::net_ipu {

/// Control path. Errors are those of rte_pmd_ipu_endpoint_open.
int OpenEndpoint(rte_eth_dev* dev, uint16_t queue, const coherent::Geometry& geometry,
                 rte_pmd_ipu_endpoint** endpoint);
/// Waits, bounded, for what the device still has to take out; frees the endpoint.
void CloseEndpoint(rte_eth_dev* dev, uint16_t queue);
void CloseEndpoints(rte_eth_dev* dev);
/// Open and closed ones.
LineTotals SumLines(const Adapter& adapter);
LineTotals CountersOf(const rte_pmd_ipu_endpoint& endpoint);

/// The device forgets the endpoint; behind it the memory is the host's alone.
void WithdrawEndpoint(rte_pmd_ipu_endpoint& endpoint);
/// As RepairLink of a link.
void RepairEndpoint(rte_pmd_ipu_endpoint& endpoint);

}  // namespace sluice::net_ipu
