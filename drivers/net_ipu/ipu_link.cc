// SPDX-License-Identifier: BSD-3-Clause
//
// Opens and closes a link. The link's memory is named, so that a device in another process keeps it
// when this process dies. The next process that opens the link resumes it.
#include "net_ipu/ipu_link.h"

#include <ethdev_driver.h>
#include <rte_cycles.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "bar/load_once.h"
#include "net_ipu/ipu_adapter.h"
#include "secondary.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// Time in milliseconds that the device has to send the last regions given to it.
constexpr uint64_t kDrainTimeoutMs = 500;

using swap::RegionKind;

uint32_t Register(const rte_pmd_ipu_link& link, uint32_t offset) {
  return QueuePage(link.queue) + kLinkBlock + offset;
}

/// Writes the link's registers and starts the host's current epoch in the device.
void Program(rte_pmd_ipu_link& link) {
  bar::Bar& registers = link.adapter->registers;
  registers.Write64(Register(link, kLinkBase), link.adapter->attachment->BusOf(link.memory));
  registers.Write64(Register(link, kLinkBytes), link.memory.bytes());
  registers.Write32(Register(link, kLinkEpoch), link.host->epoch());
  registers.Write32(Register(link, kLinkControl), kLinkEnable);
}

/// Disables the link. When the read returns, the device has released the link's memory.
void Disable(rte_pmd_ipu_link& link) {
  bar::Bar& registers = link.adapter->registers;
  registers.Write32(Register(link, kLinkControl), 0);
  registers.Read32(Register(link, kLinkStatus));
}

std::span<uint8_t> Bytes(const bar::RingMemory& memory) { return {memory.data(), memory.bytes()}; }

std::string NameOf(uint16_t queue) { return "link" + std::to_string(queue); }

/// Resumes the link of an earlier process, if one with this geometry exists. Returns false if no
/// link was resumed; the memory of an unsuitable link is then released.
bool Resume(rte_pmd_ipu_link& link, const swap::Geometry& geometry, uint64_t suspect_cycles) {
  emulator::Attachment& attachment = *link.adapter->attachment;
  link.memory = attachment.Adopt(NameOf(link.queue));
  if (!link.memory || !attachment.Map(link.memory, NameOf(link.queue))) return false;
  link.layout = swap::LinkMemory::Find(Bytes(link.memory));
  if (link.layout && link.layout.geometry() == geometry) {
    link.host = swap::HostLink::Open(link.layout, suspect_cycles);
    if (!link.host->faulted()) return true;
  }
  Log(RTE_LOG_WARNING,
      "%s: link %u: the state of an earlier process is damaged or has other sizes: starting a new "
      "link",
      link.dev->data->name, link.queue);
  attachment.Unmap(link.memory);
  link.host.reset();
  return false;
}

int StartNew(rte_pmd_ipu_link& link, const swap::Geometry& geometry, uint64_t suspect_cycles) {
  emulator::Attachment& attachment = *link.adapter->attachment;
  constexpr size_t kUnit = bar::RingMemory::kHugePageBytes;
  const size_t bytes = (swap::LinkMemory::BytesFor(geometry) + kUnit - 1) / kUnit * kUnit;
  link.memory = attachment.Allocate(bytes);
  if (!link.memory) return -ENOMEM;
  link.layout = swap::LinkMemory::Format(Bytes(link.memory), geometry);
  link.host = swap::HostLink::Open(link.layout, suspect_cycles);
  if (attachment.Map(link.memory, NameOf(link.queue))) return 0;
  return link.adapter->registers.LinkUp() ? -ENOMEM : -EIO;
}

/// Loads a field of a region that the device may be writing.
template <typename T>
T Load(const T& field) {
  return bar::LoadOnce(field, std::memory_order_acquire);
}

/// Returns the number of frames in the regions of `mask` with this `kind`. In regions to send, does
/// not count frames before the region's cursor, because the device has processed them.
uint64_t CountFrames(const rte_pmd_ipu_link& link, RegionKind kind, uint64_t mask) {
  const swap::Geometry& geometry = link.layout.geometry();
  uint64_t frames = 0;
  for (uint32_t i = 0; i < geometry.regions; ++i) {
    const swap::RegionHeader& header = link.layout.region(i).header();
    if ((mask >> i & 1) == 0 || Load(header.kind) != kind) continue;
    const uint32_t count = std::min(Load(header.count), geometry.max_frames);
    const uint32_t done = kind == RegionKind::kToSend ? Load(header.cursor) : 0;
    frames += count - std::min(count, done);
  }
  return frames;
}

/// Cancels the offered region and waits, at most kDrainTimeoutMs, until the device has sent the
/// frames that it accepted. Returns the number of frames received in a swap that could not be
/// cancelled in time.
uint64_t CancelRegion(rte_pmd_ipu_link& link) {
  swap::HostLink& host = *link.host;
  const bool held = host.holding();
  const uint64_t deadline = rte_get_timer_cycles() + rte_get_timer_hz() * kDrainTimeoutMs / 1000;
  const auto waits = [&] {
    RepairLink(link);
    return link.adapter->registers.LinkUp() && rte_get_timer_cycles() < deadline;
  };
  host.Cancel();
  while (!host.holding() && !host.faulted() && waits()) host.Poll(rte_get_timer_cycles());
  while (CountFrames(link, RegionKind::kToSend, ~link.layout.Owners()) != 0 && waits()) {
  }
  return !held && host.holding() ? host.received() : 0;
}

}  // namespace

