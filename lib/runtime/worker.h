// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of a worker lcore: polls, counts cycles, reads the clock, and periodically checks
// whether to stop. Only the main thread decides when to stop, because it knows whether frames are
// still in flight (supervisor.h). Each pair of queue and engine is a separate template instance, so
// that no dispatch per packet is needed. Launched by Session.
#pragma once

#include <rte_cycles.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>

#include "nic/frame_queue.h"
#include "nic/model_step.h"
#include "packet/engine.h"

namespace sluice::runtime {

/// State that the main thread and one worker share.
struct alignas(64) WorkerControl {
  std::atomic<bool> stop{false};  ///< Written by main, read by the worker: stop at once.
  int32_t model = -1;             ///< Model that the worker also steps; see nic::StepModel.

  /// TSC cycles of polls that processed or generated frames, excluding waits for transmit space.
  /// Written by the worker and read by the main thread, with relaxed order.
  alignas(64) std::atomic<uint64_t> busy_cycles{0};
  std::atomic<uint64_t> total_cycles{0};  ///< TSC cycles since the loop began.
  std::atomic<uint64_t> ctx_switches{0};  ///< Involuntary context switches; stored at the end.
};

/// TSC cycles after which a worker checks `stop` even before kPollsPerRest polls, because an engine
/// may take long for a burst.
inline constexpr uint64_t kLookCycles = 250'000;

inline uint64_t InvoluntarySwitches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}

/// Runs until control.stop is set. Calls the engine's hooks (packet/engine.h) except QueueError.
/// Only the calling worker uses `queue` and `engine`.
template <nic::FrameQueue Queue, packet::QueueEngine Engine>
void Work(Queue& queue, Engine& engine, WorkerControl& control) {
  const uint64_t switches = InvoluntarySwitches();
  const int32_t model = nic::own_model = control.model;
  uint64_t busy = 0;
  uint64_t waited = 0;
  if constexpr (packet::Sender<Engine>) engine.set_outbox(queue.outbox());
  engine.set_counters(queue.counters());
  engine.Enter();
  // The clock is read only after Enter, because an engine that touches its memory for the first
  // time may take seconds, and the time for the first burst would be outdated.
  const uint64_t begin = rte_rdtsc();
  uint64_t now = begin;
  while (!control.stop.load(std::memory_order_relaxed)) {
    engine.AtRest(now);
    if constexpr (packet::Sender<Engine>) queue.FlushSent();
    const uint64_t looked = now;
    for (uint32_t i = 0; i < Engine::kPollsPerRest && now - looked < kLookCycles; ++i) {
      uint32_t frames = engine.Generate(queue, now);
      frames += queue.Poll(engine, now);
      const uint64_t after = rte_rdtsc();
      const uint64_t waited_now = queue.waited_cycles();
      if (frames > 0) busy += after - now - (waited_now - waited);
      waited = waited_now;
      now = after;
      if (model >= 0) [[unlikely]] {  // Cycles spent in the model do not count as the worker's.
        nic::StepModel(model);
        now = rte_rdtsc();
      }
    }
    control.busy_cycles.store(busy, std::memory_order_relaxed);
    control.total_cycles.store(now - begin, std::memory_order_relaxed);
  }
  engine.Leave();
  queue.FlushSent();
  queue.Drain();
  nic::own_model = -1;
  control.ctx_switches.store(InvoluntarySwitches() - switches, std::memory_order_relaxed);
}

}  // namespace sluice::runtime
