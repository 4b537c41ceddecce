// SPDX-License-Identifier: BSD-3-Clause
//
// The machine that scheduling.cc simulates: host processors that run CPUs, one host processor that
// accepts requests and ticks, and one NIC processor that runs the agent. Templates over the
// channels and the policy, which are the same code that runs in real time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"
#include "fabric/event_queue.h"
#include "fabric/window.h"
#include "simulation/host_window.h"
#include "simulation/processor.h"
#include "simulation/sched/observed.h"
#include "simulation/sched/scheduling.h"
#include "simulation/sched/task_changes.h"
#include "simulation/sched/workload.h"

namespace sluice::simulation {

/// The simulated machine. `Channels` must define the types HostEnd and NicEnd, which are the two
/// ends over HostWindow and NicWindow; the type Layout, which both ends use; and the static
/// function LayoutOf(parameters).
template <typename Channels, engine::sched::Policy P>
class Machine {
 public:
  Machine(const SchedulingParameters& parameters, P policy)
      : parameters_(parameters),
        traits_(TraitsOf(parameters.mode)),
        layout_(Channels::LayoutOf(parameters)),
        pair_(queue_, Window()),
        nic_processor_(queue_, pair_.nic()),
        kernel_({.cpus = parameters.cpus, .max_tasks = MaxTasks()}),
        log_(parameters.changes_per_second),
        random_(parameters.seed),
        workload_(parameters.service, parameters.workers, parameters.seed + 1),
        changes_(parameters_, queue_, kernel_, workload_, log_, [this] { dispatcher().Signal(); }),
        off_since_(parameters.cpus, kNever) {
    for (uint32_t cpu = 0; cpu < parameters.cpus; ++cpu) pair_.AddHost();
    for (uint32_t line = 0; line < layout_.LinesNeeded(); ++line)
      pair_.AssignLine(line, layout_.SlotOf(line).value_or(Dispatcher()));
    host_window_ = std::make_unique<HostWindow>(pair_, traits_.prefetches);
    nic_window_ = std::make_unique<NicWindow>(pair_, parameters.interrupts);
    for (uint32_t i = 0; i < pair_.hosts(); ++i) {
      processors_.push_back(std::make_unique<Processor>(queue_, pair_.host(i)));
      processors_.back()->OnResume([this, i] { host_window_->Enter(i); });
    }
    host_window_->Enter(Dispatcher());
    host_channel_ = std::make_unique<typename Channels::HostEnd>(*host_window_, layout_, 1);
    observed_host_ = std::make_unique<Host_>(*host_channel_, log_, queue_);
    host_ = std::make_unique<engine::sched::SchedHost<Host_>>(
        kernel_, *observed_host_,
        engine::sched::HostOptions{.watchdog = parameters.watchdog / 1000});
    policy_ = std::make_unique<P>(std::move(policy));
  }

  SchedulingResults Run() {
    for (uint32_t worker = 0; worker < parameters_.workers; ++worker)
      workload_.Name(worker, kernel_.Create({.runnable = false}, Now()));
    for (uint16_t cpu = 0; cpu < parameters_.cpus; ++cpu)
      processors_[cpu]->Start([this, cpu] { RunCpu(cpu); });
    dispatcher().Start([this] { RunDispatcher(); });
    nic_processor_.Start([this] { RunAgent(); });
    while (!stopping_ && queue_.now() < parameters_.limit && queue_.Step()) {
    }
    Stop();
    queue_.Run();
    return Results();
  }

 private:
  using Host_ = ObservedHost<typename Channels::HostEnd>;
  using Nic_ = ThinkingNic<typename Channels::NicEnd>;
  using Gtid = engine::sched::Gtid;
  using Reason = engine::sched::Reason;
  static constexpr Picoseconds kNever = Processor::kForever;
  /// Maximum time that an idle agent sleeps, because it may have to retry decisions.
  static constexpr Picoseconds kAgentRest = 100'000'000;
  /// Time resolution of an agent that measures time slices.
  static constexpr Picoseconds kAgentPoll = 500'000;
  /// Interval between checks whether an agent has attached.
  static constexpr Picoseconds kAttachPoll = 10'000'000;

  fabric::WindowParameters Window() const {
    fabric::WindowParameters window;
    window.lines = layout_.LinesNeeded();
    window.host_stores = traits_.host_stores;
    window.nic_lines = traits_.nic_lines;
    window.nic_mapping = traits_.nic_mapping;
    window.seed = parameters_.seed;
    window.link = parameters_.link;
    window.costs = CostsOf(parameters_.mode, parameters_.costs);
    return window;
  }
  const fabric::Costs& costs() const { return pair_.parameters().costs; }
  uint32_t MaxTasks() const { return 4 * parameters_.workers + 64; }
  uint32_t Dispatcher() const { return parameters_.cpus; }
  Processor& dispatcher() { return *processors_[Dispatcher()]; }
  /// Returns the kernel's clock.
  engine::sched::Nanoseconds Now() const { return queue_.now() / 1000; }
  bool measuring() const { return workload_.completed() >= parameters_.warm_up; }

