// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the production code of a group's keeper and two members between an adversary and an
// observer. The adversary decides when a line is posted and when it is read, when an application
// joins, refuses or cancels, when windows expire, and when a process is killed. A killed process
// continues from its memory (its posted line, the keeper's record) or, within limits, without it.
// Until the adversary schedules the process again, it is dead. The search therefore also explores
// every state in which parties are dead forever.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../exhaustive/explorer.h"
#include "swap/group.h"

namespace sluice::swap::test {

using exhaustive::Exploration;
using exhaustive::Explorer;
using exhaustive::Move;

/// The moves that the adversary may make.
struct GroupConfig {
  const KeeperMachine* keeper = &kKeeper;
  const Machine* member = &kTwoMessage;
  uint8_t rounds = 2;
  bool kill = true;    ///< Processes may be killed any number of times; each one continues from its
                       ///< memory.
  bool refuse = true;  ///< Applications may cancel offers and refuse rounds.
  bool expire = false;        ///< Windows may expire at any time.
  uint8_t member_losses = 0;  ///< Maximum number of a member's restarts without memory.
  uint8_t keeper_losses = 0;  ///< Maximum number of the keeper's restarts without memory.
  /// Unsafe: the keeper posts lines before it stores its record.
  bool late_record = false;
};

class GroupWorld {
 public:
  /// Bit numbers of violated().
  enum Property : uint8_t {
    kAgreement,   ///< One party commits a round and another party rejects it.
    kValidity,    ///< A party commits a round that is not committed in the keeper's memory.
    kAtMostOnce,  ///< A party reports two outcomes of a round, or the parts are not exchanged.
    kIdentity,    ///< An orphan is reported although the keeper did not lose its memory.
    kSound,       ///< An end reports a fault although its peer is honest.
  };
  enum Kind : uint8_t {
    kPostMember,  ///< `index` is a member in all moves up to kForgetMember.
    kPostKeeper,
    kHearMember,  ///< The keeper receives the line of member `index`.
    kHearKeeper,
    kOffer,
    kCancel,
    kExpireMember,
    kKillMember,
    kForgetMember,
    kStoreRecord,
    kJoin,
    kLeave,
    kExpireKeeper,
    kKillKeeper,
    kForgetKeeper,
  };
  static constexpr size_t kMembers = 2, kParties = kMembers + 1;

  explicit GroupWorld(const GroupConfig& config);

  void Moves(std::vector<Move>& moves) const;
  void Apply(Move move);
  bool Benign(Move move) const;
  std::string Key() const;
  uint32_t violated() const { return violated_; }
  bool Resolved() const;
  std::string Describe(Move move) const;
  std::string Summary() const;

  /// Returns whether party `party` knows the outcome of `round`: 'C', 'X', '?' (its memory or that
  /// of the keeper was lost) or '-'.
  char FateOf(size_t party, uint8_t round) const { return fates_[era_][round][party]; }
  /// Returns whether the party's application waits for an outcome that the party does not know.
  bool Waits(size_t party) const;

 private:
  static constexpr size_t kMaxRounds = 4, kEras = 2;

  void Violate(Property property) { violated_ |= 1u << property; }
  void Record(size_t era, uint64_t round, size_t party, char fate);
  void Decide(const std::optional<Round>& round);
  void Report(size_t member, const Result& result);
  void Store();
  /// Returns the era of the keeper's incarnation that the member knows.
  size_t EraOf(size_t member) const { return members_[member].identity().peer - 1; }
  bool MemberMayPost(size_t member) const;
  bool KeeperMayPost(size_t member) const;

  const GroupConfig* config_;
  Keeper keeper_;
  std::array<Initiator, kMembers> members_;
  std::array<Message, kMembers> to_keeper_, to_member_;
  KeeperRecord stored_;
  std::array<uint8_t, kMembers> next_round_{1, 1};
  std::array<uint8_t, kMembers> losses_{};
  /// Content of the cell in the offer that the keeper knows; 0 for none.
  std::array<uint8_t, kMembers> noted_{};
  uint8_t keeper_losses_ = 0;
  /// The keeper's incarnations; each counts rounds from 1.
  uint8_t era_ = 0;
  std::array<uint8_t, kParties> cells_{1, 2, 3};
  std::array<std::array<std::array<char, kParties>, kMaxRounds + 1>, kEras> fates_;
  /// Content that each party must receive in a committed round.
  std::array<std::array<std::array<uint8_t, kParties>, kMaxRounds + 1>, kEras> due_{};
  uint32_t violated_ = 0;
};

}  // namespace sluice::swap::test
