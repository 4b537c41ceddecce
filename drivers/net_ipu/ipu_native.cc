// SPDX-License-Identifier: BSD-3-Clause
#include <ethdev_driver.h>
#include <rte_cycles.h>

#include <cerrno>
#include <new>

#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_region.h"
#include "net_ipu/ipu_wrap.h"
#include "regs/ipu.h"
#include "transport_unit.h"

using sluice::net_ipu::kEthdevOps;
using sluice::net_ipu::Log;
using sluice::swap::Geometry;

namespace {

constexpr uint32_t kSuspectUs = 10'000;

/// The public structure of sizes is a C structure, in which 0 selects the defaults.
Geometry GeometryOf(const rte_pmd_ipu_link_conf& conf) {
  Geometry geometry;
  if (conf.regions != 0) geometry.regions = conf.regions;
  if (conf.region_bytes != 0) geometry.region_bytes = conf.region_bytes;
  if (conf.max_frames != 0) geometry.max_frames = conf.max_frames;
  geometry.headroom_bytes = conf.headroom_bytes;
  return geometry;
}

bool IsModelPort(uint16_t port_id) {
  return rte_eth_dev_is_valid_port(port_id) != 0 && rte_eth_devices[port_id].dev_ops == &kEthdevOps;
}

/// Returns whether the port is a model that is not on a PCI bus.
bool HasVirtualAddresses(uint16_t port_id) {
  return IsModelPort(port_id) && sluice::net_ipu::AdapterOf(&rte_eth_devices[port_id]).addressing ==
                                     sluice::net_ipu::Addresses::kVirtual;
}

constexpr uint32_t kDefaultOverflowLines = 512;

static_assert(RTE_PMD_IPU_ENDPOINT_MAX_FRAMES == sluice::coherent::FrameHost::kMaxFrames &&
              RTE_PMD_IPU_ENDPOINT_MIN_FRAME == sluice::coherent::kMinFrameBytes &&
              RTE_PMD_IPU_ENDPOINT_MAX_FRAME == sluice::coherent::kMaxFrameBytes);

/// Returns the reason why an endpoint cannot have this geometry, or null if it can.
const char* WhyNot(const sluice::coherent::Geometry& geometry) {
  if (const char* const error = geometry.Error(); error != nullptr) return error;
  if (geometry.headroom_bytes % 64 != 0) return "headroom_bytes: give a multiple of 64";
  const uint32_t longest =
      sluice::coherent::RecordBytes(RTE_PMD_IPU_ENDPOINT_MAX_FRAME, geometry.headroom_bytes);
  return geometry.LineCapacity() < longest
             ? "overflow_lines: too few for the longest frame: give more"
             : nullptr;
}

}  // namespace

// The link functions of rte_pmd_ipu.h: argument checks around ipu_link.h.

