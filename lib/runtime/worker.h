// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of a worker lcore: poll, count cycles, look at the clock, from time to
// time ask whether to stop. When that is, only the main thread can tell: it alone
// sees whether frames are still under way (supervisor.h). One template instance per
// (queue, engine), so that nothing in it is decided per packet. Launched by Session.
#pragma once

#include <rte_cycles.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>

#include "nic/frame_queue.h"
#include "nic/model_step.h"

namespace sluice::runtime {

/// What the main thread and one worker tell each other.
struct alignas(64) WorkerControl {
  std::atomic<bool> stop{false};  ///< Main writes, the worker reads: leave at once.
  int32_t model = -1;             ///< What the worker steps besides; see nic::StepModel.

  /// The worker writes, main reads; all relaxed: figures, not signals.
  /// TSC cycles of polls that handled frames; waits for room to transmit are left out.
  alignas(64) std::atomic<uint64_t> busy_cycles{0};
  std::atomic<uint64_t> total_cycles{0};  ///< TSC cycles since the loop began.
  std::atomic<uint64_t> ctx_switches{0};  ///< Involuntary ones; at the end.
};

/// Most polls between two looks at `stop`: some tens of microseconds under load.
inline constexpr uint32_t kPollsPerLook = 64;
/// TSC cycles after which a worker looks earlier: an engine may take long for a burst.
inline constexpr uint64_t kLookCycles = 250'000;

/// The same for an engine whose own work is done at rest: it says `kPollsPerRest`.
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

/// Lets an engine that rests between bursts do so: take up new tables, look at the time.
template <typename Engine>
void Rest(Engine& engine, uint64_t now) {
  if constexpr (requires { engine.AtRest(now); }) engine.AtRest(now);
}

/// Runs until told to leave. `Queue` and `engine` are the calling worker's alone. An engine may
/// have Enter() and Leave(), called by the worker first and last, AtRest(now), and
/// set_outbox(packet::Outbox), called before all of them, if it sends frames by itself, and
/// set_counters(nic::QueueCounters&), if it counts among the queue's, and Generate(queue, now), if
/// it sends at its own times (nic::GeneratingEngine).
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
  // Not before: an engine that touches its memory may take seconds, and the time of the first burst
  // would be as old.
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
      if (model >= 0) [[unlikely]] {  // Its cycles are not the worker's.
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
