// SPDX-License-Identifier: BSD-3-Clause
//
// Suspended calls, which wait for other calls. They release their core and continue when the answer
// arrives, when it times out, or at once if too many calls are suspended already.
#include <algorithm>
#include <bit>

#include "device/rpc/dispatcher.h"

namespace sluice::device::rpc {

using Kind = Action::Kind;
using enum DispatchCounter;

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
