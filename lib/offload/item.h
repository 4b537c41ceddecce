// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between agents on a NIC, which make decisions, and a host, which enforces them: events
// to the NIC, decisions to the host, and outcomes to the NIC. A channel treats each message as 40
// opaque bytes, so scheduling, memory tiering and steering can use the same two kinds of channel:
// Wave's one-way queues with transactions (wave_host.h, wave_nic.h), and swaps (swap_host.h,
// swap_nic.h).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

namespace sluice::offload {

/// The 40 bytes of a line that both kinds of channel leave free for content.
struct Item {
  std::array<uint64_t, 5> word{};

  friend bool operator==(const Item&, const Item&) = default;
};

/// A host object that accepts one decision at a time, such as a CPU in a scheduler or a batch of
/// pages. Slots are numbered from 0.
using Slot = uint32_t;

/// The host's answer to a decision.
enum class Ruling : uint8_t {
  kEnforce,  ///< The decision is valid and is enforced now.
  kRefuse,   ///< The state that the decision is based on has changed.
  kLater,    ///< Not decidable yet, such as a prestaged decision before schedule() is called.
};

/// Result of a decision, or kNone while it is pending.
enum class Decided : uint8_t { kNone, kEnforced, kRefused };

/// The host's state, which accepts or rejects decisions.
template <typename J>
concept Judge = requires(J judge, Slot slot, const Item& decision, Item& outcome) {
  /// Returns the ruling and fills in `outcome` with the current state. Must not change the state.
  /// May be called repeatedly for one decision. Exception: a judge whose state changes concurrently
  /// may enforce the decision here, in one step with the check, if it returns kEnforce.
  { judge.Check(slot, decision, outcome) } -> std::same_as<Ruling>;
  /// Enforces the decision. Called immediately after Check has returned kEnforce for it.
  {judge.Apply(slot, decision)};
};

/// Returns the ruling on a decision that was recalled before the host enforced it, which is always
/// a refusal. A judge can set the outcome in `void Recalled(slot, decision, outcome)`; otherwise
/// the outcome is the state from Check().
template <typename J>
Ruling RuleRecalled(J& judge, Slot slot, const Item& decision, Item& outcome) {
  if constexpr (requires { judge.Recalled(slot, decision, outcome); }) {
    judge.Recalled(slot, decision, outcome);
  } else {
    judge.Check(slot, decision, outcome);
  }
  return Ruling::kRefuse;
}

/// When the host reads a decision.
enum class Urgency : uint8_t {
  kPrestaged,  ///< The host reads it at its next poll.
  kInterrupt,  ///< The host is interrupted and reads it at once.
};

/// The host's end of a channel. Used by one thread at a time. Only PollRestart() detects agents:
/// until it has returned true once, Send fails and no decisions exist.
template <typename C>
concept HostChannel = requires(C channel, Slot slot, const Item& item, Item& out) {
  /// Sends an event. Events are delivered in order. Returns false if there is no space or no agent.
  /// The loss is counted, and the agent must then request the state again (NicChannel::PollLoss).
  { channel.Send(item) } -> std::same_as<bool>;
  /// Sends an event that requests a decision for `slot`. Returns the same as Send. On a swap
  /// channel with asks (SwapLayout::asks), the event is a swap for `slot`, unless the slot's
  /// previous swap is unresolved.
  { channel.Ask(slot, item) } -> std::same_as<bool>;
  /// Returns the number of events that Send accepts now (Ask may use one of them). May read the
  /// agent's progress.
  { channel.room() } -> std::convertible_to<uint32_t>;
  /// Counts an event as lost that the host did not send, so that the agent requests the state
  /// again.
  {channel.Lose()};
  /// Transmits all sent events. Call it once per batch.
  {channel.Flush()};
  /// Prefetches the decision for `slot` if reading it is slow.
  {channel.Prefetch(slot)};
  /// Reads the pending decision for `slot` without ruling on it. Returns false if none is pending
  /// or it was recalled. Decide ends a recalled decision.
  { channel.Look(slot, out) } -> std::same_as<bool>;
  /// Returns true once after a new agent appeared or the agent requested a restart. The host must
  /// then send every live task to the agent.
  { channel.PollRestart() } -> std::same_as<bool>;
  /// Returns the number of events lost because there was no space or no agent, or through Lose().
  { channel.overflows() } -> std::convertible_to<uint64_t>;
  /// Returns the number of invalid writes by the peer, all of which were ignored.
  { channel.faults() } -> std::convertible_to<uint64_t>;
};
// A HostChannel must also have `template <Judge J> Decided Decide(Slot slot, J& judge)`, which
// rules on the pending decision for `slot`, enforces it, and sends the outcome to the agent. A
// concept cannot require a template.

/// The NIC's end of a channel. Used by one thread.
template <typename C>
concept NicChannel = requires(C channel, Slot slot, const Item& item, Item& out, Decided& how) {
  /// Receives the oldest event. Returns false if none exists.
  { channel.Receive(out) } -> std::same_as<bool>;
  /// Returns true once after events or the host's memory were lost, because the agent's knowledge
  /// may be wrong. If the host's memory was lost, earlier decisions get no outcome.
  { channel.PollLoss() } -> std::same_as<bool>;
  /// Asks the host to send every live task (HostChannel::PollRestart).
  {channel.RequestRestart()};
  /// Returns whether a decision for `slot` may be committed, which requires that the previous one
  /// has ended.
  { channel.CanCommit(slot) } -> std::same_as<bool>;
  /// Publishes a decision. CanCommit(slot) must be true.
  {channel.Commit(slot, item, Urgency::kInterrupt)};
  /// Asks for the decision back, with an interrupt. The outcome shows whether the request was in
  /// time. Returns false if there is no decision, or if it cannot be recalled (such as the answer
  /// to an ask in swap_nic.h).
  { channel.Recall(slot) } -> std::same_as<bool>;
  /// Returns the result of the last decision for `slot` and the host's state at that time, exactly
  /// once per Commit unless the host lost its memory. Returns false while the result is pending. A
  /// decision that was recalled before the host enforced it ends as kRefused.
  { channel.PollOutcome(slot, out, how) } -> std::same_as<bool>;
  { channel.faults() } -> std::convertible_to<uint64_t>;
};

}  // namespace sluice::offload
