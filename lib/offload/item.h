// SPDX-License-Identifier: BSD-3-Clause
//
// What travels between a host, which enforces, and agents on a NIC, which decide: events down,
// decisions up, outcomes down. To a channel each is 40 bytes that it does not look into, so
// scheduling, memory tiering and steering use the same two channels: Wave's one-way queues with
// transactions (wave_host.h, wave_nic.h), and swaps (swap_host.h, swap_nic.h).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

namespace sluice::offload {

/// 40 bytes: what fits a line beside what either channel needs of it.
struct Item {
  std::array<uint64_t, 5> word{};

  friend bool operator==(const Item&, const Item&) = default;
};

/// A place at the host that takes one decision at a time: a CPU of a scheduler, a batch of pages.
/// Numbered from 0.
using Slot = uint32_t;

/// What the host says to a decision.
enum class Ruling : uint8_t {
  kEnforce,  ///< It holds, and becomes true now.
  kRefuse,   ///< The state that it was made for is gone.
  kLater,    ///< It may hold, but this is not the moment for it (prestaged: not at schedule()).
};

/// How a decision ended, or that it has not.
enum class Decided : uint8_t { kNone, kEnforced, kRefused };

/// The host's truth, as a channel asks it.
template <typename J>
concept Judge = requires(J judge, Slot slot, const Item& decision, Item& outcome) {
  /// Rules, changes nothing, and fills in `outcome`: the state as it is, fresh. May be asked
  /// about one decision many times.
  { judge.Check(slot, decision, outcome) } -> std::same_as<Ruling>;
  /// Enforces what Check just answered kEnforce to; nothing came between.
  {judge.Apply(slot, decision)};
};

/// What a recalled decision is answered with, which the host had not taken: a refusal. A judge may
/// have a word of its own for it, `void Recalled(slot, decision, outcome)`; else the outcome is the
/// state as Check() describes it.
template <typename J>
Ruling RuleRecalled(J& judge, Slot slot, const Item& decision, Item& outcome) {
  if constexpr (requires { judge.Recalled(slot, decision, outcome); }) {
    judge.Recalled(slot, decision, outcome);
  } else {
    judge.Check(slot, decision, outcome);
  }
  return Ruling::kRefuse;
}

/// When the host looks at a decision.
enum class Urgency : uint8_t {
  kPrestaged,  ///< When it next looks for one by itself.
  kInterrupt,  ///< At once: the host is woken.
};

/// The host's end of a channel. One thread at a time. It meets agents in TakeRestart() alone:
/// before that was true once there is no room for any event and no decision.
template <typename C>
concept HostChannel = requires(C channel, Slot slot, const Item& item, Item& out) {
  /// An event. Nothing is delivered out of order. False: no room; counted, and the agent then has
  /// to learn the state again (NicChannel::TakeLoss).
  { channel.Send(item) } -> std::same_as<bool>;
  /// An event after which the host wants a decision for `slot`. As Send; a swap of `slot` where
  /// the channel is made of swaps and the last one is resolved.
  { channel.Ask(slot, item) } -> std::same_as<bool>;
  /// Events that Send certainly accepts now (Ask may take one of them). May look for progress of
  /// the agent.
  { channel.room() } -> std::convertible_to<uint32_t>;
  /// As an event that finds no room: what the host withholds, the agent has to learn again.
  {channel.Lose()};
  /// What was sent is on its way. Once for a batch of events.
  {channel.Flush()};
  /// Starts to fetch the decision of `slot`, where that is a fetch, and goes on.
  {channel.Prefetch(slot)};
  /// The decision that waits for `slot`, without ruling on it. False: none, or it was recalled;
  /// Decide then ends it.
  { channel.Look(slot, out) } -> std::same_as<bool>;
  /// True once after a new agent appeared, or the agent asked: it knows nothing, and is to be
  /// sent every live task.
  { channel.TakeRestart() } -> std::same_as<bool>;
  /// Events that found no room, or were withheld.
  { channel.overflows() } -> std::convertible_to<uint64_t>;
  /// Times that the peer wrote what cannot be; nothing of it was believed.
  { channel.faults() } -> std::convertible_to<uint64_t>;
};
// … and `template <Judge J> Decided Decide(Slot slot, J& judge)`: rules on what waits for `slot`,
// enforces, and tells the agent. Templates cannot stand in a concept.

/// The NIC's end. One thread.
template <typename C>
concept NicChannel = requires(C channel, Slot slot, const Item& item, Item& out, Decided& how) {
  /// The next event, oldest first. False: none.
  { channel.Receive(out) } -> std::same_as<bool>;
  /// True once after events were lost on the way, or the host's memory: whatever is known may be
  /// wrong. In the second case what was committed before ends without an outcome.
  { channel.TakeLoss() } -> std::same_as<bool>;
  /// Asks the host for every live task (HostChannel::TakeRestart).
  {channel.RequestRestart()};
  /// Whether a decision for `slot` may be committed: the last one has ended.
  { channel.CanCommit(slot) } -> std::same_as<bool>;
  /// Publishes a decision. Only if CanCommit(slot).
  {channel.Commit(slot, item, Urgency::kInterrupt)};
  /// Wants the decision back, and interrupts. Whether that came in time, only its outcome tells.
  /// False: there is none to recall, or none that can be (swap_nic.h: the answer to an ask).
  { channel.Recall(slot) } -> std::same_as<bool>;
  /// How the last decision of `slot` ended, and the host's state then. Exactly once for each
  /// Commit, unless the host lost its memory. False: not yet. A recalled decision that the host
  /// had not taken ends as kRefused.
  { channel.TakeOutcome(slot, out, how) } -> std::same_as<bool>;
  { channel.faults() } -> std::convertible_to<uint64_t>;
};

}  // namespace sluice::offload
