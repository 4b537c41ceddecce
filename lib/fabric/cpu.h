// SPDX-License-Identifier: BSD-3-Clause
//
// One side's processor in virtual time. It has its own clock: an operation occupies the processor,
// and the other side sees the effect of the operation at a different time.
//
// An agent is code that the processor runs when a message arrives, as soon as it is free. While an
// agent runs, memory does not change, except while the agent waits for a read; messages that arrive
// meanwhile cause another call. An agent therefore reads, computes and posts. Code outside events
// may poll in a loop: each read of memory advances time by its cost.
//
// With many processors, events of one processor would run nested in another processor's wait.
// Therefore a processor can be a coroutine (RunAsCoroutine): a wait suspends it, and the awaited
// event resumes it. Its code then sees all memory exactly as it is at the time of the processor's
// clock. Arrivals are reported at once, and the processor's code must handle them itself.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "fabric/event_queue.h"
#include "fabric/picoseconds.h"

namespace sluice::fabric {

class Cpu {
 public:
  explicit Cpu(EventQueue& queue) : queue_(&queue) {}
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  Picoseconds now() const { return clock_ > queue_->now() ? clock_ : queue_->now(); }
  /// Advances the clock by `duration`.
  void Compute(Picoseconds duration) { clock_ = now() + duration; }

  /// Set the agents that run when a line or an interrupt arrives.
  void OnArrival(std::function<void()> agent) { on_arrival_ = std::move(agent); }
  void OnInterrupt(std::function<void(uint32_t vector)> agent) { on_interrupt_ = std::move(agent); }

  /// Makes the code of this processor a coroutine. The code calls `suspend`, which returns when the
  /// coroutine is resumed; events call `resume`. Events then call the agents set by OnArrival and
  /// OnInterrupt directly, regardless of the processor's state.
  void RunAsCoroutine(std::function<void()> suspend, std::function<void()> resume) {
    suspend_ = std::move(suspend);
    resume_ = std::move(resume);
  }

  // Called by the window when a line or an interrupt has arrived.
  void Arrived();
  void Interrupted(uint32_t vector);
  /// Advances the clock to `time` if the clock is earlier.
  void StallUntil(Picoseconds time) { clock_ = clock_ > time ? clock_ : time; }
  /// Advances time until an event sets `done` and calls Awaited(). Meanwhile, agents of this
  /// processor do not run.
  void Await(const bool& done);
  void Awaited();
  /// Advances virtual time to this processor's clock, if the processor is a coroutine or no event
  /// is being run.
  void CatchUp();

 private:
  void Schedule();
  void Dispatch();

  EventQueue* queue_;
  Picoseconds clock_ = 0;
  std::function<void()> on_arrival_;
  std::function<void(uint32_t)> on_interrupt_;
  std::function<void()> suspend_;
  std::function<void()> resume_;
  std::deque<uint32_t> interrupts_;
  bool arrived_ = false;
  bool scheduled_ = false;
  bool occupied_ = false;  ///< An agent is running or waiting.
  bool awaiting_ = false;  ///< The coroutine is suspended in Await.
};

}  // namespace sluice::fabric
