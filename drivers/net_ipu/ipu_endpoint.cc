// SPDX-License-Identifier: BSD-3-Clause
//
// Opens and closes an endpoint. The endpoint's memory is freed when this process ends; frames in
// its lines are then lost, like those in rings.
#include "net_ipu/ipu_endpoint.h"

#include <ethdev_driver.h>
#include <rte_cycles.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include "bar/load_once.h"
#include "net_ipu/ipu_adapter.h"
#include "secondary.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// Time in milliseconds that the device has to read the frames handed over. It exceeds the 15 ms
/// after which the device answers a load with TRYAGAIN.
constexpr uint64_t kTakenOutMs = 500;

uint32_t Register(const rte_pmd_ipu_endpoint& endpoint, uint32_t offset) {
  return QueuePage(endpoint.queue) + kEndpointBlock + offset;
}

/// Writes the endpoint's registers.
void Program(rte_pmd_ipu_endpoint& endpoint) {
  bar::Bar& registers = endpoint.adapter->registers;
  registers.Write64(Register(endpoint, kEndpointBase),
                    endpoint.adapter->attachment->BusOf(endpoint.memory));
  registers.Write64(Register(endpoint, kEndpointBytes), endpoint.memory.bytes());
  registers.Write32(Register(endpoint, kEndpointControl), kEndpointEnable);
}

/// Withdraws the endpoint after the device has read the frames handed over, or after kTakenOutMs.
/// Returns the counters, including handed-over frames that the device did not read and received
/// frames that the application did not read.
LineTotals Settle(rte_pmd_ipu_endpoint& endpoint) {
  const uint64_t deadline = rte_get_timer_cycles() + rte_get_timer_hz() * kTakenOutMs / 1000;
  coherent::FrameHost& host = endpoint.host;
  const bool counted = host.withdrawn();  // If withdrawn, the frames were already counted.
  if (!counted) {
    host.Flush();
    while (host.Outstanding().frames != 0 && endpoint.adapter->registers.LinkUp() &&
           rte_get_timer_cycles() < deadline) {
      RepairEndpoint(endpoint);
    }
    WithdrawEndpoint(endpoint);
  }
  const uint64_t stays = host.Outstanding().frames;
  LineTotals totals = CountersOf(endpoint);
  totals[kLineRxStopDiscards] = host.Unseen();
  totals[kLineTxStopDiscards] = counted ? 0 : stays;
  return totals;
}

}  // namespace

int OpenEndpoint(rte_eth_dev* dev, uint16_t queue, const coherent::Geometry& geometry,
                 rte_pmd_ipu_endpoint** out) {
  Adapter& adapter = AdapterOf(dev);
  if (queue >= adapter.max_queues) return -EINVAL;
  if (HasLink(adapter, queue) || HasRings(dev, queue)) return -EBUSY;
  // Reads the number of endpoints from the current device, because a replaced device may offer
  // another number.
  const uint32_t offered = adapter.registers.Read32(kEndpoints);
  if (!adapter.registers.LinkUp()) return -EIO;
  if (queue >= offered) return -ENOTSUP;

  constexpr size_t kUnit = bar::RingMemory::kHugePageBytes;
  const size_t bytes = (geometry.Bytes() + kUnit - 1) / kUnit * kUnit;
  bar::RingMemory memory = adapter.attachment->Allocate(bytes);
  if (!memory) return -ENOMEM;
  const auto layout = coherent::EndpointMemory::Format({memory.data(), memory.bytes()}, geometry);
  auto endpoint = std::make_unique<rte_pmd_ipu_endpoint>(layout);
  endpoint->dev = dev;
  endpoint->adapter = &adapter;
  endpoint->queue = queue;
  endpoint->memory = std::move(memory);
  // Read before the first write, so that the endpoint's thread detects any later power-on.
  endpoint->generation = adapter.attachment->Generation();
  if (!adapter.attachment->Map(endpoint->memory)) {
    return adapter.registers.LinkUp() ? -ENOMEM : -EIO;
  }
  Program(*endpoint);
  if (adapter.registers.Read32(Register(*endpoint, kEndpointStatus)) != 1) {
    WithdrawEndpoint(*endpoint);
    adapter.attachment->Unmap(endpoint->memory);
    return -EIO;
  }
  const bool first = !AnyLinkOpen(adapter);
  *out = endpoint.get();
  adapter.endpoints[queue] = std::move(endpoint);
  StartReceiving(dev, first);
  return 0;
}

void CloseEndpoint(rte_eth_dev* dev, uint16_t queue) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(drivers::AnswerMutex());
  const std::unique_ptr<rte_pmd_ipu_endpoint> endpoint = std::move(adapter.endpoints[queue]);
  StopReceiving(dev);
  Add(adapter.closed_endpoints, Settle(*endpoint));
  adapter.attachment->Unmap(endpoint->memory);
}

void CloseEndpoints(rte_eth_dev* dev) {
  for (uint16_t queue = 0; queue < kMaxQueues; ++queue) {
    if (AdapterOf(dev).endpoints[queue] != nullptr) CloseEndpoint(dev, queue);
  }
}

LineTotals CountersOf(const rte_pmd_ipu_endpoint& endpoint) {
  LineTotals totals = ReadCounters(kLineCounters, endpoint.host.counters());
  totals[kLineResets] = endpoint.resets.load(std::memory_order_relaxed);
  return totals;
}

LineTotals SumLines(const Adapter& adapter) {
  LineTotals sum = adapter.closed_endpoints;
  for (const auto& endpoint : adapter.endpoints) {
    if (endpoint != nullptr) Add(sum, CountersOf(*endpoint));
  }
  return sum;
}

void WithdrawEndpoint(rte_pmd_ipu_endpoint& endpoint) {
  bar::Bar& registers = endpoint.adapter->registers;
  registers.Write32(Register(endpoint, kEndpointControl), 0);
  registers.Read32(Register(endpoint, kEndpointStatus));
  endpoint.host.Withdraw();
}

void RepairEndpoint(rte_pmd_ipu_endpoint& endpoint) {
  Adapter& adapter = *endpoint.adapter;
  const uint32_t generation = adapter.attachment->Generation();
  if (generation == endpoint.generation || !adapter.registers.LinkUp()) return;
  const std::unique_lock lock(adapter.configuration, std::try_to_lock);
  if (!lock) return;  // Another thread holds the lock; the next call tries again.
  ReapplyIfNew(adapter, generation);
  Program(endpoint);
  endpoint.resets.fetch_add(1, std::memory_order_relaxed);
  endpoint.generation = generation;
}

}  // namespace sluice::net_ipu
