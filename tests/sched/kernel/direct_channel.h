// SPDX-License-Identifier: BSD-3-Clause
//
// A channel without a window, for tests of code that uses a channel: both ends are in one object,
// and everything arrives immediately.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "engine/sched/abi.h"
#include "offload/item.h"

namespace sluice::engine::sched {

class DirectChannel {
 public:
  explicit DirectChannel(size_t depth = SIZE_MAX) : depth_(depth) {}

  // Methods of the host's end.
  bool Send(const offload::Item& item) {
    if (events.size() >= depth_) {
      ++overflows_;
      lost = true;
      return false;
    }
    events.push_back(DecodeMessage(item));
    return true;
  }
  bool Ask(offload::Slot slot, const offload::Item& item) {
    if (!Send(item)) return false;
    asked.push_back(slot);
    return true;
  }
  void Flush() {}
  void Lose() { lost = true; }
  void Prefetch(offload::Slot) {}
  bool Look(offload::Slot slot, offload::Item& out) {
    if (!slots_[slot].decision) return false;
    out = *slots_[slot].decision;
    return true;
  }
  bool PollRestart() { return std::exchange(restart, false); }
  uint64_t overflows() const { return overflows_; }
  uint64_t faults() const { return 0; }
  uint32_t room() const {
    return static_cast<uint32_t>(std::min<size_t>(depth_ - events.size(), UINT32_MAX));
  }
  template <offload::Judge J>
  offload::Decided Decide(offload::Slot slot, J& judge) {
    Place& place = slots_[slot];
    if (!place.decision) return offload::Decided::kNone;
    const offload::Item decision = *place.decision;
    offload::Item outcome;
    if (place.recalled) {
      judge.Recalled(slot, decision, outcome);
      place = {std::nullopt, DecodeOutcome(outcome), false};
      return offload::Decided::kRefused;
    }
    const offload::Ruling ruling = judge.Check(slot, decision, outcome);
    if (ruling == offload::Ruling::kLater) return offload::Decided::kNone;
    place = {std::nullopt, DecodeOutcome(outcome), false};
    if (ruling == offload::Ruling::kRefuse) return offload::Decided::kRefused;
    judge.Apply(slot, decision);
    return offload::Decided::kEnforced;
  }

  // Methods of the agent's end, which the test controls.
  void Commit(offload::Slot slot, const Transaction& transaction) {
    slots_[slot] = {Encode(transaction), std::nullopt, false};
  }
  void Recall(offload::Slot slot) { slots_[slot].recalled = true; }
  /// Returns the final status of the last decision for `slot`.
  std::optional<Status> Ended(offload::Slot slot) const {
    const auto& outcome = slots_[slot].outcome;
    return outcome ? std::optional(outcome->status) : std::nullopt;
  }
  const Outcome& outcome(offload::Slot slot) const { return *slots_[slot].outcome; }

  std::deque<Message> events;  ///< Messages that the agent has not received yet.
  std::vector<offload::Slot> asked;
  bool lost = false;
  bool restart = false;

 private:
  struct Place {
    std::optional<offload::Item> decision;
    std::optional<Outcome> outcome;
    bool recalled = false;
  };
  size_t depth_;
  uint64_t overflows_ = 0;
  std::array<Place, kMaxCpus> slots_;
};
static_assert(offload::HostChannel<DirectChannel>);

}  // namespace sluice::engine::sched
