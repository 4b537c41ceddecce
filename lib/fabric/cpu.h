// SPDX-License-Identifier: BSD-3-Clause
//
// The processor of one side in virtual time. It has a clock of its own: what it does
// occupies it, and that is another time than when the other side sees the effect.
//
// An agent is code that the processor runs when something arrives, as soon as it is
// free. While an agent runs, memory is as it was when the agent was called, except that
// waiting for a read lets time pass; what arrives meanwhile leads to another call. So an
// agent looks, computes and posts. Code outside any event may spin instead: each look
// at memory lets the time pass that it takes.
//
// With many processors that would let one run the events of another inside its own waits. So a
// processor may be a coroutine instead (RunAsCoroutine): where it waits, it is suspended, and
// the event that it waits for resumes it. Its straight-line code then sees every memory exactly
// when its clock says; what arrives is reported at once, and what it does about it is its own care.
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
  /// Works for `duration`.
  void Compute(Picoseconds duration) { clock_ = now() + duration; }

  /// What to run when a line arrives, and when an interrupt does.
  void OnArrival(std::function<void()> agent) { on_arrival_ = std::move(agent); }
  void OnInterrupt(std::function<void(uint32_t vector)> agent) { on_interrupt_ = std::move(agent); }

  /// From now on the code of this processor runs in a coroutine: `suspend` is called from it and
  /// returns when it was resumed; `resume` is called from an event. OnArrival and OnInterrupt are
  /// called from the event itself, whatever the processor does.
  void RunAsCoroutine(std::function<void()> suspend, std::function<void()> resume) {
    suspend_ = std::move(suspend);
    resume_ = std::move(resume);
  }

  // For the window.
  void Arrived();
  void Interrupted(uint32_t vector);
  /// Could not go on before `time`.
  void StallUntil(Picoseconds time) { clock_ = clock_ > time ? clock_ : time; }
  /// Lets time pass until `done`, which some event sets that then calls Awaited(). Agents of this
  /// processor wait.
  void Await(const bool& done);
  void Awaited();
  /// Lets the time pass that this processor has spent, if it is a coroutine or not in an event.
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
  bool occupied_ = false;  ///< An agent runs or waits.
  bool awaiting_ = false;  ///< The coroutine is suspended in Await.
};

}  // namespace sluice::fabric
