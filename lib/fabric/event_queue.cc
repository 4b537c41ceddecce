// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/event_queue.h"

#include <algorithm>
#include <utility>

namespace sluice::fabric {

void EventQueue::At(Picoseconds time, Action action) {
  events_.push_back({std::max(time, now_), scheduled_++, std::move(action)});
  std::push_heap(events_.begin(), events_.end(), Later);
}

bool EventQueue::Step() {
  if (events_.empty()) return false;
  std::pop_heap(events_.begin(), events_.end(), Later);
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_ = event.time;
  ++executed_;
  ++depth_;
  event.action();
  --depth_;
  return true;
}

void EventQueue::RunUntil(Picoseconds time) {
  while (!events_.empty() && events_.front().time <= time) Step();
  now_ = std::max(now_, time);
}

void EventQueue::Run() {
  while (Step()) {
  }
}

}  // namespace sluice::fabric
