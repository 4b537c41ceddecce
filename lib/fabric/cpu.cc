// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/cpu.h"

#include <utility>

namespace sluice::fabric {

void Cpu::Arrived() {
  if (on_arrival_ == nullptr) return;
  if (suspend_ != nullptr) return on_arrival_();
  arrived_ = true;
  Schedule();
}

void Cpu::Interrupted(uint32_t vector) {
  if (on_interrupt_ == nullptr) return;
  if (suspend_ != nullptr) return on_interrupt_(vector);
  interrupts_.push_back(vector);
  Schedule();
}

void Cpu::Schedule() {
  if (scheduled_ || occupied_ || (!arrived_ && interrupts_.empty())) return;
  scheduled_ = true;
  queue_->At(now(), [this] { Dispatch(); });
}

void Cpu::Dispatch() {
  scheduled_ = false;
  if (occupied_) return;  // Dispatch is scheduled again when the agent ends.
  if (clock_ > queue_->now()) return Schedule();
  occupied_ = true;
  if (!interrupts_.empty()) {
    const uint32_t vector = interrupts_.front();
    interrupts_.pop_front();
    on_interrupt_(vector);
  } else {
    arrived_ = false;
    on_arrival_();
  }
  occupied_ = false;
  Schedule();
}

void Cpu::CatchUp() {
  if (suspend_ == nullptr) {
    if (!queue_->running()) queue_->RunUntil(clock_);
  } else if (clock_ > queue_->now()) {
    queue_->At(clock_, resume_);
    suspend_();
  }
}

void Cpu::Awaited() {
  if (std::exchange(awaiting_, false)) resume_();
}

void Cpu::Await(const bool& done) {
  if (suspend_ != nullptr) {
    while (!done) {  // Other reads (prefetches) may end first and resume the coroutine.
      awaiting_ = true;
      suspend_();
    }
    StallUntil(queue_->now());
    return CatchUp();
  }
  const bool was_occupied = std::exchange(occupied_, true);
  while (!done && queue_->Step()) {
  }
  StallUntil(queue_->now());
  occupied_ = was_occupied;
  Schedule();
}

}  // namespace sluice::fabric
