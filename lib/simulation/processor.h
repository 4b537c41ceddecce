// SPDX-License-Identifier: BSD-3-Clause
//
// A processor in virtual time, as a fibre. Its program is sequential code with blocking operations
// on a window. The program sees all memory as it is at the time of the processor's clock. While the
// program waits, the other processors run.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <optional>

#include "fabric/cpu.h"
#include "fabric/event_queue.h"
#include "fabric/picoseconds.h"

namespace sluice::simulation {

using fabric::Picoseconds;

/// Runs one program on `cpu`, an end of a window, and waits in virtual time when the program waits.
/// Sets the OnArrival and OnInterrupt agents of `cpu`. `cpu` and the queue must outlive this
/// object, and the queue must not be running when the object is destroyed. The destructor unwinds a
/// program that has not returned.
class Processor {
 public:
  static constexpr Picoseconds kForever = ~Picoseconds{0};
  static constexpr size_t kStackBytes = 64 * 1024;

  Processor(fabric::EventQueue& queue, fabric::Cpu& cpu);
  ~Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  /// Starts `program` at the queue's current time.
  void Start(std::function<void()> program);
  bool finished() const { return finished_; }

  Picoseconds now() const { return cpu_->now(); }
  /// Called at every resumption, before the program continues.
  void OnResume(std::function<void()> hook) { on_resume_ = std::move(hook); }

  // Only the program may call the following functions.

  /// Advances time by `duration`, without interruption by arrivals or signals.
  void Compute(Picoseconds duration);
  /// Waits until the time taken by non-blocking operations (posts) has passed.
  void CatchUp() { cpu_->CatchUp(); }
  /// Waits until the time `until`, a signal, or the arrival of a line. If there was a signal or an
  /// arrival, clears both flags and returns true.
  bool Wait(Picoseconds until = kForever);
  /// Like Wait, for a processor that does not watch its lines: arrivals stay pending for the next
  /// Wait.
  bool WaitForSignal(Picoseconds until = kForever);

  // All other code may use only the following functions.

  /// Wakes the processor because of an interrupt or a request by another component.
  void Signal();

 private:
  void Arrived();
  bool PollNews();
  bool WaitFor(bool arrivals, Picoseconds until);
  void Wake();
  /// Thrown into a program to unwind it.
  struct Ending {};

  void Suspend();
  void Resume();

  fabric::EventQueue* queue_;
  fabric::Cpu* cpu_;
  std::function<void()> on_resume_;
  boost::context::fiber fiber_;   ///< The program while it is suspended.
  boost::context::fiber caller_;  ///< The context that resumed the program.
  uint64_t waits_ = 0;            ///< Number of waits, which identifies time-outs of earlier waits.
  bool signalled_ = false;
  bool arrived_ = false;
  bool watching_ = false;  ///< Whether arrivals also end the current wait.
  bool waiting_ = false;
  bool finished_ = true;
  bool ending_ = false;

  /// Bounds of a stack, for AddressSanitizer.
  struct Stack {
    const void* bottom = nullptr;
    size_t bytes = 0;
  };
  Stack stack_;
  Stack caller_stack_;
};

}  // namespace sluice::simulation