  // --- A host CPU.

  void RunCpu(uint16_t cpu) {
    Processor& processor = *processors_[cpu];
    Reason reason = Reason::kIdle;
    while (!stopping_) {
      const Picoseconds left = processor.now();
      host_->BeginSwitch(cpu, reason, Now());
      processor.CatchUp();
      if (reason != Reason::kIdle) processor.Compute(costs().context_switch_before);
      const Gtid gtid = host_->EndSwitch(cpu, Now());
      processor.CatchUp();
      if (gtid == engine::sched::kNoTask) {
        if (reason != Reason::kIdle) off_since_[cpu] = left;
        reason = Reason::kIdle;
        Idle(cpu, processor);
        continue;
      }
      processor.Compute(costs().context_switch - costs().context_switch_before);
      GotOn(cpu, reason == Reason::kIdle ? off_since_[cpu] : left, reason != Reason::kIdle,
            processor.now());
      reason = Serve(cpu, gtid, processor);
    }
  }

  /// Waits for a decision. If a message arrives during a poll, the signal is already pending. A
  /// prestaged decision that arrives after the poll sends no interrupt, so an idle CPU polls once
  /// more, and then periodically.
  void Idle(uint16_t cpu, Processor& processor) {
    const bool pushed = traits_.nic_lines == fabric::NicLines::kPushed;
    const bool polls = !parameters_.interrupts && !pushed;
    bool waits = !polls && !(traits_.prestages && !pushed);
    while (!stopping_) {
      if (waits) {
        processor.Wait(traits_.prestages && !pushed ? processor.now() + parameters_.idle_look
                                                    : Processor::kForever);
      }
      waits = !polls;
      if (stopping_) return;
      const bool news = host_->Look(cpu, Now());
      processor.CatchUp();
      if (news) return;
    }
  }

  /// Runs the task until its request is done or the task is preempted.
  Reason Serve(uint16_t cpu, Gtid gtid, Processor& processor) {
    const uint32_t number = workload_.WorkerOf(gtid);
    Workload::Worker& worker = workload_.worker(number);
    changes_.Thaw(number);
    while (!stopping_) {
      const Picoseconds began = processor.now();
      processor.WaitForSignal(began + worker.remaining);
      worker.remaining -= std::min(processor.now() - began, worker.remaining);
      if (worker.remaining == 0) {
        Complete(number, processor.now());
        return Reason::kBlock;
      }
      if (stopping_) break;
      const Picoseconds looked = processor.now();
      const bool must_go = host_->Look(cpu, Now());
      processor.CatchUp();
      if (measuring()) results_.off_task += processor.now() - looked;
      if (must_go) return Reason::kPreempt;
    }
    return Reason::kBlock;
  }

  void GotOn(uint16_t cpu, Picoseconds since, bool direct, Picoseconds now) {
    off_since_[cpu] = kNever;
    if (!measuring() || since == kNever) return;
    ++results_.switches;
    results_.off_task += now - since;
    if (!direct) return;
    ++results_.direct_switches;
    results_.direct_off_task += now - since;
  }

  void Complete(uint32_t number, Picoseconds now) {
    const Workload::Worker& worker = workload_.worker(number);
    if (measuring()) {
      results_.latencies.push_back(now - worker.arrived);
      results_.elapsed = now - measured_since_;
    }
    workload_.Complete(number);
    if (workload_.completed() == parameters_.warm_up) measured_since_ = now;
    if (workload_.completed() == parameters_.warm_up + parameters_.requests) return Stop();
    if (parameters_.requests_per_second == 0) workload_.Arrive(now);
    if (workload_.CanBegin()) dispatcher().Signal();
  }

  // --- The processor that accepts requests.

