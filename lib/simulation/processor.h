// SPDX-License-Identifier: BSD-3-Clause
//
// A processor of virtual time as a fibre: its program is straight-line code over a window whose
// operations block, and sees every memory exactly at the time of its clock. While it waits, the
// other processors run.
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

/// Takes over the waiting of `cpu`, an end of a window (its OnArrival and OnInterrupt, too). Both
/// and the queue outlive it; the queue does not run any more when it goes. A program that has not
/// returned by then is unwound.
class Processor {
 public:
  static constexpr Picoseconds kForever = ~Picoseconds{0};
  static constexpr size_t kStackBytes = 64 * 1024;

  Processor(fabric::EventQueue& queue, fabric::Cpu& cpu);
  ~Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  /// Runs `program` from the queue's present time on.
  void Start(std::function<void()> program);
  bool finished() const { return finished_; }

  Picoseconds now() const { return cpu_->now(); }
  /// Called by every resumption before the program goes on.
  void OnResume(std::function<void()> hook) { on_resume_ = std::move(hook); }

  // For the program:

  /// Works for `duration`, whatever arrives.
  void Compute(Picoseconds duration);
  /// Lets the time pass that operations cost which do not wait for themselves (posts).
  void CatchUp() { cpu_->CatchUp(); }
  /// Goes on at `until`, or as soon as a signal is there, or the arrival of a line. True: one of
  /// these; they are taken.
  bool Wait(Picoseconds until = kForever);
  /// As Wait, by a processor that does not watch its lines: arrivals are left for the next Wait.
  bool WaitForSignal(Picoseconds until = kForever);

  // For everybody else:

  /// An interrupt, or somebody wants something.
  void Signal();

 private:
  void Arrived();
  bool TakeNews();
  bool WaitFor(bool arrivals, Picoseconds until);
  void Wake();
  /// Thrown at a program that is to be unwound.
  struct Ending {};

  void Suspend();
  void Resume();

  fabric::EventQueue* queue_;
  fabric::Cpu* cpu_;
  std::function<void()> on_resume_;
  boost::context::fiber fiber_;   ///< The program, while it is suspended.
  boost::context::fiber caller_;  ///< Who resumed it, while it runs.
  uint64_t waits_ = 0;            ///< Tells a time-out of an earlier wait.
  bool signalled_ = false;
  bool arrived_ = false;
  bool watching_ = false;  ///< The present wait is for arrivals, too.
  bool waiting_ = false;
  bool finished_ = true;
  bool ending_ = false;

  /// A stack, as AddressSanitizer has to be told of it.
  struct Stack {
    const void* bottom = nullptr;
    size_t bytes = 0;
  };
  Stack stack_;
  Stack caller_stack_;
};

}  // namespace sluice::simulation
