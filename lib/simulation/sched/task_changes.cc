// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/sched/task_changes.h"

#include <utility>

namespace sluice::simulation {

TaskChanges::TaskChanges(const SchedulingParameters& parameters, fabric::EventQueue& queue,
                         engine::sched::Kernel& kernel, Workload& workload, StalenessLog& log,
                         std::function<void()> forward)
    : parameters_(&parameters),
      queue_(&queue),
      kernel_(&kernel),
      workload_(&workload),
      log_(&log),
      forward_(std::move(forward)),
      random_(parameters.seed + 2),
      frozen_(parameters.workers) {}

void TaskChanges::Begin() {
  if (parameters_->changes_per_second > 0) Next();
}

void TaskChanges::Next() {
  const double rate = parameters_->changes_per_second * parameters_->workers;
  queue_->After(random_.Exponential(static_cast<Picoseconds>(1e12 / rate)), [this] {
    if (stopped_) return;
    Hit(random_.Below(parameters_->workers));
    Next();
  });
}

void TaskChanges::Hit(uint32_t number) {
  const engine::sched::Task* task = kernel_->Find(workload_->worker(number).gtid);
  if (task == nullptr || task->state != engine::sched::TaskState::kRunnable) return;
  if (!parameters_->freeze) {
    ChangeTask(number);
  } else if (!frozen_[number]) {
    frozen_[number] = queue_->now();
  }
}

void TaskChanges::ChangeTask(uint32_t number) {
  if (parameters_->change == Change::kAffinity) {
    ChangeAffinity(number);
    Note(number);
  } else {
    kernel_->Exit(workload_->worker(number).gtid, Now());
    workload_->Name(number, kernel_->Create({}, Now()));
  }
  forward_();
}

void TaskChanges::ChangeAffinity(uint32_t number) {
  // The last bit does not belong to a simulated CPU.
  affinity_ ^= engine::sched::MaskOf(engine::sched::kMaxCpus - 1);
  kernel_->SetAffinity(workload_->worker(number).gtid, affinity_, Now());
}

void TaskChanges::Note(uint32_t number) {
  const engine::sched::Task* task = kernel_->Find(workload_->worker(number).gtid);
  log_->Told(task->gtid, task->barrier, queue_->now());
}

void TaskChanges::Thaw(uint32_t number) {
  const std::optional<Picoseconds> since = std::exchange(frozen_[number], std::nullopt);
  if (!since) return;
  ++deferred_;
  deferred_time_ += queue_->now() - *since;
  // If an exit is frozen, replaces it with an affinity change, because an exit would also end the
  // request. To agents, both changes of a running task look the same.
  ChangeAffinity(number);
  forward_();
}

}  // namespace sluice::simulation
