// SPDX-License-Identifier: BSD-3-Clause
#include "device/rpc/dispatcher.h"

namespace sluice::device::rpc {

using Kind = Action::Kind;
using enum DispatchCounter;
using enum DispatchCounter;
using enum DispatchCounter;

Dispatcher::Dispatcher(const DispatcherConfig& config, Placement& placement)
    : config_(config), placement_(placement) {
  config_.cores = std::clamp(config_.cores, 1u, kMaxCores);
  config_.queue_capacity = std::max(config_.queue_capacity, 1u);
  config_.suspended_capacity = std::max(config_.suspended_capacity, 1u);
  // When a process ends, its calls end and its cores may be assigned to other processes. Each call
  // that times out may also be delivered to a core.
  actions_.reserve(config_.queue_capacity + config_.suspended_capacity + 5 * size_t{kMaxCores} +
                   kMaxProcesses + 2 * kTimeOutsPerTick);
}

void Dispatcher::Do(Kind kind, DispatchCounter counter, const Action& action) {
  Count(counter);
  actions_.push_back(action);
  actions_.back().kind = kind;
}

void Dispatcher::SetState(Core& core, CoreState state, uint64_t now, uint64_t bound) {
  core.state = state;
  core.since = now;
  core.looks = 0;
  core.bound = bound;
  core.deadline = bound == kNever ? kNever : now + bound;
}

bool Dispatcher::AddProcess(ProcessId id, uint32_t max_cores) {
  if (id >= kMaxProcesses || processes_[id].known || max_cores == 0) return false;
  // The capacity beyond suspended_capacity is for calls that continue at once because too many are
  // suspended. There is at most one such call per core, because a core does not begin a call while
  // another is waiting to continue.
  const uint32_t resumed = config_.suspended_capacity + kMaxCores;
  processes_[id] = {.known = true,
                    .max_cores = max_cores,
                    .queue = CallQueue(config_.queue_capacity),
                    .resumed = CallQueue(resumed)};
  processes_[id].suspended.reserve(config_.suspended_capacity);
  return true;
}

Dispatcher::Actions Dispatcher::Ready(ProcessId id, uint64_t now) {
  actions_.clear();
  if (Known(id) && !processes_[id].present) {
    processes_[id].present = true;
    processes_[id].idle_switches = 0;
    Review(id, now);
    Supply(now);
  }
  return actions_;
}

void Dispatcher::ReclaimCores(ProcessId id, uint64_t now) {
  Process& process = processes_[id];
  for (uint32_t left = process.cores; left != 0; left &= left - 1) {
    const auto core = static_cast<CoreId>(std::countr_zero(left));
    if (cores_[core].state == CoreState::kRunning) {
      Do(Kind::kLost, kLost, {{}, core, id, cores_[core].call});
    }
    Leave(core, now);
    SetState(cores_[core], CoreState::kFreed, now, kNever);
  }
  // The continuation state was in the memory of the process that died.
  for (const Suspended& waits : process.suspended) {
    Do(Kind::kLost, kLost, {.kind{}, .process = id, .call = waits.call});
  }
  process.suspended.clear();
  while (!process.resumed.empty()) {
    Do(Kind::kLost, kLost, {.kind{}, .process = id, .call = process.resumed.Pop()});
  }
  process.present = process.condemned = process.preempted = false;
  Review(id, now);
}

Dispatcher::Actions Dispatcher::Gone(ProcessId id, uint64_t now) {
  actions_.clear();
  if (Known(id) && processes_[id].present) {
    ReclaimCores(id, now);
    Supply(now);
  }
  return actions_;
}

Dispatcher::Actions Dispatcher::RemoveProcess(ProcessId id, uint64_t now) {
  actions_.clear();
  if (!Known(id)) return actions_;
  ReclaimCores(id, now);
  Process& process = processes_[id];
  while (!process.queue.empty()) {
    Do(Kind::kRemoved, kRemoved, {.kind{}, .process = id, .call = process.queue.Pop()});
  }
  process.known = false;
  Supply(now);
  return actions_;
}

Dispatcher::Actions Dispatcher::Arrive(ProcessId id, CallId call, uint64_t now) {
  actions_.clear();
  Count(kArrived);
  if (!Known(id)) [[unlikely]] {
    Do(Kind::kNoProcess, kNoProcess, {.kind{}, .process = id, .call = call});
    return actions_;
  }
  Process& process = processes_[id];
  if (process.waiting != 0) {
    Hand(static_cast<CoreId>(std::countr_zero(process.waiting)), call, now);
  } else if (process.queue.full()) {
    Do(Kind::kQueueFull, kQueueFull, {.kind{}, .process = id, .call = call});
  } else {
    process.queue.Push(call);
    Review(id, now);
    Supply(now);
  }
  return actions_;
}

Dispatcher::Actions Dispatcher::KernelLoads(CoreId id, uint64_t now) {
  actions_.clear();
  if (id >= config_.cores) {
    Count(kStrayLoads);
    return actions_;
  }
  Core& core = cores_[id];
  if (core.state == CoreState::kKernel) return actions_;
  if (InUse(core)) {
    if (core.state == CoreState::kRunning) {
      Do(Kind::kLost, kLost, {{}, id, core.process, core.call});
    }
    if (core.state == CoreState::kSwitching) CountIdleSwitch(core, now);
    Leave(id, now);
    SetState(core, CoreState::kFreed, now, kNever);
    Review(core.process, now);
  }
  if (core.reclaimed) {
    core.reclaimed = false;
    SetState(core, CoreState::kAway, now, kNever);
    Do(Kind::kRetire, kRetires, {.kind{}, .core = id});
  } else {
    SetState(core, CoreState::kKernel, now, kNever);
  }
  Supply(now);
  return actions_;
}

Dispatcher::Actions Dispatcher::UserLoads(CoreId id, ProcessId process_id, uint64_t now,
                                          Done done) {
  actions_.clear();
  if (id >= config_.cores || cores_[id].process != process_id || !InUse(cores_[id]) ||
      cores_[id].state == CoreState::kLeaving) {
    Count(kStrayLoads);
    return actions_;
  }
  Core& core = cores_[id];
  if (core.state == CoreState::kWaiting) return actions_;
  Process& process = processes_[process_id];
  process.idle_switches = 0;
  const bool ran = core.state == CoreState::kRunning;
  if (ran && done == Done::kCall) {
    Suspend(id, now);
  } else if (ran) {
    Do(Kind::kAnswered, kAnswered, {{}, id, process_id, core.call});
  } else {
    --process.switching;
  }
  SetState(core, CoreState::kWaiting, now, kNever);
  if (process.condemned) {
    SetState(core, CoreState::kLeaving, now, kNever);
  } else if (core.reclaimed || core.interrupted ||
             (ran && wanting_ != 0 && placement_.Preempts(id, now))) {
    process.preempted = true;
    Yield(core, now);
  } else if (process.Waits() != 0) {
    Hand(id, process.Pop(), now);
  } else {
    process.waiting |= Bit(id);
  }
  Review(process_id, now);
  Supply(now);
  return actions_;
}

Dispatcher::Actions Dispatcher::Reclaim(CoreId id, uint64_t now) {
  actions_.clear();
  if (id >= config_.cores) return actions_;
  Core& core = cores_[id];
  switch (core.state) {
    case CoreState::kAway:
      break;
    case CoreState::kRetired:
    case CoreState::kWaking:
      SetState(core, CoreState::kAway, now, kNever);
      break;
    case CoreState::kKernel:
      SetState(core, CoreState::kAway, now, kNever);
      Do(Kind::kRetire, kRetires, {.kind{}, .core = id});
      break;
    default:
      core.reclaimed = true;
      if (core.state == CoreState::kWaiting) Yield(core, now);
      if (core.state == CoreState::kRunning && !core.interrupted) Interrupt(core, now);
  }
  return actions_;
}

Dispatcher::Actions Dispatcher::Condemn(ProcessId id, uint64_t now) {
  actions_.clear();
  if (Known(id) && processes_[id].present && !processes_[id].condemned) {
    Kill(id);
    Supply(now);
  }
  return actions_;
}

Dispatcher::Actions Dispatcher::Tick(uint64_t now, const Starved& starved) {
  actions_.clear();
  for (uint32_t id = 0; id < config_.cores; ++id) {
    Core& core = cores_[id];
    if (core.deadline <= now) {
      if (!Excuse(core, now, starved)) Kill(core.process);
    } else if (core.state == CoreState::kRunning && core.again <= now &&
               !processes_[core.process].condemned) {
      core.again = now + config_.interrupt_every;
      actions_.push_back({Kind::kInterrupt, static_cast<CoreId>(id), core.process});
    }
  }
  TimeOut(now);
  Supply(now);
  if (config_.retire_after != 0) RetireIdle(now);
  return actions_;
}

void Dispatcher::Hand(CoreId id, CallId call, uint64_t now) {
  Core& core = cores_[id];
  processes_[core.process].waiting &= ~Bit(id);
  core.call = call;
  SetState(core, CoreState::kRunning, now,
           config_.handler_bound == 0 ? kNever : config_.handler_bound);
  actions_.push_back({Kind::kRequest, id, core.process, call});
}

void Dispatcher::Yield(Core& core, uint64_t now) {
  const CoreId id = IdOf(core);
  processes_[core.process].waiting &= ~Bit(id);
  SetState(core, CoreState::kLeaving, now, config_.leave_bound);
  Do(Kind::kYieldNow, kYields, {{}, id, core.process});
}

void Dispatcher::Interrupt(Core& core, uint64_t now) {
  core.interrupted = true;
  core.again = now + config_.interrupt_every;
  if (now + config_.preempt_bound < core.deadline) {
    core.bound = config_.preempt_bound;
    core.deadline = now + core.bound;
  }
  Do(Kind::kInterrupt, kInterrupts, {{}, IdOf(core), core.process});
}

bool Dispatcher::Excuse(Core& core, uint64_t now, const Starved& starved) {
  const auto total = starved ? starved(IdOf(core), core.process) : std::nullopt;
  if (!total || core.looks == kMostLooks) return false;
  const uint64_t half = core.bound / 2;
  if (core.looks++ == 0) {
    core.looked = now;
    core.starved = *total;
    core.deadline = now + half;
    return true;
  }
  const uint64_t passed = now - core.looked;
  const uint64_t blamed = passed - std::min(*total - core.starved, passed);
  if (blamed + blamed / 8 >= half) return false;
  core.deadline = now + half - blamed;
  return true;
}

void Dispatcher::CountIdleSwitch(const Core& core, uint64_t now) {
  Process& process = processes_[core.process];
  if (process.idle_switches++ == 0) process.idle_since = core.since;
  const bool long_enough = now - process.idle_since >= config_.switch_bound;
  if (process.idle_switches > kIdleSwitches && long_enough && !process.condemned)
    Kill(core.process);
}

void Dispatcher::Kill(ProcessId id) {
  Process& process = processes_[id];
  process.condemned = true;
  for (uint32_t left = process.cores; left != 0; left &= left - 1) {
    Core& core = cores_[std::countr_zero(left)];
    core.deadline = kNever;
    if (core.state == CoreState::kWaiting) core.state = CoreState::kLeaving;
  }
  process.waiting = 0;
  Review(id, 0);  // This call can only withdraw the process, and that does not depend on the time.
  Do(Kind::kKill, kKills, {.kind{}, .process = id});
}

void Dispatcher::Leave(CoreId id, uint64_t now) {
  Core& core = cores_[id];
  Process& process = processes_[core.process];
  if (core.state == CoreState::kSwitching) --process.switching;
  process.cores &= ~Bit(id);
  process.waiting &= ~Bit(id);
  core.interrupted = false;
  core.again = kNever;
  placement_.Left(id, now);
}

// The part of the dispatcher that assigns cores to processes that want one, and that handles idle
// cores.

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
  // Repeats as long as a process gets a core, because a process that gets a core may want another,
  // and a core that was already checked may now serve it.
  for (bool found = true; found && wanting_ != 0;) {
    found = false;
    for (uint32_t id = 0; wanting_ != 0 && id < config_.cores; ++id) {
      if (cores_[id].state == CoreState::kKernel) found |= Fill(static_cast<CoreId>(id), now);
    }
  }
  if (wanting_ == 0) return;
  // First, idle cores of other processes yield; then a retired core is woken; then a running core
  // is preempted.
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

// Suspended calls wait for other calls. They release their core and continue when the answer
// arrives, when the wait times out, or at once if too many calls are already suspended.

Dispatcher::Actions Dispatcher::Resume(ProcessId id, CallId call, uint64_t now) {
  actions_.clear();
  if (!Known(id)) return actions_;
  std::vector<Suspended>& suspended = processes_[id].suspended;
  const auto waits = std::ranges::find(suspended, call, &Suspended::call);
  if (waits == suspended.end()) return actions_;
  suspended.erase(waits);
  GoOn(id, call, now);
  Review(id, now);
  Supply(now);
  return actions_;
}

void Dispatcher::Suspend(CoreId id, uint64_t now) {
  const Core& core = cores_[id];
  Process& process = processes_[core.process];
  if (process.suspended.size() + process.resumed.size() >= config_.suspended_capacity) {
    Do(Kind::kTooMany, kTooMany, {{}, id, core.process, core.call});
    GoOn(core.process, core.call, now);
  } else {
    Do(Kind::kSuspended, kSuspended, {{}, id, core.process, core.call});
    process.suspended.push_back({core.call, now + config_.nested_bound});
  }
}

void Dispatcher::GoOn(ProcessId id, CallId call, uint64_t now) {
  Process& process = processes_[id];
  if (process.waiting != 0) {
    Hand(static_cast<CoreId>(std::countr_zero(process.waiting)), call, now);
  } else {
    process.resumed.Push(call);
  }
}

void Dispatcher::TimeOut(uint64_t now) {
  uint32_t left = kTimeOutsPerTick;
  for (uint32_t i = 0; i < kMaxProcesses; ++i) {
    const auto id = static_cast<ProcessId>(i);
    std::vector<Suspended>& suspended = processes_[id].suspended;
    while (left != 0 && !suspended.empty() && suspended.front().deadline <= now) {
      const CallId call = suspended.front().call;
      suspended.erase(suspended.begin());
      Do(Kind::kTimedOut, kTimedOut, {.kind{}, .process = id, .call = call});
      GoOn(id, call, now);
      Review(id, now);
      --left;
    }
  }
}

}  // namespace sluice::device::rpc
