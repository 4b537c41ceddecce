// SPDX-License-Identifier: BSD-3-Clause
//
// The part of the dispatcher that assigns cores to processes that want one, and handles idle cores.
#include <bit>
#include <optional>

#include "device/rpc/dispatcher.h"

namespace sluice::device::rpc {

using Kind = Action::Kind;
using enum DispatchCounter;

void Dispatcher::Review(ProcessId id, uint64_t now) {
  Process& process = processes_[id];
  const bool wants = process.present && !process.condemned && process.Waits() > process.switching &&
                     static_cast<uint32_t>(std::popcount(process.cores)) < process.max_cores;
  if (wants == process.wants) return;
  process.wants = wants;
  if (wants) {
    placement_.Wants(id, process.preempted, now);
    process.preempted = false;
    ++wanting_;
  } else {
    placement_.Withdraw(id);
    --wanting_;
  }
}

bool Dispatcher::Fill(CoreId id, uint64_t now) {
  const std::optional<ProcessId> next = placement_.Next(id, now);
  if (!next) return false;
  Process& process = processes_[*next];
  process.wants = false;
  --wanting_;
  process.cores |= Bit(id);
  ++process.switching;
  Core& core = cores_[id];
  core.process = *next;
  SetState(core, CoreState::kSwitching, now, config_.switch_bound);
  Do(Kind::kSwitch, kSwitches, {{}, id, *next});
  Review(*next, now);
  return true;
}

void Dispatcher::Supply(uint64_t now) {
  // Repeats as long as a core finds a process: a process that gets a core may want another, and a
  // core that was checked earlier may serve it.
  for (bool found = true; found && wanting_ != 0;) {
    found = false;
    for (uint32_t id = 0; wanting_ != 0 && id < config_.cores; ++id) {
      if (cores_[id].state == CoreState::kKernel) found |= Fill(static_cast<CoreId>(id), now);
    }
  }
  if (wanting_ == 0) return;
  // Idle cores of other processes yield first, then a retired core is woken, then a running core is
  // preempted.
  for (uint32_t coming = Coming(); coming < wanting_; ++coming) {
    Core* const idle = LongestWaiting();
    if (idle == nullptr) break;
    Yield(*idle, now);
  }
  if (Coming() < wanting_) WakeOne(now);
  if (Coming() < wanting_) InterruptOne(now);
}

uint32_t Dispatcher::Coming() const {
  uint32_t coming = 0;
  for (uint32_t id = 0; id < config_.cores; ++id) {
    const Core& core = cores_[id];
    const bool leaves = core.state == CoreState::kLeaving || core.state == CoreState::kFreed ||
                        (core.state == CoreState::kRunning && core.interrupted);
    coming += (leaves && !core.reclaimed) || core.state == CoreState::kWaking;
  }
  return coming;
}

Dispatcher::Core* Dispatcher::LongestWaiting() {
  Core* longest = nullptr;
  for (uint32_t id = 0; id < config_.cores; ++id) {
    Core& core = cores_[id];
    if (core.state != CoreState::kWaiting) continue;
    if (longest == nullptr || core.since < longest->since) longest = &core;
  }
  return longest;
}

void Dispatcher::WakeOne(uint64_t now) {
  for (uint32_t id = 0; id < config_.cores; ++id) {
    if (cores_[id].state != CoreState::kRetired) continue;
    SetState(cores_[id], CoreState::kWaking, now, kNever);
    Do(Kind::kWake, kWakes, {.kind{}, .core = static_cast<CoreId>(id)});
    return;
  }
}

void Dispatcher::InterruptOne(uint64_t now) {
  for (uint32_t id = 0; id < config_.cores; ++id) {
    Core& core = cores_[id];
    if (core.state != CoreState::kRunning || core.interrupted) continue;
    if (processes_[core.process].condemned) continue;
    if (!placement_.Preempts(static_cast<CoreId>(id), now)) continue;
    Interrupt(core, now);
    return;
  }
}

void Dispatcher::ReclaimIdleCore(uint64_t now) {
  uint32_t in_use = 0;
  for (uint32_t id = 0; id < config_.cores; ++id) {
    in_use += InUse(cores_[id]) && cores_[id].state != CoreState::kLeaving;
  }
  if (in_use <= config_.kept_cores) return;
  Core* const idle = LongestWaiting();
  if (idle != nullptr && now - idle->since >= config_.retire_after) Yield(*idle, now);
}

void Dispatcher::RetireIdle(uint64_t now) {
  ReclaimIdleCore(now);
  uint32_t here = 0;
  for (uint32_t id = 0; id < config_.cores; ++id) {
    here += cores_[id].state > CoreState::kWaking;
  }
  for (uint32_t id = 0; id < config_.cores && here > config_.kept_cores; ++id) {
    Core& core = cores_[id];
    if (core.state != CoreState::kKernel || now - core.since < config_.retire_after) continue;
    SetState(core, CoreState::kRetired, now, kNever);
    Do(Kind::kRetire, kRetires, {.kind{}, .core = static_cast<CoreId>(id)});
    --here;
  }
}

}  // namespace sluice::device::rpc
