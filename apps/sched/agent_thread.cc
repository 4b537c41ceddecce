// SPDX-License-Identifier: BSD-3-Clause
#include "agent_thread.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_pause.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice::sched {
namespace {

using engine::sched::AgentCounters;

constexpr uint32_t kStepsPerLook = 1024;  // Agent steps between two checks for a stop or a fault.
// Idle time after which the agent yields its CPU, if other threads may need it. The task that gets
// the CPU keeps it for a time slice, so this should not be too short.
constexpr Nanoseconds kIdleNs = 20'000;

AgentCounters Sum(AgentCounters sum, const AgentCounters& more) {
  sum.messages += more.messages;
  sum.decisions += more.decisions;
  sum.enforced += more.enforced;
  for (size_t i = 0; i < sum.refused.size(); ++i) sum.refused[i] += more.refused[i];
  sum.preemptions += more.preemptions;
  sum.prestaged += more.prestaged;
  sum.recalled_in_time += more.recalled_in_time;
  sum.recalled_too_late += more.recalled_too_late;
  sum.losses += more.losses;
  sum.unknown_tasks += more.unknown_tasks;
  return sum;
}

}  // namespace

std::optional<AgentFault> ReadAgentFault(std::string_view text) {
  const size_t at = text.find('@');
  if (at == text.npos) return std::nullopt;
  const std::string_view kind = text.substr(0, at);
  const std::string_view time = text.substr(at + 1);
  AgentFault fault;
  if (kind == "kill") {
    fault.kind = AgentFault::Kind::kKill;
  } else if (kind == "freeze") {
    fault.kind = AgentFault::Kind::kFreeze;
  } else if (kind == "replace") {
    fault.kind = AgentFault::Kind::kReplace;
  } else {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), fault.after_s);
  if (error != std::errc() || end != time.data() + time.size() || !(fault.after_s >= 0) ||
      !std::isfinite(fault.after_s)) {
    return std::nullopt;
  }
  return fault;
}

AgentThread::AgentThread(Scheduler& scheduler, const Clock& clock,
                         const AgentThreadOptions& options)
    : scheduler_(scheduler), clock_(clock), options_(options) {
  // Sets the CPU before the thread starts. Otherwise, the thread would start on its creator's CPU,
  // where a worker that never yields may be running.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (options.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(options.cpu, &cpus);
    pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
  }
  const auto run = [](void* self) -> void* {
    static_cast<AgentThread*>(self)->Run();
    return nullptr;
  };
  const int error = pthread_create(&thread_, &attributes, run, this);
  pthread_attr_destroy(&attributes);
  if (error != 0)
    throw std::system_error(error, std::generic_category(), "cannot create the agent's thread");
}

void AgentThread::Stop() {
  if (stop_.exchange(true)) return;
  pthread_join(thread_, nullptr);
}

AgentCounters AgentThread::counters() const {
  const std::scoped_lock lock(mutex_);
  return published_;
}

void AgentThread::Publish(const AgentSide& agent) {
  const AgentCounters sum = Sum(gone_, agent.counters());
  const std::scoped_lock lock(mutex_);
  published_ = sum;
}

void AgentThread::Retire(std::unique_ptr<AgentSide> agent) {
  Publish(*agent);
  gone_ = Sum(gone_, agent->counters());
}

void AgentThread::Rest(Nanoseconds time) {
  const Nanoseconds begin = clock_.Nanoseconds(rte_rdtsc());
  while (!stop_.load() && clock_.Nanoseconds(rte_rdtsc()) - begin < time) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void AgentThread::Suffer(std::unique_ptr<AgentSide>& agent) {
  if (options_.fault->kind == AgentFault::Kind::kFreeze) return Rest(options_.down);
  Retire(std::move(agent));
  if (options_.fault->kind == AgentFault::Kind::kKill) Rest(options_.down);
  agent = scheduler_.NewAgent();
  agents_.fetch_add(1, std::memory_order_relaxed);
}

void AgentThread::Run() {
  pthread_setname_np(pthread_self(), "sched-agent");
  const Nanoseconds begin = clock_.Nanoseconds(rte_rdtsc());
  Nanoseconds fault_at = ~Nanoseconds{0};
  if (options_.fault) {
    // Limits the time to 10^9 s, which is longer than any run.
    fault_at = begin + static_cast<Nanoseconds>(std::min(options_.fault->after_s, 1e9) * 1e9);
  }
  std::unique_ptr<AgentSide> agent = scheduler_.NewAgent();
  agents_.fetch_add(1, std::memory_order_relaxed);
  Nanoseconds busy_at = begin;
  while (!stop_.load(std::memory_order_relaxed)) {
    Nanoseconds now = 0;
    for (uint32_t i = 0; i < kStepsPerLook; ++i) {
      now = clock_.Nanoseconds(rte_rdtsc());
      if (agent->Step(now) != 0) {
        busy_at = now;
      } else if (!options_.yields || now - busy_at < kIdleNs) {
        rte_pause();
      } else {
        sched_yield();
        break;  // The yield may have taken a long time, so the clock is checked again.
      }
    }
    if (now >= fault_at) {
      fault_at = ~Nanoseconds{0};
      Suffer(agent);
    }
    Publish(*agent);
  }
  Retire(std::move(agent));
}

}  // namespace sluice::sched
