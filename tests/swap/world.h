// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends of a link, the real ones, between an adversary and an observer. The
// adversary owns the lines in flight, the link, the windows, the processes and the
// resource's condition; the observer sees both ends at once and judges them by S1 … S6.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../exhaustive/explorer.h"
#include "swap/initiator.h"
#include "swap/responder.h"

namespace sluice::swap::test {

using exhaustive::Exploration;
using exhaustive::Explorer;
using exhaustive::Move;

/// Bits of SwapWorld::violated().
enum Property : uint8_t {
  kAgreement,   ///< S1: never C at one end and X at the other.
  kValidity,    ///< S2: C at the owner only if the condition held; at the other only from a record.
  kAtMostOnce,  ///< S3: applied once, consumed once.
  kNoSilentDrop,  ///< S4: no outcome is overwritten before it was read.
  kReversible,    ///< S5: X leaves both cells as they were; nothing is lost or doubled.
  kIdentity,  ///< S6: lines of other epochs and incarnations do nothing; ORPHAN is neither C nor X.
  kOneDoubt,  ///< Never both ends in doubt.
  kSound,     ///< An honest peer is never found at fault.
};
const char* PropertyName(uint8_t property);

/// What the adversary may do.
struct Config {
  const Machine* machine = &kTwoMessage;
  int swaps = 2;
  /// In order: a queue of `depth` lines, each may be lost or delivered twice. Else the last
  /// `depth` lines posted, in any order, any number of times, or never: 1 is a register.
  bool in_order = false;
  uint8_t depth = 1;
  int resets = 0;              ///< Of the link; everything in flight is lost.
  int initiator_restarts = 0;  ///< Without memory.
  int responder_restarts = 0;
  bool resume = false;  ///< Restarts with memory, at will.
  bool expire = true;   ///< Windows expire, at will.
  bool cancel = true;
  bool conditional = true;  ///< Some offers have a condition, which changes at will.
  bool standing = false;    ///< And some of those are standing.
  bool abort = true;        ///< Four messages: validation may fail.
  /// Ends post when TakePublish() says so and never else, and no post is lost.
  bool on_demand = false;
  /// The peer looks while a line is being stored: the word 0 of one with the rest of the
  /// next (`depth` 2). With on_demand and resume, ends are also killed at that moment, and
  /// go on from the line that it leaves.
  bool torn = false;
  /// Lines do not bind word 0 to word 1. Unsafe.
  bool unbound = false;
  /// The responder forgets its record when the link is reset. Unsafe.
  bool forget_at_reset = false;
};

class SwapWorld {
 public:
  explicit SwapWorld(const Config& config);

  void Moves(std::vector<Move>& moves) const;
  void Apply(Move move);
  bool Benign(Move move) const;
  std::string Key() const;
  uint32_t violated() const { return violated_; }
  bool Resolved() const;
  std::string Describe(Move move) const;
  std::string Summary() const;

  // swap::Resource of the responder: one cell, and a condition about it.
  Answer Evaluate(const Message& offer, Reply& reply) const;

 private:
  enum class Fate : uint8_t { kNone, kCommitted, kRejected, kOrphaned, kForgotten };
  struct Ghost {
    Fate responder = Fate::kNone;  ///< What the owner did.
    Fate decided = Fate::kNone;    ///< What the initiator will stand by.
    Fate reported = Fate::kNone;   ///< What its application was told.
    uint8_t applied = 0;
  };
  static constexpr int kMaxSwaps = 6;

  void Violate(Property property) { violated_ |= 1u << property; }
  void InitiatorHears(const Message& line);
  void ResponderHears(const Message& line);
  void Report(const Result& result);
  void ResponderDid(Event event, const Message& line);
  void Record(uint8_t serial, Fate fate);
  void Offer(uint8_t kind);
  void ExpireInitiator();
  void ExpireResponder();
  void ResetResponder();
  void RestartInitiator();
  void RestartResponder();
  void Check();
  void Post(bool initiator);
  void Push(std::vector<Message>& channel, const Message& line);
  Message Torn(const Message& before, const Message& after) const;
  void KillInitiator(const Initiator& posting);
  void KillResponder(const Responder& posting);
  bool CanPost(const std::vector<Message>& channel, const Message& line) const;

  const Config* config_;
  Initiator initiator_;
  Responder responder_;
  std::vector<Message> to_responder_, to_initiator_;
  uint16_t epoch_ = 1;
  bool condition_ = true;
  bool resumed_ = false;  ///< The initiator may report its last transaction again.
  bool memory_lost_ = false;
  uint8_t serial_ = 0;  ///< Of the last offer; in its payload, so that both ends carry it.
  uint8_t held_ = 0;    ///< Four messages: the serial that the responder holds.
  uint8_t initiator_cell_ = 1;
  uint8_t responder_cell_ = 2;
  uint8_t held_cell_ = 0;
  int resets_ = 0, initiator_restarts_ = 0, responder_restarts_ = 0;
  std::array<Ghost, kMaxSwaps + 1> ghost_{};  ///< By serial, from 1.
  uint32_t violated_ = 0;
};

}  // namespace sluice::swap::test
