// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the checker finds every inconsistency in a host's records. Each case falsifies one
// entry.
#include <gtest/gtest.h>

#include <functional>
#include <string_view>

#include "engine/sched/kernel_checker.h"

namespace sluice::engine::sched {
namespace {

/// Task 1 runs on CPU 0, task 2 is latched to CPU 1, tasks 3 and 4 wait, and task 5 is blocked.
class Books {
 public:
  Books() {
    for (Gtid& gtid : tasks_) gtid = kernel.Create({}, ++now_);
    kernel.SetAgent(true, ++now_);
    for (const CpuId cpu : {0, 1}) {
      kernel.Apply({.cpu = cpu, .gtid = tasks_[cpu]}, ++now_);
    }
    kernel.Switch(0, ++now_);
    kernel.Apply({.cpu = 2, .gtid = tasks_[4]}, ++now_);
    kernel.Switch(2, ++now_);
    kernel.Block(2, ++now_);
  }
  Task& task(int number) { return const_cast<Task&>(*kernel.Find(tasks_[number - 1])); }
  Cpu& cpu(CpuId cpu) { return const_cast<Cpu&>(kernel.cpu(cpu)); }

  Kernel kernel{{.cpus = 4, .max_tasks = 5}};

 private:
  Gtid tasks_[5];
  Nanoseconds now_ = 0;
};

TEST(Checker, FindsEveryFalseEntry) {
  Books books;
  ASSERT_EQ(Violation(books.kernel), nullptr);
  const struct {
    std::string_view rule;
    std::function<void(Books&)> falsify;
  } kCases[] = {
      {"a task is on a CPU that does not list it", [](Books& b) { b.task(1).cpu = 3; }},
      {"a latched task is not waiting", [](Books& b) { b.task(5).latched = true; }},
      {"a task is latched to a CPU that does not list it", [](Books& b) { b.task(2).cpu = 3; }},
      {"live_tasks() is wrong", [](Books& b) { b.task(5).state = TaskState::kDead; }},
      {"a CPU has a task that is not on it", [](Books& b) { b.cpu(3).current = b.task(5).gtid; }},
      {"a task is on a CPU that agents may not use", [](Books& b) { b.cpu(0).online = false; }},
      {"a task is on a CPU outside its affinity mask", [](Books& b) { b.task(1).affinity = 0b10; }},
      {"a CPU has latched a task that is not latched to it",
       [](Books& b) { b.cpu(3).latched = b.task(4).gtid; }},
      {"a task is latched to a CPU that agents may not use",
       [](Books& b) { b.cpu(1).busy_elsewhere = true; }},
      {"a task is latched to a CPU outside its affinity mask",
       [](Books& b) { b.task(2).affinity = 0b01; }},
      {"a CPU does not list a latched task", [](Books& b) { b.cpu(1).must_switch = false; }},
      {"a waiting task is not runnable",
       [](Books& b) {
         b.task(4).state = TaskState::kBlocked;
         b.task(5).state = TaskState::kRunnable;
       }},
      {"the waiting list has too many tasks",
       [](Books& b) { b.task(4).state = TaskState::kBlocked; }},
      {"a waiting task is not in the waiting list",
       [](Books& b) { b.task(5).state = TaskState::kRunnable; }},
      {"the waiting list is not sorted by time", [](Books& b) { b.task(3).since = 99; }},
  };
  for (const auto& [rule, falsify] : kCases) {
    Books falsified;
    falsify(falsified);
    const char* const violation = Violation(falsified.kernel);
    ASSERT_NE(violation, nullptr) << rule;
    EXPECT_EQ(violation, rule);
  }
}

}  // namespace
}  // namespace sluice::engine::sched
