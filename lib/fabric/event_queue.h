// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the events of virtual time in order. Simultaneous events run in the order in which they were
// scheduled, so a run depends only on its inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fabric/picoseconds.h"

namespace sluice::fabric {

/// The pending events and the current time. Used by one thread. Actions may schedule further
/// events, and may call Step to wait for an event.
class EventQueue {
 public:
  using Action = std::function<void()>;

  /// Returns the time of the last started event.
  Picoseconds now() const { return now_; }
  /// Schedules `action` at `time`, or now if `time` is in the past.
  void At(Picoseconds time, Action action);
  void After(Picoseconds delay, Action action) { At(now_ + delay, std::move(action)); }

  /// Runs the next event. Returns false if the queue is empty.
  bool Step();
  /// Runs every event up to and including `time`, then advances the current time to `time`.
  void RunUntil(Picoseconds time);
  /// Runs until the queue is empty.
  void Run();

  bool empty() const { return events_.empty(); }
  /// Returns whether an action is running.
  bool running() const { return depth_ != 0; }
  uint64_t executed() const { return executed_; }

 private:
  struct Event {
    Picoseconds time;
    uint64_t sequence;
    Action action;
  };
  /// Heap order: the earliest event is on top.
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
