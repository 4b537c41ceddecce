// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/handoffs.h"

namespace sluice::c_api {

void HandoffList::Put(Handoff* handoff) {
  const std::scoped_lock lock(mutex_);
  if (first_ != 0 && handoffs_.size() == handoffs_.capacity()) {
    handoffs_.erase(handoffs_.begin(), handoffs_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  handoffs_.push_back(handoff);
  size_.store(handoffs_.size() - first_, std::memory_order_release);
}

HandoffList::Handoff* HandoffList::Dequeue() {
  if (size_.load(std::memory_order_acquire) == 0) return nullptr;
  const std::scoped_lock lock(mutex_);
  if (first_ == handoffs_.size()) return nullptr;
  Handoff* const handoff = handoffs_[first_++];
  if (first_ == handoffs_.size()) {
    handoffs_.clear();
    first_ = 0;
  }
  size_.store(handoffs_.size() - first_, std::memory_order_release);
  return handoff;
}

Handoffs::Handoffs(uint32_t workers)
    : entries_(workers > 1 ? size_t{workers} * kPerWorker : 0), free_(entries_.size()) {
  for (uint32_t i = 0; i < workers; ++i) inboxes_.emplace_back(entries_.size());
  for (engine::kv::Handoff& handoff : entries_) free_.Put(&handoff);
}

}  // namespace sluice::c_api