#pragma GCC visibility push(default)
extern "C" {

bool rte_pmd_ipu_supported(uint16_t port_id) {
  return IsModelPort(port_id) || (rte_eth_dev_is_valid_port(port_id) != 0 &&
                                  sluice::net_ipu::IsWrapper(&rte_eth_devices[port_id]));
}

int rte_pmd_ipu_transport(uint16_t port_id, const void* configuration) {
  if (!HasVirtualAddresses(port_id)) return -ENOTSUP;
  return sluice::drivers::ConfigureTransport(
      sluice::net_ipu::AdapterOf(&rte_eth_devices[port_id]).registers,
      sluice::regs::ipu::kTransport, configuration);
}

int rte_pmd_ipu_transport_active(uint16_t port_id) {
  if (!HasVirtualAddresses(port_id)) return -ENOTSUP;
  return sluice::drivers::TransportIsActive(
      sluice::net_ipu::AdapterOf(&rte_eth_devices[port_id]).registers,
      sluice::regs::ipu::kTransport);
}

int rte_pmd_ipu_link_open(uint16_t port_id, uint16_t queue, const rte_pmd_ipu_link_conf* conf,
                          rte_pmd_ipu_link** link) {
  if (!IsModelPort(port_id)) return -ENOTSUP;
  rte_eth_dev* const dev = &rte_eth_devices[port_id];
  static constexpr rte_pmd_ipu_link_conf kDefaults{};
  if (conf == nullptr) conf = &kDefaults;
  const Geometry geometry = GeometryOf(*conf);
  if (const char* const error = geometry.Error(); error != nullptr) {
    Log(RTE_LOG_ERR, "%s: link %u: %s", dev->data->name, queue, error);
    return -EINVAL;
  }
  const uint64_t suspect_us = conf->suspect_us != 0 ? conf->suspect_us : kSuspectUs;
  try {
    return sluice::net_ipu::OpenLink(dev, queue, geometry,
                                     suspect_us * rte_get_tsc_hz() / 1'000'000, link);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

void rte_pmd_ipu_link_close(rte_pmd_ipu_link* link) {
  if (link != nullptr) sluice::net_ipu::CloseLink(link->dev, link->queue);
}

bool rte_pmd_ipu_link_region(rte_pmd_ipu_link* link, rte_pmd_ipu_region* region) {
  if (!link->host->holding()) return false;
  *region = sluice::net_ipu::DescribeRegion(*link->host);
  return true;
}

void rte_pmd_ipu_link_give(rte_pmd_ipu_link* link, uint32_t frames, bool wait_for_frames) {
  link->host->Give(frames, wait_for_frames);
}

bool rte_pmd_ipu_link_poll(rte_pmd_ipu_link* link, uint64_t now_cycles,
                           rte_pmd_ipu_region* region) {
  if (link->host->Poll(now_cycles)) {
    *region = sluice::net_ipu::DescribeRegion(*link->host);
    return true;
  }
  if (++link->fruitless % sluice::net_ipu::kPollsPerLook == 0) [[unlikely]] {
    sluice::net_ipu::RepairLink(*link);
  }
  return false;
}

bool rte_pmd_ipu_link_cancel(rte_pmd_ipu_link* link) { return link->host->Cancel(); }

bool rte_pmd_ipu_link_up(const rte_pmd_ipu_link* link) {
  const sluice::net_ipu::Adapter& adapter = *link->adapter;
  return !link->faulted.load(std::memory_order_relaxed) && adapter.registers.LinkUp() &&
         adapter.attachment->WireUp();
}

void rte_pmd_ipu_link_stats_get(const rte_pmd_ipu_link* link, rte_pmd_ipu_link_stats* stats) {
  using namespace sluice::net_ipu;  // NOLINT: the table of counters
  StoreCounters(kLinkCounters, ReadCounters(kLinkCounters, link->host->counters()), stats);
}

}  // extern "C"
#pragma GCC visibility pop

// The endpoint functions of rte_pmd_ipu.h: argument checks around ipu_endpoint.h.

#pragma GCC visibility push(default)
extern "C" {

int rte_pmd_ipu_endpoint_open(uint16_t port_id, uint16_t queue,
                              const rte_pmd_ipu_endpoint_conf* conf,
                              rte_pmd_ipu_endpoint** endpoint) {
  if (rte_eth_dev_is_valid_port(port_id) == 0 || rte_eth_devices[port_id].dev_ops != &kEthdevOps) {
    return -ENOTSUP;
  }
  rte_eth_dev* const dev = &rte_eth_devices[port_id];
  static constexpr rte_pmd_ipu_endpoint_conf kDefaults{};
  if (conf == nullptr) conf = &kDefaults;
  sluice::coherent::Geometry geometry;
  geometry.overflow_lines =
      conf->overflow_lines != 0 ? conf->overflow_lines : kDefaultOverflowLines;
  geometry.headroom_bytes = conf->headroom_bytes;
  if (const char* const error = WhyNot(geometry); error != nullptr) {
    Log(RTE_LOG_ERR, "%s: endpoint %u: %s", dev->data->name, queue, error);
    return -EINVAL;
  }
  try {
    return sluice::net_ipu::OpenEndpoint(dev, queue, geometry, endpoint);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

void rte_pmd_ipu_endpoint_close(rte_pmd_ipu_endpoint* endpoint) {
  if (endpoint != nullptr) sluice::net_ipu::CloseEndpoint(endpoint->dev, endpoint->queue);
}

uint32_t rte_pmd_ipu_endpoint_wait(rte_pmd_ipu_endpoint* endpoint, rte_pmd_ipu_line_frame* frames) {
  const uint32_t received = endpoint->host.Wait(frames);
  if (received == 0 && ++endpoint->fruitless % sluice::net_ipu::kPollsPerLook == 0) [[unlikely]] {
    sluice::net_ipu::RepairEndpoint(*endpoint);
  }
  return received;
}

void rte_pmd_ipu_endpoint_answer(rte_pmd_ipu_endpoint* endpoint,
                                 const rte_pmd_ipu_line_frame* frames, uint32_t count) {
  endpoint->host.Answer(frames, count);
}

uint8_t* rte_pmd_ipu_endpoint_grown_room(rte_pmd_ipu_endpoint* endpoint, uint32_t length) {
  return endpoint->host.GrownRoom(length);
}

void rte_pmd_ipu_endpoint_take_grown(rte_pmd_ipu_endpoint* endpoint, uint32_t length) {
  endpoint->host.CommitGrown(length);
}

uint8_t* rte_pmd_ipu_endpoint_room(rte_pmd_ipu_endpoint* endpoint, uint32_t length) {
  return endpoint->host.Room(length);
}

void rte_pmd_ipu_endpoint_send(rte_pmd_ipu_endpoint* endpoint, uint32_t length) {
  endpoint->host.Send(length);
}

void rte_pmd_ipu_endpoint_flush(rte_pmd_ipu_endpoint* endpoint) { endpoint->host.Flush(); }

void rte_pmd_ipu_endpoint_outstanding(rte_pmd_ipu_endpoint* endpoint, uint64_t* frames,
                                      uint64_t* bytes) {
  const sluice::coherent::HandedOver outstanding = endpoint->host.Outstanding();
  *frames = outstanding.frames;
  *bytes = outstanding.bytes;
}

void rte_pmd_ipu_endpoint_withdraw(rte_pmd_ipu_endpoint* endpoint) {
  sluice::net_ipu::WithdrawEndpoint(*endpoint);
}

const uint8_t* rte_pmd_ipu_endpoint_memory(const rte_pmd_ipu_endpoint* endpoint, uint64_t* bytes) {
  *bytes = endpoint->memory.bytes();
  return endpoint->memory.data();
}

bool rte_pmd_ipu_endpoint_up(const rte_pmd_ipu_endpoint* endpoint) {
  const sluice::net_ipu::Adapter& adapter = *endpoint->adapter;
  return !endpoint->host.faulted() && adapter.registers.LinkUp() && adapter.attachment->WireUp();
}

void rte_pmd_ipu_endpoint_stats_get(const rte_pmd_ipu_endpoint* endpoint,
                                    rte_pmd_ipu_endpoint_stats* stats) {
  using namespace sluice::net_ipu;  // NOLINT: the table of counters
  StoreCounters(kLineCounters, CountersOf(*endpoint), stats);
}

}  // extern "C"
#pragma GCC visibility pop