bool HasRings(const rte_eth_dev* dev, uint16_t queue) {
  const rte_eth_dev_data& data = *dev->data;
  return (queue < data.nb_rx_queues && data.rx_queues[queue] != nullptr &&
          static_cast<RxQueue*>(data.rx_queues[queue])->started) ||
         (queue < data.nb_tx_queues && data.tx_queues[queue] != nullptr &&
          static_cast<TxQueue*>(data.tx_queues[queue])->started);
}

int OpenLink(rte_eth_dev* dev, uint16_t queue, const swap::Geometry& geometry,
             uint64_t suspect_cycles, rte_pmd_ipu_link** out) {
  Adapter& adapter = AdapterOf(dev);
  if (queue >= adapter.max_queues) return -EINVAL;
  if (HasLink(adapter, queue) || HasRings(dev, queue)) return -EBUSY;
  if (!adapter.registers.LinkUp()) return -EIO;

  auto link = std::make_unique<rte_pmd_ipu_link>();
  link->dev = dev;
  link->adapter = &adapter;
  link->queue = queue;
  // Read before the first write, so that the link's thread detects any later power-on.
  link->generation = adapter.attachment->Generation();
  if (!Resume(*link, geometry, suspect_cycles)) {
    if (const int error = StartNew(*link, geometry, suspect_cycles); error != 0) return error;
  }
  Program(*link);
  if (adapter.registers.Read32(Register(*link, kLinkStatus)) != 1) {
    Disable(*link);
    adapter.attachment->Unmap(link->memory);
    return -EIO;
  }
  const bool first = !AnyLinkOpen(adapter);
  *out = link.get();
  adapter.links[queue] = std::move(link);
  StartReceiving(dev, first);
  return 0;
}

void CloseLink(rte_eth_dev* dev, uint16_t queue) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(drivers::AnswerMutex());
  const std::unique_ptr<rte_pmd_ipu_link> link = std::move(adapter.links[queue]);
  StopReceiving(dev);

  const uint64_t fetched = CancelRegion(*link);
  Disable(*link);
  LinkTotals totals = ReadCounters(kLinkCounters, link->host->counters());
  totals[kLinkRxStopDiscards] =
      fetched + CountFrames(*link, RegionKind::kReceived, ~link->layout.Owners());
  totals[kLinkTxStopDiscards] = CountFrames(*link, RegionKind::kToSend, ~uint64_t{0});
  Add(adapter.closed_links, totals);
  adapter.attachment->Unmap(link->memory);
}

void CloseLinks(rte_eth_dev* dev) {
  for (uint16_t queue = 0; queue < kMaxQueues; ++queue) {
    if (AdapterOf(dev).links[queue] != nullptr) CloseLink(dev, queue);
  }
}

bool HasLink(const Adapter& adapter, uint16_t queue) {
  return adapter.links[queue] != nullptr || adapter.endpoints[queue] != nullptr;
}

bool AnyLinkOpen(const Adapter& adapter) {
  uint16_t queue = 0;
  while (queue < kMaxQueues && !HasLink(adapter, queue)) ++queue;
  return queue < kMaxQueues;
}

void StartReceiving(rte_eth_dev* dev, bool first) {
  if (dev->data->nb_rx_queues == 0) {
    // A port without configuration receives all frames, because a link has no filter.
    if (first) PromiscuousEnable(dev), dev->data->promiscuous = 1;
    ConfigurePort(dev);
  }
  if (first) SetReceiving(AdapterOf(dev), true);
}

void StopReceiving(rte_eth_dev* dev) {
  Adapter& adapter = AdapterOf(dev);
  const bool last = !AnyLinkOpen(adapter) && !dev->data->dev_started;
  if (last) EnableWire(dev, false);
  if (dev->data->nb_rx_queues == 0) ConfigurePort(dev);
  if (last) SetReceiving(adapter, false);
}

LinkTotals SumLinks(const Adapter& adapter) {
  LinkTotals sum = adapter.closed_links;
  for (const auto& link : adapter.links) {
    if (link != nullptr) Add(sum, ReadCounters(kLinkCounters, link->host->counters()));
  }
  return sum;
}

void RepairLink(rte_pmd_ipu_link& link) {
  Adapter& adapter = *link.adapter;
  if (link.host->faulted()) link.faulted.store(true, std::memory_order_relaxed);
  const uint32_t generation = adapter.attachment->Generation();
  if (generation == link.generation || !adapter.registers.LinkUp()) return;
  const std::unique_lock lock(adapter.configuration, std::try_to_lock);
  if (!lock) return;  // Another thread holds the lock; the next call tries again.
  ReapplyIfNew(adapter, generation);
  link.host->Reset();
  Program(link);
  link.generation = generation;
}

}  // namespace sluice::net_ipu
