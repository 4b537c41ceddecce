// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-sched-bench: measures the host's cost per transaction, in nanoseconds and in TSC cycles,
// for validation (Check), enforcement (Apply) and the switch to the task (Switch). Each batch has
// one transaction for each of 64 CPUs. Removing the tasks from the CPUs is not measured. Prints the
// median and the minimum over rounds, because other programs also run. Prints one line of JSON for
// few tasks (all in the L1 cache) and one for the default number of tasks.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "cpu/clock.h"
#include "engine/sched/kernel.h"

namespace sluice::engine::sched {
namespace {

constexpr int kRounds = 201;
constexpr int kBatches = 200;

struct Sample {
  double ns;
  double cycles;
};

/// Measures one round of transactions. Returns false if a transaction was refused or if a CPU
/// switched to a task other than the assigned one.
bool Round(Kernel& kernel, const std::vector<Gtid>& tasks, size_t& next, Nanoseconds& now,
           Sample& sample) {
  std::chrono::nanoseconds time{0};
  uint64_t cycles = 0;
  std::vector<Transaction> transactions(kMaxCpus);
  for (int batch = 0; batch < kBatches; ++batch) {
    for (CpuId cpu = 0; cpu < kMaxCpus; ++cpu) {
      const Gtid gtid = tasks[next++ % tasks.size()];
      transactions[cpu] = {.cpu = cpu, .gtid = gtid, .task_barrier = kernel.Find(gtid)->barrier};
    }
    // The preceding loop has loaded the tasks into the cache. A host's message to the agent has the
    // same effect.
    const auto start = std::chrono::steady_clock::now();
    const uint64_t first = cpu::Cycles();
    for (const Transaction& transaction : transactions) {
      ++now;
      if (kernel.Check(transaction.cpu, transaction) != Status::kComplete) return false;
      kernel.Apply(transaction, now);
      if (kernel.Switch(transaction.cpu, now) != transaction.gtid) return false;
    }
    cycles += cpu::Cycles() - first;
    time += std::chrono::steady_clock::now() - start;
    for (CpuId cpu = 0; cpu < kMaxCpus; ++cpu) kernel.Yield(cpu, ++now);
    kernel.ClearMessages();
  }
  constexpr double kTransactions = kBatches * kMaxCpus;
  sample = {static_cast<double>(time.count()) / kTransactions,
            static_cast<double>(cycles) / kTransactions};
  return true;
}

bool Measure(uint32_t tasks) {
  Kernel kernel({.cpus = kMaxCpus, .max_tasks = tasks});
  kernel.SetAgent(true, 0);
  std::vector<Gtid> names;
  for (uint32_t i = 0; i < tasks; ++i) names.push_back(kernel.Create({}, 0));
  kernel.ClearMessages();
  std::vector<Sample> samples(kRounds);
  size_t next = 0;
  Nanoseconds now = 0;
  for (Sample& sample : samples) {
    if (!Round(kernel, names, next, now, sample)) return false;
  }
  std::ranges::sort(samples, {}, &Sample::ns);
  const Sample& median = samples[kRounds / 2];
  std::printf(
      "{\"tasks\": %u, \"cpus\": %u, \"transactions\": %d, "
      "\"check_apply_switch_ns\": %.1f, \"check_apply_switch_cycles\": %.0f, \"least_ns\": %.1f}\n",
      tasks, kMaxCpus, kRounds * kBatches * kMaxCpus, median.ns, median.cycles, samples.front().ns);
  return true;
}

}  // namespace
}  // namespace sluice::engine::sched

int main() {
  using sluice::engine::sched::Measure;
  return Measure(256) && Measure(65536) ? 0 : 1;
}
