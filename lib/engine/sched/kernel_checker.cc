// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sched/kernel_checker.h"

namespace sluice::engine::sched {
namespace {

using Place = TaskPlaces::Place;

const char* ViolationOfTask(const Kernel& kernel, const Task& task) {
  if (task.state == TaskState::kOnCpu && kernel.cpu(task.cpu).current != task.gtid) {
    return "a task is on a CPU that does not list it";
  }
  if (task.latched && task.state != TaskState::kRunnable) return "a latched task is not waiting";
  if (task.latched && kernel.cpu(task.cpu).latched != task.gtid) {
    return "a task is latched to a CPU that does not list it";
  }
  return nullptr;
}

const char* ViolationOfCpu(const Kernel& kernel, CpuId cpu) {
  const Cpu& c = kernel.cpu(cpu);
  if (c.current != kNoTask) {
    const Task* task = kernel.Find(c.current);
    if (task == nullptr || task->state != TaskState::kOnCpu || task->cpu != cpu) {
      return "a CPU has a task that is not on it";
    }
    if (!c.available()) return "a task is on a CPU that agents may not use";
    if ((task->affinity & MaskOf(cpu)) == 0) return "a task is on a CPU outside its affinity mask";
  }
  if (c.latched != kNoTask) {
    const Task* task = kernel.Find(c.latched);
    if (task == nullptr || !task->latched || task->cpu != cpu) {
      return "a CPU has latched a task that is not latched to it";
    }
    if (!c.available()) return "a task is latched to a CPU that agents may not use";
    if ((task->affinity & MaskOf(cpu)) == 0)
      return "a task is latched to a CPU outside its affinity mask";
    if (!c.must_switch) return "a CPU does not list a latched task";
  }
  return nullptr;
}

/// Checks the list of waiting tasks. `waiting` is the number of tasks whose state is waiting.
const char* ViolationOfOrder(const TaskPlaces& places, uint32_t waiting) {
  const Place* previous = nullptr;
  for (const Place* at = places.FirstWaiting(); at != nullptr; at = places.NextWaiting(*at)) {
    if (waiting-- == 0) return "the waiting list has too many tasks";
    if (at->task.state != TaskState::kRunnable) return "a waiting task is not runnable";
    if (places.PreviousWaiting(*at) != previous) return "the waiting list has inconsistent links";
    if (previous != nullptr && previous->task.since > at->task.since) {
      return "the waiting list is not sorted by time";
    }
    previous = at;
  }
  if (waiting != 0) return "a waiting task is not in the waiting list";
  if (places.LastWaiting() != previous) return "the waiting list has a wrong last task";
  return nullptr;
}

}  // namespace

const char* Violation(const Kernel& kernel) {
  uint32_t live = 0;
  uint32_t waiting = 0;
  for (const Place& place : kernel.places()) {
    live += place.task.state < TaskState::kDeparted;
    waiting += place.task.state == TaskState::kRunnable;
    if (const char* violation = ViolationOfTask(kernel, place.task)) return violation;
  }
  if (live != kernel.live_tasks()) return "live_tasks() is wrong";
  for (CpuId cpu = 0; cpu < kernel.cpus(); ++cpu) {
    if (const char* violation = ViolationOfCpu(kernel, cpu)) return violation;
  }
  return ViolationOfOrder(kernel.places(), waiting);
}

}  // namespace sluice::engine::sched
