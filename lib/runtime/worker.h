// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of a worker lcore: polls, counts cycles, reads the clock, and periodically checks
// whether to stop. Only the main thread decides when to stop, because it knows whether frames are
// still in flight (supervisor.h). Each pair of queue and engine has a separate template instance,
// so that no dispatch is needed per packet. Launched by Session.
#pragma once

#include <rte_cycles.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>

#include "nic/frame_queue.h"
#include "nic/model_step.h"

namespace sluice::runtime {

/// State that the main thread and one worker share.
struct alignas(64) WorkerControl {
  std::atomic<bool> stop{false};  ///< Written by main, read by the worker: stop at once.
  int32_t model = -1;             ///< Model that the worker also steps; see nic::StepModel.

  /// Written by the worker, read by main, with relaxed order. TSC cycles of polls that processed or
  /// generated frames, without waits for transmit space.
  alignas(64) std::atomic<uint64_t> busy_cycles{0};
  std::atomic<uint64_t> total_cycles{0};  ///< TSC cycles since the loop began.
  std::atomic<uint64_t> ctx_switches{0};  ///< Involuntary switches; stored at the end.
};

/// Maximum number of polls between two checks of `stop`: some tens of microseconds under load.
inline constexpr uint32_t kPollsPerLook = 64;
/// TSC cycles after which a worker checks earlier, because an engine may need long for a burst.
inline constexpr uint64_t kLookCycles = 250'000;

/// Returns the maximum number of polls between checks for an engine. An engine that does its main
/// work in AtRest overrides it with `kPollsPerRest`.
template <typename Engine>
consteval uint32_t PollsPerLook() {
  if constexpr (requires { Engine::kPollsPerRest; }) return Engine::kPollsPerRest;
  return kPollsPerLook;
}

inline uint64_t InvoluntarySwitches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}

/// Calls AtRest, if the engine has it, to load new tables and process timeouts.
template <typename Engine>
void Rest(Engine& engine, uint64_t now) {
  if constexpr (requires { engine.AtRest(now); }) engine.AtRest(now);
}

/// Runs until control.stop is set. Only the calling worker uses `queue` and `engine`. Optional
/// members of an engine:
/// - set_outbox(packet::Outbox), called before all others, if it sends frames by itself;
/// - set_counters(nic::QueueCounters&), if it increments counters of the queue;
/// - Enter() and Leave(), called by the worker first and last;
/// - AtRest(now), called between bursts;
/// - Generate(queue, now), if it schedules its sends (nic::GeneratingEngine).
template <nic::FrameQueue Queue, nic::QueueEngine Engine>
void Work(Queue& queue, Engine& engine, WorkerControl& control) {
  const uint64_t switches = InvoluntarySwitches();
  const int32_t model = nic::own_model = control.model;
  uint64_t busy = 0;
  uint64_t waited = 0;
  if constexpr (packet::Sender<Engine>) engine.set_outbox(queue.outbox());
  if constexpr (requires { engine.set_counters(queue.counters()); }) {
    engine.set_counters(queue.counters());
  }
  if constexpr (requires { engine.Enter(); }) engine.Enter();
  // The clock is read only after Enter: an engine that first touches its memory may need seconds,
  // and the time of the first burst would be outdated.
  const uint64_t begin = rte_rdtsc();
  uint64_t now = begin;
  while (!control.stop.load(std::memory_order_relaxed)) {
    Rest(engine, now);
    if constexpr (packet::Sender<Engine>) queue.FlushSent();
    const uint64_t looked = now;
    for (uint32_t i = 0; i < PollsPerLook<Engine>() && now - looked < kLookCycles; ++i) {
      uint32_t frames = 0;
      if constexpr (nic::GeneratingEngine<Engine, Queue>) frames = engine.Generate(queue, now);
      frames += queue.Poll(engine, now);
      const uint64_t after = rte_rdtsc();
      const uint64_t waited_now = queue.waited_cycles();
      if (frames > 0) busy += after - now - (waited_now - waited);
      waited = waited_now;
      now = after;
      if (model >= 0) [[unlikely]] {  // The model's cycles do not count as the worker's.
        nic::StepModel(model);
        now = rte_rdtsc();
      }
    }
    control.busy_cycles.store(busy, std::memory_order_relaxed);
    control.total_cycles.store(now - begin, std::memory_order_relaxed);
  }
  if constexpr (requires { engine.Leave(); }) engine.Leave();
  queue.FlushSent();
  queue.Drain();
  nic::own_model = -1;
  control.ctx_switches.store(InvoluntarySwitches() - switches, std::memory_order_relaxed);
}

}  // namespace sluice::runtime
