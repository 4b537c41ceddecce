// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC's end of a channel; the test acts as its peer. The test determines the messages to the
// agent, their order, and the outcome of each decision, so that every order of messages and
// outcomes is possible.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "engine/sched/abi.h"
#include "offload/item.h"

namespace sluice::engine::sched::test {

class ScriptedChannel {
 public:
  // Methods of a NicChannel.
  bool Receive(offload::Item& out) {
    if (events.empty()) return false;
    out = events.front();
    events.pop_front();
    return true;
  }
  bool PollLoss() { return std::exchange(loss, false); }
  void RequestRestart() { ++restarts; }
  bool CanCommit(offload::Slot slot) const { return !slots_[slot].decision; }
  void Commit(offload::Slot slot, const offload::Item& item, offload::Urgency urgency) {
    ASSERT_TRUE(CanCommit(slot)) << "a decision over an unresolved one";
    slots_[slot] = {.decision = DecodeTransaction(item), .urgency = urgency};
    ++commits;
  }
  bool Recall(offload::Slot slot) {
    if (!slots_[slot].decision || slots_[slot].outcome) return false;
    EXPECT_FALSE(std::exchange(slots_[slot].recalled, true)) << "recalled twice";
    return true;
  }
  bool PollOutcome(offload::Slot slot, offload::Item& out, offload::Decided& how) {
    if (!slots_[slot].outcome) return false;
    out = Encode(*slots_[slot].outcome);
    how = slots_[slot].how;
    slots_[slot] = {};
    return true;
  }
  uint64_t faults() const { return 0; }

  // Methods for the test.
  void SendMessage(const Message& message) { events.push_back(Encode(message)); }
  /// Returns the task of the pending decision. Returns kNoTask if no decision is pending, or if the
  /// decision does not assign a task.
  Gtid Decision(offload::Slot slot) const {
    return slots_[slot].decision ? slots_[slot].decision->gtid : kNoTask;
  }
  const std::optional<Transaction>& transaction(offload::Slot slot) const {
    return slots_[slot].decision;
  }
  bool Interrupts(offload::Slot slot) const {
    return slots_[slot].decision && slots_[slot].urgency == offload::Urgency::kInterrupt;
  }
  bool Prestaged(offload::Slot slot) const {
    return slots_[slot].decision && slots_[slot].urgency == offload::Urgency::kPrestaged &&
           (slots_[slot].decision->commit_flags & kCommitAtSchedule) != 0;
  }
  bool Recalled(offload::Slot slot) const { return slots_[slot].recalled; }
  void Enforce(offload::Slot slot) {
    ASSERT_TRUE(slots_[slot].decision);
    End(slot, offload::Decided::kEnforced,
        {.task_barrier = slots_[slot].decision->task_barrier,
         .task_flags = kStatusInUse | kStatusRunnable,
         .gtid = slots_[slot].decision->gtid});
  }
  void Refuse(offload::Slot slot, Status status, uint32_t barrier,
              uint32_t flags = kStatusInUse | kStatusRunnable) {
    ASSERT_TRUE(slots_[slot].decision);
    End(slot, offload::Decided::kRefused,
        {.status = status,
         .task_barrier = barrier,
         .task_flags = flags,
         .gtid = slots_[slot].decision->gtid});
  }
  /// Simulates that the host loses its state.
  void Forget() {
    events.clear();
    slots_.fill({});
    loss = true;
  }

  std::deque<offload::Item> events;
  bool loss = false;
  int restarts = 0;
  int commits = 0;

 private:
  struct SlotState {
    std::optional<Transaction> decision{};
    offload::Urgency urgency{};
    bool recalled = false;
    std::optional<Outcome> outcome{};
    offload::Decided how{};
  };
  void End(offload::Slot slot, offload::Decided how, const Outcome& outcome) {
    slots_[slot].outcome = outcome;
    slots_[slot].how = how;
  }

  std::array<SlotState, kMaxCpus> slots_;
};
static_assert(offload::NicChannel<ScriptedChannel>);

}  // namespace sluice::engine::sched::test
