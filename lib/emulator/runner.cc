// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/runner.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <utility>

namespace sluice::emulator {

Runner::Runner(Stepper& stepper, RunnerOptions options)
    : stepper_(stepper),
      options_(std::move(options)),
      ns_per_cycle_((uint64_t{1'000'000'000} << 32) / options_.tsc_hz),
      names_(stepper.Names()),
      first_cycles_(rte_rdtsc()),
      values_(names_.size() + 2) {
  names_.insert(names_.begin(), {"model_busy_cycles", "model_total_cycles"});
  scratch_.reserve(names_.size());
  thread_ = std::thread([this] { Run(); });
}

Runner::~Runner() {
  stop_.store(true, std::memory_order_release);
  thread_.join();
}

void Runner::Run() {
  pthread_setname_np(pthread_self(), options_.thread_name.substr(0, 15).c_str());
  if (options_.cpus) pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &*options_.cpus);
  if (options_.on_start) options_.on_start();
  uint32_t idle = 0;
  uint32_t turns_of_others = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    const uint32_t turns = turns_of_others_.load(std::memory_order_relaxed);
    if (turns != turns_of_others) {
      turns_of_others = turns;
      std::this_thread::sleep_for(kRest);
    } else if (Turn()) {
      idle = 0;
    } else if (++idle < kIdleSteps) {
      rte_pause();
    } else if (at_rest_.load(std::memory_order_relaxed)) {
      // Frees the CPU for others, such as virtual machines that are booting.
      std::this_thread::sleep_for(kLook);
    } else {
      sched_yield();
    }
  }
  if (options_.on_end) options_.on_end();
}

bool Runner::TurnForOther() {
  const uint32_t turns = turns_of_others_.load(std::memory_order_relaxed);
  turns_of_others_.store(turns + 1, std::memory_order_relaxed);
  return Turn();
}

Runner::Hold::Hold(Runner& runner) : runner_(runner) {
  runner_.held_.store(true);
  while (runner_.stepping_.load()) std::this_thread::yield();
}

Runner::Hold::~Hold() { runner_.held_.store(false); }

bool Runner::Turn() {
  // Each side publishes its flag before it reads the peer's, so they cannot both proceed.
  if (stepping_.exchange(true)) return false;
  const bool worked = !held_.load() && Step();
  stepping_.store(false, std::memory_order_release);
  return worked;
}

bool Runner::Step() {
  const uint64_t begin = rte_rdtsc();
  const uint64_t since_first = begin > first_cycles_ ? begin - first_cycles_ : 0;
  const uint64_t now_ns = std::max(
      last_ns_,
      static_cast<uint64_t>(static_cast<unsigned __int128>(since_first) * ns_per_cycle_ >> 32));
  last_ns_ = now_ns;
  const uint32_t request = requested_.load(std::memory_order_acquire);
  if (request != served_.load(std::memory_order_relaxed)) Serve(request, now_ns);
  const bool worked = stepper_.Step(now_ns);
  if (!worked) at_rest_.store(stepper_.AtRest(), std::memory_order_relaxed);
  const bool link_up = stepper_.LinkUp(now_ns);
  if (link_up != link_up_.load(std::memory_order_relaxed)) {
    link_up_.store(link_up, std::memory_order_release);
    stepper_.CarrierChanged(link_up);
  }
  if (worked) busy_cycles_ += rte_rdtsc() - begin;
  return worked;
}

void Runner::Serve(uint32_t request, uint64_t now_ns) {
  stepper_.EnableWire(wire_enabled_.load(std::memory_order_relaxed), now_ns);
  stepper_.Read(scratch_);
  values_[0].store(busy_cycles_, std::memory_order_relaxed);
  values_[1].store(rte_rdtsc() - first_cycles_, std::memory_order_relaxed);
  for (size_t i = 0; i < scratch_.size(); ++i) {
    values_[i + 2].store(scratch_[i], std::memory_order_relaxed);
  }
  served_.store(request, std::memory_order_release);
}

bool Runner::Request() {
  const uint32_t request = requested_.load(std::memory_order_relaxed) + 1;
  requested_.store(request, std::memory_order_release);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (served_.load(std::memory_order_acquire) != request) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

bool Runner::EnableWire(bool enabled) {
  const std::scoped_lock lock(mutex_);
  wire_enabled_.store(enabled, std::memory_order_relaxed);
  return Request();
}

std::vector<uint64_t> Runner::Read() {
  const std::scoped_lock lock(mutex_);
  Request();
  std::vector<uint64_t> values(values_.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = values_[i].load(std::memory_order_relaxed);
  return values;
}

}  // namespace sluice::emulator
