// SPDX-License-Identifier: BSD-3-Clause
//
// Workers that change while they wait, so that decisions made for them become stale: a Poisson
// process for all workers, of whom one is hit. A change may be frozen instead: it then waits until
// the worker is on a CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/sched/kernel.h"
#include "fabric/event_queue.h"
#include "simulation/random.h"
#include "simulation/sched/scheduling.h"
#include "simulation/sched/staleness.h"
#include "simulation/sched/workload.h"

namespace sluice::simulation {

class TaskChanges {
 public:
  /// All outlive it. `forward` has the agent told, later.
  TaskChanges(const SchedulingParameters& parameters, fabric::EventQueue& queue,
              engine::sched::Kernel& kernel, Workload& workload, StalenessLog& log,
              std::function<void()> forward);

  /// From now on; nothing, if the parameters want no changes.
  void Begin();
  /// No change is made any more.
  void Stop() { stopped_ = true; }

  /// From this moment on what agents know of worker `number` may be out of date.
  void Note(uint32_t number);
  /// Worker `number` is on a CPU: what waited to change it may.
  void Thaw(uint32_t number);

  uint64_t deferred() const { return deferred_; }  ///< Changes that waited, and are done.
  Picoseconds deferred_time() const { return deferred_time_; }  ///< All together.

 private:
  void Next();
  void Hit(uint32_t number);
  void ChangeTask(uint32_t number);
  void ChangeAffinity(uint32_t number);
  engine::sched::Nanoseconds Now() const { return queue_->now() / 1000; }

  const SchedulingParameters* parameters_;
  fabric::EventQueue* queue_;
  engine::sched::Kernel* kernel_;
  Workload* workload_;
  StalenessLog* log_;
  std::function<void()> forward_;
  Random random_;
  std::vector<std::optional<Picoseconds>> frozen_;  ///< When a change began to wait, if one does.
  engine::sched::CpuMask affinity_ = ~engine::sched::CpuMask{0};
  bool stopped_ = false;
  uint64_t deferred_ = 0;
  Picoseconds deferred_time_ = 0;
};

}  // namespace sluice::simulation