  void RunDispatcher() {
    Processor& processor = dispatcher();
    bool attached = false;
    Picoseconds next_tick = 0;
    while (!stopping_) {
      if (processor.now() >= next_tick) {
        host_->Tick(Now());
        processor.CatchUp();
        if (kernel_.agent() && !std::exchange(attached, true)) BeginLoad();
        if (!kernel_.agent() && attached && results_.watchdog_at == 0)
          results_.watchdog_at = processor.now();
        next_tick = processor.now() + (attached ? parameters_.tick : kAttachPoll);
      }
      while (attached && workload_.CanBegin()) {
        const uint32_t number = workload_.Begin();
        kernel_.Wake(workload_.worker(number).gtid, false, Now());
        changes_.Note(number);
        Forward(processor);
      }
      Forward(processor);
      if (attached && !kernel_.agent()) WakeIdle();
      processor.Wait(next_tick);
    }
  }
  void Forward(Processor& processor) {
    host_->Forward();
    processor.CatchUp();
  }
  /// Without an agent, the kernel schedules tasks itself, so idle CPUs must be woken to poll for
  /// them.
  void WakeIdle() {
    for (uint16_t cpu = 0; cpu < parameters_.cpus; ++cpu) {
      if (kernel_.cpu(cpu).current == engine::sched::kNoTask) processors_[cpu]->Signal();
    }
  }

  void BeginLoad() {
    measured_since_ = queue_.now();
    if (parameters_.requests_per_second > 0) {
      NextArrival();
    } else {
      for (uint32_t i = 0; i < parameters_.workers; ++i) workload_.Arrive(queue_.now());
    }
    changes_.Begin();
  }
  void NextArrival() {
    const auto mean = static_cast<Picoseconds>(1e12 / parameters_.requests_per_second);
    queue_.After(random_.Exponential(mean), [this] {
      if (stopping_) return;
      workload_.Arrive(queue_.now());
      dispatcher().Signal();
      NextArrival();
    });
  }

  // --- The agent.

  void RunAgent() {
    typename Channels::NicEnd channel(*nic_window_, layout_, 1);
    Nic_ thinking(channel, log_, nic_processor_, parameters_.agent_compute, costs().pcie_oneway);
    engine::sched::Agent<P, Nic_> agent(
        std::move(*policy_), thinking,
        {.cpus = parameters_.cpus, .max_tasks = MaxTasks(), .prestage = traits_.prestages});
    const Picoseconds rest = parameters_.policy == PolicyKind::kShinjuku ? kAgentPoll : kAgentRest;
    while (!stopping_ && nic_processor_.now() < parameters_.agent_hangs_at) {
      const Picoseconds began = nic_processor_.now();
      const uint32_t done = agent.Step(Now());
      nic_processor_.CatchUp();
      if (done != 0) {
        results_.agent_busy += nic_processor_.now() - began;
      } else {
        nic_processor_.Wait(std::min(nic_processor_.now() + rest, parameters_.agent_hangs_at));
      }
    }
    results_.agent = agent.counters();
    results_.faults += channel.faults();
  }

  // --- The end.

  void Stop() {
    stopping_ = true;
    changes_.Stop();
    for (const auto& processor : processors_) processor->Signal();
    nic_processor_.Signal();
  }

  SchedulingResults Results() {
    const char* broken = engine::sched::Violation(kernel_);
    if (broken != nullptr) {
      results_.violation = broken;
    } else if (!workload_.Conserved()) {
      results_.violation = "a request was lost";
    }
    results_.arrived = workload_.arrived();
    results_.completed = workload_.completed();
    std::sort(results_.latencies.begin(), results_.latencies.end());
    results_.host = host_->counters();
    results_.staleness = log_.totals();
    results_.deferred_changes = changes_.deferred();
    results_.deferred_time = changes_.deferred_time();
    results_.overflows = host_channel_->overflows();
    results_.faults += host_channel_->faults();
    for (size_t i = 0; i < bar::kWindowOperations; ++i) {
      const auto operation = static_cast<bar::WindowOperation>(i);
      results_.host_operations[i] = host_window_->trace().count(operation);
      results_.nic_operations[i] = nic_window_->trace().count(operation);
    }
    results_.bytes = pair_.link_bytes();
    return std::move(results_);
  }

  const SchedulingParameters parameters_;
  const ModeTraits& traits_;
  const typename Channels::Layout layout_;
  fabric::EventQueue queue_;
  fabric::WindowPair pair_;
  std::unique_ptr<HostWindow> host_window_;
  std::unique_ptr<NicWindow> nic_window_;
  std::vector<std::unique_ptr<Processor>> processors_;
  Processor nic_processor_;

  engine::sched::Kernel kernel_;
  StalenessLog log_;
  std::unique_ptr<typename Channels::HostEnd> host_channel_;
  std::unique_ptr<Host_> observed_host_;
  std::unique_ptr<engine::sched::SchedHost<Host_>> host_;
  std::unique_ptr<P> policy_;

  Random random_;
  Workload workload_;
  TaskChanges changes_;
  /// For each idle CPU, the time since which it has had no task; kNever if it has not run a task
  /// yet.
  std::vector<Picoseconds> off_since_;
  Picoseconds measured_since_ = 0;
  bool stopping_ = false;
  SchedulingResults results_;
};

}  // namespace sluice::simulation
