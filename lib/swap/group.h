// SPDX-License-Identifier: BSD-3-Clause
//
// A swap among N parties: party 0 is the keeper, and parties 1 … N − 1 are its members. In a round
// that commits, party p receives the part of party p − 1, and the keeper receives the part of the
// last member. In a round that is rejected, each party keeps its part. With N = 2, this is the
// two-message swap.
//
// Inputs and outputs are lines, records and results. Like initiator.h, this file uses neither a
// clock nor shared memory. group_table.h contains the transitions.
//
// Memory that must survive a kill of the keeper's process: its record and its lines. Each call of
// Join, Leave or Hear changes at most the record and one line. Before the next call, the caller
// must store record() if ConsumeRecord() returns true (first the parts, then the round's number and
// outcome as one word), and then post the line if ConsumeUpdate() returns true. A keeper that is
// resumed from this memory continues the round. Until then, all members with an offer are in doubt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "swap/group_table.h"
#include "swap/initiator.h"
#include "swap/responder.h"

namespace sluice::swap {

/// Returns a member's offer for `round`. The next round after a result is Result::key + 1. A result
/// with the flag kConflict means that the offer was not part of a round: either its number was
/// wrong, or the round committed with the part of an earlier incarnation of the member.
inline Offer JoinRound(uint64_t round, const Payload& part) {
  return {.key = round, .payload = part, .standing = true};
}

/// Outcome of a round as the keeper sees it.
struct Round {
  uint64_t number;
  bool committed;
  Payload given;  ///< The part of the last member; only if committed.
};

/// The keeper's memory of the last decided round.
struct KeeperRecord {
  uint32_t incarnation = 0;  ///< Incarnation of the keeper that stored the record.
  struct Part {
    uint32_t incarnation = 0;  ///< Incarnation of the member whose offer was part of the round.
    Payload given{};           ///< The part that the member receives.
  };
  Round round{};  ///< Number 0: no round was decided.
  /// One element per member. Only meaningful if the round committed.
  std::vector<Part> parts;
};

class Keeper {
 public:
  /// Starts without memory. `table` must outlive the keeper, and `incarnation` must not be 0.
  Keeper(const KeeperMachine& table, size_t members, uint16_t epoch, uint32_t incarnation);
  /// Returns whether a keeper can continue from memory that has survived: its record, and its line
  /// to each member. If not, it must start without memory and with a new incarnation.
  static bool CanResume(const KeeperRecord& record, std::span<const Message> lines);
  /// Continues from memory that has survived; CanResume(record, lines) must be true. The keeper's
  /// application must join the open round again, and must apply record().round unless it has
  /// already done so.
  static Keeper Resume(const KeeperMachine& table, uint16_t epoch, const KeeperRecord& record,
                       std::span<const Message> lines);

  // Each of the next three functions returns the outcome if it decided the round.

  /// Offers `part` on behalf of the keeper's application for the open round. Ignored while a
  /// decided round has unanswered members, and after an earlier Join of the same round.
  std::optional<Round> Join(const Payload& part);
  /// Refuses the open round on behalf of the keeper's application. Ignored while a decided round
  /// has unanswered members.
  std::optional<Round> Leave();
  /// Processes the line of `member` (0 … members − 1). The same line may be passed repeatedly.
  std::optional<Round> Hear(size_t member, const Message& line);

  /// Restarts the link to `member` with `epoch`.
  void Reset(size_t member, uint16_t epoch) { seats_[member].end.Reset(epoch); }
  /// Reports that no progress was made within the caller's window.
  void Expire() { Step(KeeperInput::kExpired); }

  KeeperState state() const { return state_; }
  /// Returns the number of the round that is open, or that is decided but has unanswered members.
  uint64_t round() const { return record_.round.number + (Decided() ? 0 : 1); }
  bool suspect() const { return suspect_; }
  size_t members() const { return seats_.size(); }
  const KeeperRecord& record() const { return record_; }
  bool ConsumeRecord() { return std::exchange(new_record_, false); }
  const Message& line(size_t member) const { return seats_[member].end.line(); }
  bool ConsumeUpdate(size_t member) { return seats_[member].end.ConsumeUpdate(); }
  /// Returns whether the offer of `member` for the open round is known.
  bool Offered(size_t member) const { return seats_[member].offered; }
  const Identity& identity(size_t member) const { return seats_[member].end.identity(); }

 private:
  /// The keeper's end of the link to one member.
  struct Seat {
    Responder end;
    bool offered = false;      ///< The following fields contain an offer for the open round.
    uint32_t incarnation = 0;  ///< Incarnation of the member that made the offer.
    Payload part{};
    bool answered = true;  ///< The line contains the outcome that is in the record.
  };
  /// The condition of a member's offer, as a swap::Resource.
  struct Condition {
    Keeper& keeper;
    size_t member;
    Answer Evaluate(const Message& offer, Reply& reply) {
      return keeper.Evaluate(member, offer, reply);
    }
  };

  explicit Keeper(const KeeperMachine& table) : table_(&table) {}
  bool Decided() const {
    return state_ == KeeperState::kCommitted || state_ == KeeperState::kRejected;
  }
  bool Answered(size_t member) const;
  Answer Evaluate(size_t member, const Message& offer, Reply& reply);
  std::optional<Round> Step(KeeperInput input);
  void Commit();
  void Reject();
  void CountUnanswered();

  const KeeperMachine* table_;
  KeeperState state_ = KeeperState::kApart;
  std::vector<Seat> seats_;
  size_t offers_ = 0;      ///< Number of seats for which `offered` is set.
  size_t unanswered_ = 0;  ///< Number of seats for which `answered` is not set.
  Payload part_{};         ///< Part of the keeper's application, in state kGather.
  KeeperRecord record_;
  bool new_record_ = false;
  /// Whether the line being processed cancels an offer for the open round.
  bool withdrawn_ = false;
  bool suspect_ = false;
};

}  // namespace sluice::swap
