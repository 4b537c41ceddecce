// SPDX-License-Identifier: BSD-3-Clause
//
// Applies the criteria's experiments to the channels between an agent and a host that schedules
// according to the agent's decisions.
#include "../offload/rig.h"
#include "criteria.h"
#include "engine/sched/abi.h"
#include "engine/sched/host.h"
#include "engine/sched/kernel.h"

namespace sluice::criteria {
namespace {

using engine::sched::Gtid;
using engine::sched::Outcome;
using engine::sched::Status;

std::string NameOf(Status status) {
  switch (status) {
    case Status::kComplete:
      return "complete";
    case Status::kAborted:
      return "aborted";
    case Status::kTargetStale:
      return "stale";
    case Status::kTargetOnCpu:
      return "on another CPU";
    case Status::kNoAgent:
      return "no agent";
    default:
      return "status " + std::to_string(static_cast<int32_t>(status));
  }
}

/// A host with two CPUs and its agent, which the experiment operates by hand.
template <typename Channel>
class Machine {
 public:
  explicit Machine(engine::sched::Nanoseconds watchdog = 20'000'000) {
    host_.emplace(kernel_, rig_.host(), engine::sched::HostOptions{.watchdog = watchdog});
  }

  /// Connects the agent. Returns whether it can commit.
  bool Attach(uint64_t now) {
    for (int i = 0; i < 100 && !rig_.nic().CanCommit(0); ++i) Exchange(now);
    for (int i = 0; i < 20; ++i) Exchange(now);
    return rig_.nic().CanCommit(0) && kernel_.agent();
  }
  Gtid Create(uint64_t now) {
    const Gtid task = kernel_.Create({}, now);
    Exchange(now);
    return task;
  }
  void Commit(engine::sched::CpuId cpu, Gtid task, uint16_t flags = 0) {
    rig_.nic().Commit(
        cpu,
        Encode(engine::sched::Transaction{.cpu = cpu,
                                          .commit_flags = flags,
                                          .gtid = task,
                                          .task_barrier = kernel_.Find(task)->barrier}),
        offload::Urgency::kPrestaged);
  }
  /// Makes the CPU reschedule. Returns the status that the agent reads.
  std::string Schedule(engine::sched::CpuId cpu, uint64_t now) {
    host_->BeginSwitch(cpu, engine::sched::Reason::kIdle, now);
    host_->EndSwitch(cpu, now);
    for (int i = 0; i < 4; ++i) {
      host_->Look(cpu, now);
      offload::Item item;
      offload::Decided how;
      if (rig_.nic().PollOutcome(cpu, item, how)) {
        return NameOf(engine::sched::DecodeOutcome(item).status);
      }
    }
    return "no outcome";
  }
  void Exchange(uint64_t now) {
    host_->Tick(now);
    rig_.nic().PollLoss();
    offload::Item item;
    while (rig_.nic().Receive(item)) {
    }
  }

  engine::sched::Kernel& kernel() { return kernel_; }
  auto& nic() { return rig_.nic(); }
  uint64_t given_up() const { return host_->counters().watchdog_expired; }

