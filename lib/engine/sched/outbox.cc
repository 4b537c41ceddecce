// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sched/outbox.h"

namespace sluice::engine::sched {

void Outbox::Collect(Kernel& kernel, CpuId asker) {
  const auto messages = kernel.messages();
  if (messages.empty()) return;
  if (kernel.agent()) {
    for (const Message& message : messages) items_.push_back({message, kNobody});
    items_.back().asker = asker;
  }
  kernel.ClearMessages();
}

void Outbox::Forget() {
  items_.clear();
  sent_ = 0;
  pace_ = Pace::kAtOnce;
}

bool Outbox::BeginSending() {
  being_sent_ = true;
  const bool too_many = items_.size() - sent_ > most_;
  if (too_many) pace_ = Pace::kAtOnce;
  return too_many;
}

void Outbox::ForgetSent() {
  if (sent_ == items_.size()) {
    Forget();
  } else if (sent_ > items_.size() / 2) {
    items_.erase(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(sent_));
    sent_ = 0;
  }
}

}  // namespace sluice::engine::sched
