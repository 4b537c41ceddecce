// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of rte_pmd_enso.h: argument checks and locking around the classes that implement
// them.
#include <ethdev_driver.h>

#include <cerrno>

#include "net_enso/enso_nb.h"
#include "net_enso/enso_port.h"
#include "net_enso/rte_pmd_enso.h"
#include "regs/enso.h"
#include "transport_unit.h"

using sluice::net_enso::Device;
using sluice::net_enso::FallbackOwner;
using sluice::net_enso::FlowKey;
using sluice::net_enso::Port;

namespace {

/// Returns the device of a port, or null if the port is invalid or belongs to another driver.
Device* DeviceOf(uint16_t port_id) {
  if (rte_eth_dev_is_valid_port(port_id) == 0) return nullptr;
  const rte_eth_dev* dev = &rte_eth_devices[port_id];
  return dev->dev_ops == &sluice::net_enso::kEthdevOps ? Port::Of(dev).device.get() : nullptr;
}

FlowKey KeyOf(const rte_pmd_enso_flow& flow) {
  return sluice::net_enso::MaskFlow({.dst_ip = flow.dst_ip,
                                     .src_ip = flow.src_ip,
                                     .dst_port = flow.dst_port,
                                     .src_port = flow.src_port},
                                    flow.protocol);
}

template <typename Call>
int WithDevice(uint16_t port_id, Call call) {
  Device* device = DeviceOf(port_id);
  if (device == nullptr) return -ENODEV;
  const std::scoped_lock lock(device->mutex());
  return call(*device);
}

}  // namespace

extern "C" {

bool rte_pmd_enso_supported(uint16_t port_id) { return DeviceOf(port_id) != nullptr; }

int rte_pmd_enso_transport(uint16_t port_id, const void* configuration) {
  return WithDevice(port_id, [configuration](Device& device) {
    if (device.backend().model() == nullptr) return -ENOTSUP;
    return sluice::drivers::ConfigureTransport(device.bar(), sluice::regs::enso::kTransport,
                                               configuration);
  });
}

int rte_pmd_enso_transport_active(uint16_t port_id) {
  return WithDevice(port_id, [](Device& device) {
    if (device.backend().model() == nullptr) return -ENOTSUP;
    return sluice::drivers::TransportIsActive(device.bar(), sluice::regs::enso::kTransport);
  });
}

int rte_pmd_enso_nb_open(uint16_t port_id, rte_pmd_enso_nb** nb) {
  return WithDevice(port_id, [nb](Device& device) { return device.OpenNb(nb); });
}

void rte_pmd_enso_nb_close(rte_pmd_enso_nb* nb) {
  if (nb == nullptr) return;
  Device& device = *nb->device();
  const std::scoped_lock lock(device.mutex());
  device.CloseNb(nb);
}

int rte_pmd_enso_pipe_open(rte_pmd_enso_nb* nb, rte_pmd_enso_pipe_kind kind, uint32_t flags,
                           rte_pmd_enso_pipe** pipe) {
  if (kind > RTE_PMD_ENSO_RXTX || (flags & ~RTE_PMD_ENSO_FALLBACK) != 0) return -EINVAL;
  const std::scoped_lock lock(nb->device()->mutex());
  return nb->device()->OpenPipe(nb, kind, flags != 0, FallbackOwner::kNative, pipe);
}

void rte_pmd_enso_pipe_close(rte_pmd_enso_pipe* pipe) {
  if (pipe == nullptr) return;
  Device& device = *pipe->nb->device();
  const std::scoped_lock lock(device.mutex());
  device.ClosePipe(pipe);
}

int rte_pmd_enso_pipe_bind(rte_pmd_enso_pipe* pipe, const rte_pmd_enso_flow* flow) {
  Device& device = *pipe->nb->device();
  const std::scoped_lock lock(device.mutex());
  return device.BindFlow(pipe, KeyOf(*flow));
}

int rte_pmd_enso_pipe_unbind(rte_pmd_enso_pipe* pipe, const rte_pmd_enso_flow* flow) {
  Device& device = *pipe->nb->device();
  const std::scoped_lock lock(device.mutex());
  return device.UnbindFlow(pipe, KeyOf(*flow));
}

uint8_t* rte_pmd_enso_pipe_memory(const rte_pmd_enso_pipe* pipe) { return pipe->memory; }

uint32_t rte_pmd_enso_pipe_bytes(const rte_pmd_enso_pipe* pipe) {
  return pipe->flits * RTE_PMD_ENSO_FLIT_BYTES;
}

void rte_pmd_enso_pipe_set_context(rte_pmd_enso_pipe* pipe, void* context) {
  pipe->context = context;
}

void* rte_pmd_enso_pipe_context(const rte_pmd_enso_pipe* pipe) { return pipe->context; }

// Functions that are called per batch would spend a large part of their time on calls. If all files
// are compiled at once, these functions therefore inline all code of the buffer (`flatten`).

[[gnu::flatten]] uint16_t rte_pmd_enso_poll(rte_pmd_enso_nb* nb, rte_pmd_enso_span* spans,
                                            uint16_t max, uint32_t max_bytes) {
  return nb->Poll(spans, max, max_bytes);
}

void rte_pmd_enso_release(rte_pmd_enso_pipe* pipe, uint32_t bytes) {
  pipe->nb->Release(pipe, bytes);
}

void rte_pmd_enso_prefetch(rte_pmd_enso_pipe* pipe) { pipe->nb->Prefetch(pipe); }

[[gnu::flatten]] int rte_pmd_enso_send(rte_pmd_enso_pipe* pipe, const uint8_t* data, uint32_t bytes,
                                       uint32_t release_bytes) {
  return pipe->nb->Send(pipe, data, bytes, release_bytes);
}

[[gnu::flatten]] void rte_pmd_enso_flush(rte_pmd_enso_nb* nb) { nb->Flush(); }

uint32_t rte_pmd_enso_tx_room(rte_pmd_enso_pipe* pipe, uint8_t** data) {
  pipe->nb->ReapCompletions();
  *data = pipe->At(pipe->tx_tail);
  return (pipe->flits - (pipe->tx_tail - pipe->tx_head)) * RTE_PMD_ENSO_FLIT_BYTES;
}

uint32_t rte_pmd_enso_tx_pending(const rte_pmd_enso_nb* nb) {
  return static_cast<uint32_t>(std::min<uint64_t>(nb->pending_bytes(), UINT32_MAX));
}

bool rte_pmd_enso_link_up(const rte_pmd_enso_nb* nb) {
  return nb->LinkUp() && nb->device()->backend().Answers();
}

int rte_pmd_enso_set_timestamp(uint16_t port_id, bool enable, uint8_t offset) {
  return WithDevice(port_id, [=](Device& device) { return device.SetTimestamp(enable, offset); });
}

int rte_pmd_enso_set_rate_limit(uint16_t port_id, bool enable, uint16_t numerator,
                                uint16_t denominator) {
  return WithDevice(
      port_id, [=](Device& device) { return device.SetRateLimit(enable, numerator, denominator); });
}

int rte_pmd_enso_set_round_robin(uint16_t port_id, bool enable) {
  return WithDevice(port_id, [=](Device& device) { return device.SetRoundRobin(enable); });
}

}  // extern "C"
