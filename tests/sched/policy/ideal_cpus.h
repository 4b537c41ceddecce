// SPDX-License-Identifier: BSD-3-Clause
//
// CPUs that execute a policy's decisions immediately, so that only the policy matters. Time
// advances in ticks. In each tick, tasks end and tasks arrive; then, as in an agent, idle CPUs are
// filled before other CPUs are preempted.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "engine/sched/policy.h"

namespace sluice::engine::sched::test {

struct Job {
  AgentTask task;
  Nanoseconds work = 0;  ///< Required CPU time.
  Nanoseconds arrival = 0;
  // The state of the job.
  bool arrived = false;
  bool runs = false;
  Nanoseconds started = 0;   ///< Time of the first start on a CPU.
  Nanoseconds finished = 0;  ///< Time of the end; 0 until then.
  Nanoseconds waits_since = 0;
  Nanoseconds longest_wait = 0;  ///< Longest wait before the job started on a CPU.
};

template <Policy P>
class IdealCpus {
 public:
  static constexpr Nanoseconds kTick = 1'000;

  IdealCpus(P policy, CpuId cpus) : policy_(std::move(policy)), running_(cpus) {
    for (CpuId cpu = 0; cpu < cpus; ++cpu) running_[cpu].cpu = cpu;
  }

  /// Adds a job that arrives at `arrival`, but not before jobs that were added earlier.
  Job& Add(Nanoseconds arrival, Nanoseconds work, uint8_t task_class = 0, uint16_t group = 0,
           CpuMask affinity = ~CpuMask{0}) {
    Job& job = jobs_.emplace_back();
    job.task.gtid = static_cast<Gtid>(jobs_.size());
    job.task.task_class = task_class;
    job.task.group = group;
    job.task.affinity = affinity;
    job.work = work;
    job.arrival = arrival;
    return job;
  }

  /// Calls watch() after every tick.
  template <typename W>
  void RunUntil(Nanoseconds end, W&& watch) {
    for (; now_ < end; now_ += kTick) {
      Progress();
      Arrivals();
      for (Running& cpu : running_) {
        if (cpu.task == nullptr) Start(cpu, policy_.Next(cpu.cpu, now_));
      }
      for (Running& cpu : running_) {
        if (cpu.task == nullptr || !policy_.Preempts(cpu, now_)) continue;
        AgentTask* const next = policy_.Next(cpu.cpu, now_);
        Enqueue(Remove(cpu), Place::kPreempted);
        Start(cpu, next);
      }
      watch();
    }
  }
  void RunUntil(Nanoseconds end) {
    RunUntil(end, [] {});
  }

  const std::vector<Running>& running() const { return running_; }
  const std::deque<Job>& jobs() const { return jobs_; }
  /// Returns the tasks in the order of their first start.
  const std::vector<Gtid>& starts() const { return starts_; }
  P& policy() { return policy_; }
  Nanoseconds now() const { return now_; }

 private:
  Job& JobOf(const AgentTask& task) { return jobs_[static_cast<size_t>(task.gtid - 1)]; }

  void Progress() {
    for (Running& cpu : running_) {
      if (cpu.task == nullptr) continue;
      Job& job = JobOf(*cpu.task);
      job.task.runtime += kTick;
      if (job.task.runtime < job.work) continue;
      job.finished = now_;
      Remove(cpu);
    }
  }

  void Arrivals() {
    for (; next_ < jobs_.size() && jobs_[next_].arrival <= now_; ++next_) {
      Job& job = jobs_[next_];
      job.arrived = true;
      job.task.runnable_since = now_;
      Enqueue(job, Place::kBack);
    }
  }

  void Enqueue(Job& job, Place place) {
    job.waits_since = now_;
    policy_.Enqueue(job.task, place, now_);
    ASSERT_TRUE(job.task.queued);
  }

  Job& Remove(Running& cpu) {
    Job& job = JobOf(*std::exchange(cpu.task, nullptr));
    job.runs = false;
    if constexpr (WatchesCpus<P>) policy_.Left(job.task, cpu.cpu, now_);
    return job;
  }

  void Start(Running& cpu, AgentTask* task) {
    if (task == nullptr) return;
    Job& job = JobOf(*task);
    ASSERT_FALSE(task->queued);
    ASSERT_TRUE(job.arrived && !job.runs && job.finished == 0) << "the policy made up a task";
    ASSERT_NE(task->affinity & MaskOf(cpu.cpu), 0u) << "a task runs where it must not";
    if (task->runtime == 0) {
      job.started = now_;
      starts_.push_back(task->gtid);
    }
    job.runs = true;
    job.longest_wait = std::max(job.longest_wait, now_ - job.waits_since);
    cpu.task = task;
    cpu.since = now_;
    if constexpr (WatchesCpus<P>) policy_.Entered(*task, cpu.cpu, now_);
  }

  P policy_;
  std::vector<Running> running_;
  std::deque<Job> jobs_;
  std::vector<Gtid> starts_;
  size_t next_ = 0;
  Nanoseconds now_ = kTick;  ///< Does not start at 0, because a time of 0 means never.
};

}  // namespace sluice::engine::sched::test
