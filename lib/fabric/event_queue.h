// SPDX-License-Identifier: BSD-3-Clause
//
// What happens in virtual time, in order. Events of one instant happen in the order in
// which they were scheduled, so a run depends on nothing but its inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fabric/picoseconds.h"

namespace sluice::fabric {

/// One thread. Actions may schedule further events, and may run the queue themselves
/// (Step) while they wait for one.
class EventQueue {
 public:
  using Action = std::function<void()>;

  /// The time of the newest event that began.
  Picoseconds now() const { return now_; }
  /// Schedules `action` at `time`; in the past means now.
  void At(Picoseconds time, Action action);
  void After(Picoseconds delay, Action action) { At(now_ + delay, std::move(action)); }

  /// Runs the next event. False: there is none.
  bool Step();
  /// Runs every event up to and including `time`, and lets time pass until then.
  void RunUntil(Picoseconds time);
  /// Runs until nothing is scheduled.
  void Run();

  bool empty() const { return events_.empty(); }
  /// An action is being run.
  bool running() const { return depth_ != 0; }
  uint64_t executed() const { return executed_; }

 private:
  struct Event {
    Picoseconds time;
    uint64_t sequence;
    Action action;
  };
  /// Heap order: the earliest on top.
  static bool Later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }

  std::vector<Event> events_;
  Picoseconds now_ = 0;
  uint64_t scheduled_ = 0;
  uint64_t executed_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace sluice::fabric
