// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/flow_ages.h"

#include <algorithm>

namespace sluice::device::ipu {

void FlowAges::Add(FlowUse& use, uint64_t cookie, uint64_t patience_ns, uint64_t now_ns) {
  use.age = static_cast<uint32_t>(rules_.size());
  rules_.push_back({&use, cookie, patience_ns, use.hits, now_ns, State::kYoung});
}

void FlowAges::Remove(FlowUse& use) {
  if (use.age == FlowUse::kAgeless) return;
  Rule& gap = rules_[use.age];
  SetState(gap, State::kYoung);
  gap = rules_.back();
  gap.use->age = use.age;
  use.age = FlowUse::kAgeless;
  rules_.pop_back();
}

void FlowAges::Clear() {
  rules_.clear();
  next_ = popped_ = untold_ = 0;
}

bool FlowAges::Look(uint64_t now_ns) {
  if (next_ >= rules_.size()) {
    if (now_ns < next_round_ns_) return false;
    next_round_ns_ = now_ns + kRound_ns;
    next_ = 0;
  }
  const bool told = untold_ != 0;
  const auto end = std::min<size_t>(next_ + kLookedAtOnce, rules_.size());
  for (; next_ < end; ++next_) {
    Rule& rule = rules_[next_];
    if (rule.use->hits != rule.hits) {
      rule.hits = rule.use->hits;
      rule.since_ns = now_ns;
      SetState(rule, State::kYoung);
    } else if (rule.state == State::kYoung && now_ns - rule.since_ns >= rule.patience_ns) {
      SetState(rule, State::kAged);
    }
  }
  return !told && untold_ != 0;
}

std::optional<uint64_t> FlowAges::Pop() {
  if (untold_ == 0) return std::nullopt;
  for (;; ++popped_) {
    if (popped_ >= rules_.size()) popped_ = 0;
    Rule& rule = rules_[popped_];
    if (rule.state != State::kAged) continue;
    SetState(rule, State::kTold);
    return rule.cookie;
  }
}

}  // namespace sluice::device::ipu
