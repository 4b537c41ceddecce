// SPDX-License-Identifier: BSD-3-Clause
//
// The swap among N parties: all transitions of the keeper, which is the party that collects the
// other parties' (the members') offers and decides. A member is an unchanged two-message initiator
// (table.h) that makes one standing offer per round. The keeper does not answer any offer for a
// round before it has stored the round's outcome in its record. This store is the only commit
// point.
//
// No timer decides an outcome. The group does not progress without all of its parties: a round
// waits for each party that has neither joined nor withdrawn (docs/swap.md describes each case).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::swap {

enum class KeeperState : uint8_t {
  kApart,      ///< The round is open, and the keeper's own application has not joined it yet.
  kGather,     ///< The keeper's application has joined, but at least one member's offer is missing.
  kCommitted,  ///< The record contains the commit, but at least one member's line does not.
  kRejected,   ///< Like kCommitted, for a rejected round.
};
inline constexpr size_t kKeeperStates = 4;

enum class KeeperInput : uint8_t {
  kJoin,       ///< The keeper's application offers its part.
  kLeave,      ///< The keeper's application refuses the round.
  kComplete,   ///< The offers of all members are known.
  kWithdrawn,  ///< A member cancelled its offer.
  kAnswered,   ///< The lines to all members contain the outcome.
  kExpired,    ///< No progress was made within the window.
};
inline constexpr size_t kKeeperInputs = 6;

enum class KeeperAction : uint8_t {
  kIgnore,
  kWait,     ///< Store the part of the keeper's application.
  kCommit,   ///< The commit point: store the record with all parts, report, answer the members.
  kReject,   ///< Store the record, report, then answer the members. No part changes owner.
  kTooLate,  ///< The round has committed, so a cancelled offer is answered as if it had not been
             ///< cancelled.
  kClose,    ///< End the round and open the next one.
  kSuspect,  ///< Report that a party is late. The round is not changed.
};
inline constexpr size_t kKeeperActions = 7;

struct KeeperRow {
  KeeperState state;
  KeeperInput input;
  KeeperState next;
  KeeperAction action;
};

/// The keeper's part of the protocol. A state and input for which there is no row are ignored.
inline constexpr auto kKeeperRows = std::to_array<KeeperRow>({
    {KeeperState::kApart, KeeperInput::kJoin, KeeperState::kGather, KeeperAction::kWait},
    {KeeperState::kApart, KeeperInput::kLeave, KeeperState::kRejected, KeeperAction::kReject},
    {KeeperState::kApart, KeeperInput::kWithdrawn, KeeperState::kRejected, KeeperAction::kReject},
    {KeeperState::kGather, KeeperInput::kComplete, KeeperState::kCommitted, KeeperAction::kCommit},
    {KeeperState::kGather, KeeperInput::kLeave, KeeperState::kRejected, KeeperAction::kReject},
    {KeeperState::kGather, KeeperInput::kWithdrawn, KeeperState::kRejected, KeeperAction::kReject},
    {KeeperState::kGather, KeeperInput::kExpired, KeeperState::kGather, KeeperAction::kSuspect},
    {KeeperState::kCommitted, KeeperInput::kLeave, KeeperState::kCommitted, KeeperAction::kTooLate},
    {KeeperState::kCommitted, KeeperInput::kWithdrawn, KeeperState::kCommitted,
     KeeperAction::kTooLate},
    {KeeperState::kCommitted, KeeperInput::kAnswered, KeeperState::kApart, KeeperAction::kClose},
    {KeeperState::kRejected, KeeperInput::kAnswered, KeeperState::kApart, KeeperAction::kClose},
});

struct KeeperTransition {
  KeeperState next;
  KeeperAction action;
};

/// The rows as a lookup table. Tests derive faulty tables from it.
class KeeperMachine {
 public:
  template <size_t N>
  constexpr explicit KeeperMachine(const std::array<KeeperRow, N>& rows) {
    for (size_t state = 0; state < kKeeperStates; ++state) {
      for (size_t input = 0; input < kKeeperInputs; ++input) {
        cells_[state][input] = {static_cast<KeeperState>(state), KeeperAction::kIgnore};
      }
    }
    for (const KeeperRow& row : rows) Set(row);
  }

  constexpr void Set(const KeeperRow& row) {
    cells_[static_cast<size_t>(row.state)][static_cast<size_t>(row.input)] = {row.next, row.action};
  }
  constexpr KeeperTransition Find(KeeperState state, KeeperInput input) const {
    return cells_[static_cast<size_t>(state)][static_cast<size_t>(input)];
  }

 private:
  std::array<std::array<KeeperTransition, kKeeperInputs>, kKeeperStates> cells_{};
};

inline constexpr KeeperMachine kKeeper(kKeeperRows);

}  // namespace sluice::swap
