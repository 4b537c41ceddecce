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
#include "engine/sched/agent.h"
#include "engine/sched/policies/all.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using namespace engine::sched;

constexpr CpuId kCpus = 3;

/// A host that says what the input says.
class AnyHost {
 public:
  bool Receive(offload::Item& out) {
    if (events.empty()) return false;
    out = events.front();
    events.pop_front();
    return true;
  }
  bool TakeLoss() { return std::exchange(loss, false); }
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
  bool TakeOutcome(offload::Slot slot, offload::Item& out, offload::Decided& how) {
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

/// Takes what the input says, until it is used up; 0 then.
class Script {
 public:
  explicit Script(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  offload::Item Item() {
    offload::Item item;
    const size_t size = std::min(sizeof item.word, bytes_.size());
    std::memcpy(item.word.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return item;
  }
  /// One that is likely to mean something.
  Message Plausible() {
    Message message{.type = static_cast<MessageType>(Byte()), .cpu = Byte(), .seqnum = Byte(),
                    .gtid = Byte() % 8, .flags = Byte()};
    message.task_class = message.flags >> 5;
    message.group = message.task_class;
    message.runtime = uint64_t{message.seqnum} << message.flags % 64;
    message.affinity = message.flags | 1u;
    return message;
  }

 private:
  std::span<const uint8_t> bytes_;
};

void End(AnyHost::SlotState& slot, Script& script) {
  const uint8_t choice = script.Byte();
  slot.how = choice % 2 == 0 ? offload::Decided::kEnforced : offload::Decided::kRefused;
  if (choice >= 0xf0) {
    slot.outcome = script.Item();
    return;
  }
  slot.outcome = Encode(Outcome{
      .status = static_cast<Status>(INT_MIN + choice / 2 % (kStatuses + 1)),
      .task_barrier = slot.decision->task_barrier + script.Byte() % 4,
      .task_flags = script.Byte(),
      .gtid = slot.decision->gtid});
}

}  // namespace

void SchedAgent(const uint8_t* data, size_t size) {
  Script script({data, size});
  const auto name = kPolicyNames[script.Byte() % kPolicyNames.size()];
  VisitPolicy(name, {.cpus = kCpus}, [&](auto policy) {
    AnyHost host;
    Agent agent(std::move(policy), host,
                AgentOptions{.cpus = kCpus, .max_tasks = 5, .prestage = true});
    Nanoseconds now = 0;
    while (!script.empty()) {
      const uint8_t what = script.Byte();
      auto& slot = host.slots[what / 8 % kCpus];
      switch (what % 8) {
        case 0: host.events.push_back(script.Item()); break;
        case 1:
        case 2:
        case 3: host.events.push_back(Encode(script.Plausible())); break;
        case 4:
        case 5:
          if (slot.decision && !slot.outcome) End(slot, script);
          break;
        case 6: host.loss = what >= 0x80; break;
        default: now += uint64_t{1} << what / 8; break;
      }
      agent.Step(now);
      FUZZ_CHECK(agent.Violation() == nullptr);
      FUZZ_CHECK(agent.tasks() <= 5);
    }
  });
}

}  // namespace sluice::fuzz
