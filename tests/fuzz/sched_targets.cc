// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "check.h"
#include "choices.h"
#include "engine/sched/agent.h"
#include "engine/sched/policies/all.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using namespace engine::sched;

constexpr CpuId kCpus = 3;

/// A host that sends the messages of the input.
class AnyHost {
 public:
  bool Receive(offload::Item& out) {
    if (events.empty()) return false;
    out = events.front();
    events.pop_front();
    return true;
  }
  bool PollLoss() { return std::exchange(loss, false); }
  void RequestRestart() {}
  bool CanCommit(offload::Slot slot) const { return !slots[slot].decision; }
  void Commit(offload::Slot slot, const offload::Item& item, offload::Urgency urgency) {
    FUZZ_CHECK(slot < kCpus && !slots[slot].decision);
    const Transaction transaction = DecodeTransaction(item);
    FUZZ_CHECK(transaction.version == kAbiVersion && transaction.cpu == slot);
    FUZZ_CHECK(transaction.gtid >= kNoTask);
    FUZZ_CHECK(transaction.commit_flags ==
               (urgency == offload::Urgency::kPrestaged ? kCommitAtSchedule : 0));
    slots[slot].decision = transaction;
  }
  bool Recall(offload::Slot slot) { return slots[slot].decision && !slots[slot].outcome; }
  bool PollOutcome(offload::Slot slot, offload::Item& out, offload::Decided& how) {
    if (!slots[slot].outcome) return false;
    out = *slots[slot].outcome;
    how = slots[slot].how;
    slots[slot] = {};
    return true;
  }
  uint64_t faults() const { return 0; }

  struct SlotState {
    std::optional<Transaction> decision{};
    std::optional<offload::Item> outcome{};
    offload::Decided how = offload::Decided::kNone;
  };
  std::deque<offload::Item> events;
  std::array<SlotState, kCpus> slots;
  bool loss = false;
};

offload::Item AnyItem(Choices& choices) {
  offload::Item item;
  const auto bytes = choices.Consume(sizeof item.word);
  std::memcpy(item.word.data(), bytes.data(), bytes.size());
  return item;
}
/// Returns a message that is likely to be valid.
Message PlausibleMessage(Choices& choices) {
  Message message{.type = static_cast<MessageType>(choices.Byte()),
                  .cpu = choices.Byte(),
                  .seqnum = choices.Byte(),
                  .gtid = choices.Byte() % 8,
                  .flags = choices.Byte()};
  message.task_class = message.flags >> 5;
  message.group = message.task_class;
  message.runtime = uint64_t{message.seqnum} << message.flags % 64;
  message.affinity = message.flags | 1u;
  return message;
}

void End(AnyHost::SlotState& slot, Choices& choices) {
  const uint8_t choice = choices.Byte();
  slot.how = choice % 2 == 0 ? offload::Decided::kEnforced : offload::Decided::kRefused;
  if (choice >= 0xf0) {
    slot.outcome = AnyItem(choices);
    return;
  }
  slot.outcome =
      Encode(Outcome{.status = static_cast<Status>(INT_MIN + choice / 2 % (kStatuses + 1)),
                     .task_barrier = slot.decision->task_barrier + choices.Byte() % 4,
                     .task_flags = choices.Byte(),
                     .gtid = slot.decision->gtid});
}

}  // namespace

void SchedAgent(const uint8_t* data, size_t size) {
  Choices choices(data, size);
  const auto name = kPolicyNames[choices.Byte() % kPolicyNames.size()];
  VisitPolicy(name, {.cpus = kCpus}, [&](auto policy) {
    AnyHost host;
    Agent agent(std::move(policy), host,
                AgentOptions{.cpus = kCpus, .max_tasks = 5, .prestage = true});
    Nanoseconds now = 0;
    while (!choices.empty()) {
      const uint8_t what = choices.Byte();
      auto& slot = host.slots[what / 8 % kCpus];
      switch (what % 8) {
        case 0:
          host.events.push_back(AnyItem(choices));
          break;
        case 1:
        case 2:
        case 3:
          host.events.push_back(Encode(PlausibleMessage(choices)));
          break;
        case 4:
        case 5:
          if (slot.decision && !slot.outcome) End(slot, choices);
          break;
        case 6:
          host.loss = what >= 0x80;
          break;
        default:
          now += uint64_t{1} << what / 8;
          break;
      }
      agent.Step(now);
      FUZZ_CHECK(agent.Violation() == nullptr);
      FUZZ_CHECK(agent.tasks() <= 5);
    }
  });
}

}  // namespace sluice::fuzz
