// SPDX-License-Identifier: BSD-3-Clause
//
// Changes waiting workers, so that decisions made for them become stale. The changes form a single
// Poisson process for all workers; each change affects one worker. A change can be frozen, that is,
// delayed until the worker is on a CPU.
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
  /// All arguments must outlive this object. `forward` sends pending events to the agent.
  TaskChanges(const SchedulingParameters& parameters, fabric::EventQueue& queue,
              engine::sched::Kernel& kernel, Workload& workload, StalenessLog& log,
              std::function<void()> forward);

  /// Starts the changes. Does nothing if the parameters request none.
  void Begin();
  /// Stops all further changes.
  void Stop() { stopped_ = true; }

  /// Records that from now on, what agents know about worker `number` may be out of date.
  void Note(uint32_t number);
  /// Called when worker `number` is on a CPU. Applies its frozen change, if any.
  void Thaw(uint32_t number);

  uint64_t deferred() const { return deferred_; }  ///< Number of delayed changes that were applied.
  Picoseconds deferred_time() const { return deferred_time_; }  ///< Sum of all delays.

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
  /// Time at which each worker's change was frozen, or nullopt if none is frozen.
  std::vector<std::optional<Picoseconds>> frozen_;
  engine::sched::CpuMask affinity_ = ~engine::sched::CpuMask{0};
  bool stopped_ = false;
  uint64_t deferred_ = 0;
  Picoseconds deferred_time_ = 0;
};

}  // namespace sluice::simulation
