// SPDX-License-Identifier: BSD-3-Clause
//
// An endpoint whose cache lines replace the rings of a queue pair: the host side of the frames in
// the lines (coherent/frame_host.h), the memory that it shares with the device, and the registers
// that contain the memory's address.
#pragma once

#include <atomic>
#include <cstdint>

#include "bar/ring_memory.h"
#include "coherent/frame_host.h"
#include "net_ipu/ipu_counters.h"
#include "net_ipu/rte_pmd_ipu.h"

struct rte_eth_dev;

namespace sluice::net_ipu {

struct Adapter;

}  // namespace sluice::net_ipu

/// State of an open endpoint. Only the endpoint's thread uses `host`, `fruitless` and `generation`.
struct rte_pmd_ipu_endpoint {
  explicit rte_pmd_ipu_endpoint(const sluice::coherent::EndpointMemory& layout) : host(layout) {}

  sluice::coherent::FrameHost host;
  uint32_t fruitless = 0;   ///< Number of polls without an answer so far.
  uint32_t generation = 0;  ///< Device generation when the registers were written.
  std::atomic<uint64_t> resets{0};

  rte_eth_dev* dev = nullptr;
  sluice::net_ipu::Adapter* adapter = nullptr;
  uint16_t queue = 0;
  sluice::bar::RingMemory memory;
};

namespace sluice::net_ipu {

/// Opens an endpoint; used on the control path. Returns the errors of rte_pmd_ipu_endpoint_open.
int OpenEndpoint(rte_eth_dev* dev, uint16_t queue, const coherent::Geometry& geometry,
                 rte_pmd_ipu_endpoint** endpoint);
/// Waits, for a bounded time, until the device has read the outstanding frames, then frees the
/// endpoint.
void CloseEndpoint(rte_eth_dev* dev, uint16_t queue);
void CloseEndpoints(rte_eth_dev* dev);
/// Returns the totals of open and closed endpoints.
LineTotals SumLines(const Adapter& adapter);
LineTotals CountersOf(const rte_pmd_ipu_endpoint& endpoint);

/// Disables the endpoint in the device. Afterwards, only the host accesses the memory.
void WithdrawEndpoint(rte_pmd_ipu_endpoint& endpoint);
/// Like RepairLink, for an endpoint.
void RepairEndpoint(rte_pmd_ipu_endpoint& endpoint);

}  // namespace sluice::net_ipu