 private:
  engine::sched::Kernel kernel_{{.cpus = 2, .max_tasks = 16}};
  offload::Rig<Channel, offload::SharedMemory> rig_{2, 32};
  std::optional<
      engine::sched::SchedHost<typename offload::Rig<Channel, offload::SharedMemory>::Host>>
      host_;
};

template <typename Channel>
std::string Decisions(engine::sched::Nanoseconds watchdog, Clock clock) {
  Machine<Channel> machine(watchdog);
  uint64_t step = 0;
  if (!machine.Attach(At(clock, step++))) return "no agent";
  std::string seen = "decisions";
  for (engine::sched::CpuId cpu = 0; cpu < 2; ++cpu) {
    const Gtid task = machine.Create(At(clock, step++));
    machine.Commit(cpu, task);
    seen += " " + machine.Schedule(cpu, At(clock, step++));
  }
  return seen;
}

/// A task waits and a CPU idles for 60 ms, while the agent does not make any decision. If `alive`,
/// the agent decides at the end. Returns the number of times that the host abandoned the agent and,
/// if `alive`, the result of the decision.
template <typename Channel>
std::string Silence(engine::sched::Nanoseconds watchdog, Clock clock, bool alive) {
  Machine<Channel> machine(watchdog);
  uint64_t step = 0;
  if (!machine.Attach(At(clock, step++))) return "no agent";
  const Gtid task = machine.Create(At(clock, step++));
  for (int tick = 0; tick < 60; ++tick) machine.Exchange(At(clock, step++));
  std::string seen = "given up " + std::to_string(machine.given_up());
  if (!alive) return seen;
  if (!machine.nic().CanCommit(0)) return seen + ", cannot decide";
  machine.Commit(0, task);
  return seen + ", then " + machine.Schedule(0, At(clock, step++));
}

template <typename Channel>
Subject Agent(const char* name) {
  bool unwatched_equal = false, equal = false, detects = false;
  const std::string unwatched =
      UnderClocks([](Clock c) { return Decisions<Channel>(0, c); }, unwatched_equal);
  const std::string decisions =
      UnderClocks([](Clock c) { return Decisions<Channel>(20'000'000, c); }, equal);
  const std::string silence =
      UnderClocks([](Clock c) { return Silence<Channel>(20'000'000, c, false); }, detects);

  const std::string shortest = Silence<Channel>(1, Clock::kNormal, true);
  const std::string endless = Silence<Channel>(0, Clock::kNormal, true);

  // Two decisions for one task, and a decision for a task that changed.
  Machine<Channel> conflict;
  conflict.Attach(1);
  const Gtid task = conflict.Create(2);
  conflict.Commit(0, task);
  conflict.Commit(1, task);
  const std::string first = conflict.Schedule(0, 3), second = conflict.Schedule(1, 3);
  const Gtid changed = conflict.Create(4);
  conflict.Commit(1, changed);
  conflict.kernel().SetAffinity(changed, ~engine::sched::CpuMask{0}, 5);
  const std::string stale = conflict.Schedule(1, 6);

  // A recall before and after the decision was enforced.
  Machine<Channel> undo;
  undo.Attach(1);
  const Gtid recalled = undo.Create(2);
  undo.Commit(0, recalled, engine::sched::kCommitAtSchedule);
  undo.nic().Recall(0);
  const std::string before = undo.Schedule(0, 3);
  undo.Commit(0, recalled);
  const std::string enforced = undo.Schedule(0, 4);
  const bool after = undo.nic().Recall(0);
  const bool aborts = second != "complete" || stale != "complete";
  return {
      name,
      {{Criterion::kClocks,
        !unwatched_equal || !equal ? Verdict::kFito
        : detects                  ? Verdict::kFree
                                   : Verdict::kPartly,
        "without a watchdog, " + unwatched + ". Watchdog of 20 ms, " + decisions +
            ". Dead agent, " + silence},
       {Criterion::kTimeouts, shortest == endless ? Verdict::kFree : Verdict::kFito,
        "live but slow agent, watchdog 1 ns: " + shortest + "; none: " + endless},
       {Criterion::kConflicts, aborts ? Verdict::kFito : Verdict::kFree,
        "two decisions for a task: " + first + ", " + second + "; the task changed: " + stale},
       {Criterion::kUndo,
        before == "aborted" && enforced == "complete" && !after ? Verdict::kPartly : Verdict::kFito,
        "recall before the enforcement: " + before +
            "; after it: " + (after ? "accepted" : "too late")}}};
}

}  // namespace

Subject WaveQueues() { return Agent<offload::WaveChannel>("Wave's queues"); }
Subject SwapChannel() { return Agent<offload::OfferChannel>("swaps (agent)"); }

}  // namespace sluice::criteria
