// SPDX-License-Identifier: BSD-3-Clause
//
// Opens and closes pipes in the order that avoids the NIC's hazards (docs/enso-hardware.md,
// "Traps"; "Bring-up and tear-down"):
// - A frame that reaches a disabled pipe wedges the NIC's DMA engine. A pipe is therefore enabled
//   before any frame is steered to it, and disabled only when no frame can reach it.
// - An rx_head store that reaches a disabled pipe skips a slot of notification buffer 0; the
//   buffer's poller then waits forever. rx_head is therefore stored only while the pipe is enabled,
//   and the NIC gets time to process the last store before the pipe is disabled.
// - Both halves of an address are stored at once.
// - If a frame for a pipe was dropped before the pipe was enabled, the pipe's status bit is set and
//   the NIC sends no notifications for it. rx_head is therefore stored once after enabling, which
//   clears the bit.
#include "net_enso/enso_pipe.h"

#include <rte_cycles.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "net_enso/enso_device.h"

namespace sluice::net_enso {

using namespace regs::enso;

namespace {

/// Time in which the NIC empties its 1024 packet buffers of 2 KiB over a slow PCIe link.
/// Afterwards, frames that were steered before a change have reached their pipe.
constexpr uint32_t kInFlightUs = 500;

/// Time in which the NIC processes all queued rx_head stores, of which there are at most
/// kHeadTriggerDepth. It processes them before any waiting frame.
constexpr uint32_t kHeadStoresUs = 10;

}  // namespace

int Device::OpenPipe(NotificationBuffer* nb, rte_pmd_enso_pipe_kind kind, bool fallback,
                     FallbackOwner owner, Pipe** pipe) {
  if (fallback && kind == RTE_PMD_ENSO_TX) return -EINVAL;
  if (fallback && fallback_owner_ != FallbackOwner::kNone && fallback_owner_ != owner)
    return -EBUSY;
  auto fresh = std::make_unique<Pipe>();
  fresh->nb = nb;
  fresh->kind = kind;
  fresh->fallback = fallback;
  fresh->flits = geometry_.pipe_flits;
  fresh->mask = geometry_.pipe_flits - 1;
  if (fresh->receives()) {
    const int id = FreePipeId(fallback);
    if (id < 0 || !nb->HasRoomForPipe()) return -ENOSPC;
    fresh->id = static_cast<uint32_t>(id);
    if (geometry_.notify_per_packet) fresh->boundaries = std::make_unique<uint32_t[]>(fresh->flits);
  }
  fresh->ring = DmaRing(backend_.get(), geometry_.pipe_bytes(), true);
  if (!fresh->ring) return -ENOMEM;
  fresh->memory = fresh->ring.data();
  fresh->bus = fresh->ring.bus();
  *pipe = fresh.get();
  open_pipes_.push_back(std::move(fresh));
  if (!(*pipe)->receives()) return 0;

  int result = EnablePipe(*pipe);
  if (result == 0 && fallback) {
    fallback_owner_ = owner;
    (*pipe)->reachable = true;
    result = ConfigureFallback();
  }
  if (result != 0) ClosePipe(*pipe);
  return result;
}

int Device::FreePipeId(bool fallback) const {
  const auto is_free = [this](uint32_t id) {
    return pipes_[id].pipe.load(std::memory_order_relaxed) == nullptr;
  };
  if (!fallback) {
    for (uint32_t id = kMaxPipes; id-- > 0;) {
      if (is_free(id)) return static_cast<int>(id);
    }
    return -1;
  }
  for (uint32_t id = 0; id < kMaxPipes; ++id) {
    if (is_free(id)) return static_cast<int>(id);
    // Fallback IDs must be contiguous from 0.
    if (!pipes_[id].pipe.load(std::memory_order_relaxed)->fallback) return -1;
  }
  return -1;
}

int Device::EnablePipe(Pipe* pipe) {
  const uint32_t page = PipePage(pipe->id);
  pipes_[pipe->id].pipe.store(pipe, std::memory_order_relaxed);
  pipes_[pipe->id].nb.store(pipe->nb->id(), std::memory_order_release);
  pipe->nb->AddPipe(pipe);
  if (!StoreUntilRead64(page + kRxMemLo, 0) || !StoreUntilRead(page + kRxTail, 0) ||
      !StoreUntilRead64(page + kRxMemLo, pipe->bus | pipe->nb->id())) {
    return -EIO;
  }
  return StoreUntilRead(page + kRxHead, 0) ? 0 : -EIO;
}

void Device::ClosePipe(Pipe* pipe) {
  bool let_go = pipe->nb->Drain(pipe);
  pipe->nb->Retire(pipe);
  if (pipe->receives()) {
    for (const FlowKey& key : flows_.KeysOf(pipe->id)) UnbindFlow(pipe, key);
    if (pipe->fallback) {
      pipe->fallback = false;
      if (FallbackRun() < fallback_count_) ConfigureFallback();
    }
    pipe->reachable ? Quiesce() : SettleHeadStores();
    let_go &= StoreUntilRead64(PipePage(pipe->id) + kRxMemLo, 0);
    pipe->nb->RemovePipe(pipe);
    Count(Event::kUnreadFlits, pipe->tail - pipe->returned);
    pipes_[pipe->id].nb.store(kNoNb, std::memory_order_release);
    pipes_[pipe->id].pipe.store(nullptr, std::memory_order_relaxed);
  }
  if (!let_go && !Lost()) KeepMapped(std::move(pipe->ring));
  std::erase_if(open_pipes_, [pipe](const auto& open) { return open.get() == pipe; });
  const bool any_fallback = std::any_of(open_pipes_.begin(), open_pipes_.end(),
                                        [](const auto& open) { return open->fallback; });
  if (!any_fallback) fallback_owner_ = FallbackOwner::kNone;
}

int Device::StopFallback() {
  // Only these pipes may become unreachable, because flows may still steer frames to the others.
  std::vector<Pipe*> stopped;
  for (const auto& pipe : open_pipes_) {
    if (std::exchange(pipe->fallback, false)) stopped.push_back(pipe.get());
  }
  const int result = ConfigureFallback();
  Quiesce();
  for (Pipe* pipe : stopped) pipe->reachable = !flows_.KeysOf(pipe->id).empty();
  return result;
}

void Device::SettleHeadStores() {
  // The read flushes earlier stores into the NIC.
  bar_.Read32(PipePage(0) + kRxTail);
  rte_delay_us_block(kHeadStoresUs);
}

void Device::Quiesce() {
  SettleHeadStores();
  rte_delay_us_block(kInFlightUs);
  // The NIC completes a register read only after all earlier actions, so a model that was not
  // running has then caught up.
  for (int i = 0; i < 2; ++i) bar_.Read32(PipePage(0) + kRxTail);
}

uint32_t Device::FallbackRun() const {
  uint32_t run = 0;
  for (; run < kMaxPipes; ++run) {
    const Pipe* pipe = pipes_[run].pipe.load(std::memory_order_relaxed);
    if (pipe == nullptr || !pipe->fallback) break;
  }
  return run;
}

int Device::ConfigureFallback() {
  const uint32_t count = FallbackRun();
  FallbackConfig command{};
  command.signal = kSignalConfig;
  command.id = static_cast<uint64_t>(ConfigId::kFallback);
  command.count = count;
  command.mask = count == 0 ? 0 : std::bit_floor(count) - 1;
  command.enable_round_robin = round_robin_ ? kEnable64 : 0;
  const int result = Configure(&command);
  if (result == 0) fallback_count_ = count;
  return result;
}

}  // namespace sluice::net_enso
