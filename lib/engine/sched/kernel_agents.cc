// SPDX-License-Identifier: BSD-3-Clause
//
// Discovery for new agents, and detection of agents that neglect waiting tasks.
#include "engine/sched/kernel.h"

namespace sluice::engine::sched {
namespace {

/// Returns the time from `since` to `now`; 0 if `since` is later than the caller's `now`.
Nanoseconds Age(Nanoseconds since, Nanoseconds now) { return now > since ? now - since : 0; }

}  // namespace

void Kernel::SetAgent(bool attached, Nanoseconds) { agent_ = attached; }

void Kernel::Discover(Nanoseconds) {
  messages_.push_back({.type = MessageType::kDiscovery, .seqnum = ++agent_barrier_});
  for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
    if (!cpus_[cpu].available()) SendCpuMessage(MessageType::kCpuBusy, cpu);
  }
  for (Place& place : places_) {
    Task& task = place.task;
    task.departure_unseen = false;
    if (task.state >= TaskState::kDeparted) continue;
    const bool waits = task.state == TaskState::kRunnable && !task.latched;
    SendUnchanged(MessageType::kTaskNew, task, task.cpu, waits ? kRunnable : 0);
    if (task.state == TaskState::kOnCpu) SendUnchanged(MessageType::kTaskOnCpu, task, task.cpu, 0);
  }
  // Current tasks precede the tasks that are latched to their CPUs.
  for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
    const Task* const latched = Find(cpus_[cpu].latched);
    if (latched != nullptr) SendUnchanged(MessageType::kTaskOnCpu, *latched, cpu, kWasLatched);
  }
}

bool Kernel::Starves(Nanoseconds timeout, Nanoseconds now) const {
  const Place* const first = places_.FirstWaiting();
  return first != nullptr && Age(first->task.since, now) > timeout;
}

bool Kernel::Neglected(Nanoseconds timeout, Nanoseconds now) const {
  CpuMask idle = 0;
  for (CpuId cpu = 0; cpu < cpus(); ++cpu) {
    const Cpu& c = cpus_[cpu];
    if (c.available() && c.current == kNoTask && c.latched == kNoTask &&
        Age(c.idle_since, now) > timeout) {
      idle |= MaskOf(cpu);
    }
  }
  if (idle == 0) return false;
  for (const Place* at = places_.FirstWaiting(); at != nullptr; at = places_.NextWaiting(*at)) {
    const Task& task = at->task;
    if (Age(task.since, now) <= timeout) return false;
    if (!task.latched && (task.affinity & idle) != 0) return true;
  }
  return false;
}

}  // namespace sluice::engine::sched
