// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between a host, which enforces, and agents on a NIC, which decide: events to the NIC,
// decisions to the host, outcomes to the NIC. A channel treats each as 40 opaque bytes, so
// scheduling, memory tiering and steering use the same two channels: Wave's one-way queues with
// transactions (wave_host.h, wave_nic.h), and swaps (swap_host.h, swap_nic.h).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

namespace sluice::offload {

/// The part of a line that is free for content in both channels: 40 bytes.
struct Item {
  std::array<uint64_t, 5> word{};

  friend bool operator==(const Item&, const Item&) = default;
};

/// An object of the host that accepts one decision at a time: a CPU of a scheduler, a batch of
/// pages. Numbered from 0.
using Slot = uint32_t;

/// The host's answer to a decision.
enum class Ruling : uint8_t {
  kEnforce,  ///< The decision is valid and is enforced now.
  kRefuse,   ///< The state on which the decision is based has changed.
  kLater,    ///< Not decidable yet; for example, a prestaged decision before schedule() is called.
};

/// Result of a decision, or kNone while it is pending.
enum class Decided : uint8_t { kNone, kEnforced, kRefused };

/// The host's state, which accepts or rejects decisions.
template <typename J>
concept Judge = requires(J judge, Slot slot, const Item& decision, Item& outcome) {
  /// Returns the ruling and fills in `outcome` with the current state. Changes nothing. May be
  /// called repeatedly for one decision.
  { judge.Check(slot, decision, outcome) } -> std::same_as<Ruling>;
  /// Enforces the decision directly after Check returned kEnforce for it.
  {judge.Apply(slot, decision)};
};

/// Rules on a decision that was recalled before the host enforced it: always a refusal. A judge may
/// define the outcome with `void Recalled(slot, decision, outcome)`; otherwise the outcome is the
/// state that Check() returns.
template <typename J>
Ruling RuleRecalled(J& judge, Slot slot, const Item& decision, Item& outcome) {
  if constexpr (requires { judge.Recalled(slot, decision, outcome); }) {
    judge.Recalled(slot, decision, outcome);
  } else {
    judge.Check(slot, decision, outcome);
  }
  return Ruling::kRefuse;
}

/// Time at which the host reads a decision.
enum class Urgency : uint8_t {
  kPrestaged,  ///< The host reads it at its next poll.
  kInterrupt,  ///< The host is interrupted and reads it at once.
};

/// The host's end of a channel. Used by one thread at a time. It detects agents only in
/// PollRestart(): until that function has returned true once, Send fails and no decisions exist.
template <typename C>
concept HostChannel = requires(C channel, Slot slot, const Item& item, Item& out) {
  /// Sends an event. Events are delivered in order. Returns false if space or an agent is lacking;
  /// the loss is counted, and the agent must then obtain the state again (NicChannel::PollLoss).
  { channel.Send(item) } -> std::same_as<bool>;
  /// Sends an event that requests a decision for `slot`. Returns as Send. On a channel of swaps
  /// that has asks (SwapLayout::asks), the event is a swap of `slot`, unless the slot's previous
  /// swap is unresolved.
  { channel.Ask(slot, item) } -> std::same_as<bool>;
  /// Returns the number of events that Send accepts now (Ask may use one of them). May read the
  /// agent's progress.
  { channel.room() } -> std::convertible_to<uint32_t>;
  /// Counts an event as lost that the host does not send: the agent must obtain the state again.
  {channel.Lose()};
  /// Transmits all sent events. Call it once per batch.
  {channel.Flush()};
  /// Prefetches the decision of `slot` if reading it is slow.
  {channel.Prefetch(slot)};
  /// Reads the pending decision of `slot` without ruling on it. Returns false if none is pending,
  /// or if it was recalled; Decide ends a recalled decision.
  { channel.Look(slot, out) } -> std::same_as<bool>;
  /// Returns true once after a new agent appeared, or the agent requested a restart: the host must
  /// send it every live task.
  { channel.PollRestart() } -> std::same_as<bool>;
  /// Returns the number of events that were lost because space or an agent was lacking, or by
  /// Lose().
  { channel.overflows() } -> std::convertible_to<uint64_t>;
  /// Returns the number of invalid writes of the peer, all of which were ignored.
  { channel.faults() } -> std::convertible_to<uint64_t>;
};
// A HostChannel also has `template <Judge J> Decided Decide(Slot slot, J& judge)`, which rules on
// the pending decision of `slot`, enforces it, and sends the outcome to the agent. A concept cannot
// contain templates.

/// The NIC's end of a channel. Used by one thread.
template <typename C>
concept NicChannel = requires(C channel, Slot slot, const Item& item, Item& out, Decided& how) {
  /// Receives the oldest event. Returns false if none exists.
  { channel.Receive(out) } -> std::same_as<bool>;
  /// Returns true once after events or the host's memory were lost: the agent's knowledge may be
  /// wrong. If the host's memory was lost, earlier decisions get no outcome.
  { channel.PollLoss() } -> std::same_as<bool>;
  /// Requests every live task from the host (HostChannel::PollRestart).
  {channel.RequestRestart()};
  /// Returns whether a decision for `slot` may be committed: the previous one has ended.
  { channel.CanCommit(slot) } -> std::same_as<bool>;
  /// Publishes a decision. Requires CanCommit(slot).
  {channel.Commit(slot, item, Urgency::kInterrupt)};
  /// Requests the decision back, with an interrupt. The outcome shows whether the request was in
  /// time. Returns false if the decision does not exist or cannot be recalled, like the answer to
  /// an ask in swap_nic.h.
  { channel.Recall(slot) } -> std::same_as<bool>;
  /// Returns the result of the last decision of `slot`, and the host's state at that time: exactly
  /// once for each Commit, unless the host lost its memory. Returns false while it is pending. A
  /// decision that was recalled before the host enforced it ends as kRefused.
  { channel.PollOutcome(slot, out, how) } -> std::same_as<bool>;
  { channel.faults() } -> std::convertible_to<uint64_t>;
};

}  // namespace sluice::offload
