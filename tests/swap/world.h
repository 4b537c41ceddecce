// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the production code of both ends of a link between an adversary and an observer. The
// adversary controls the lines in flight, the link, the windows, the processes and the resource's
// condition. The observer sees both ends at once and checks S1 … S6.
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

/// Bit numbers in SwapWorld::violated().
enum Property : uint8_t {
  kAgreement,   ///< S1: one end commits (C) and the other rejects (X).
  kValidity,    ///< S2: the owner commits without the condition, or the initiator without a record.
  kAtMostOnce,  ///< S3: a transaction is applied or consumed twice.
  kNoSilentDrop,  ///< S4: an outcome is overwritten before it was read.
  kReversible,    ///< S5: a rejection changes a cell, or content is lost or duplicated.
  kIdentity,  ///< S6: a line from another epoch or incarnation has an effect, or ORPHAN is treated
              ///< as C or X.
  kOneDoubt,  ///< Both ends are in doubt.
  kSound,     ///< An end reports a fault although its peer is honest.
};
const char* PropertyName(uint8_t property);

/// The moves that the adversary may make.
struct Config {
  const Machine* machine = &kTwoMessage;
  int swaps = 2;
  /// If true, the channel is a queue of `depth` lines, each of which can be lost or delivered
  /// twice. Otherwise, the last `depth` posted lines can be delivered in any order, any number of
  /// times, or never; with a depth of 1, the channel is a register.
  bool in_order = false;
  uint8_t depth = 1;
  int resets = 0;              ///< Maximum number of link resets, which lose all lines in flight.
  int initiator_restarts = 0;  ///< Maximum number of restarts without state: here for the
                               ///< initiator, below for the responder.
  int responder_restarts = 0;
  bool resume = false;  ///< Ends may restart with their state any number of times.
  bool expire = true;   ///< Windows may expire at any time.
  bool cancel = true;
  bool conditional = true;  ///< Some offers have a condition, which may change at any time.
  bool standing = false;    ///< Some conditional offers are standing: the answer may wait until the
                            ///< condition holds.
  bool abort = true;        ///< Validation may fail (four messages only).
  /// Ends post only when ConsumeUpdate() returns true, and posts are not lost.
  bool on_demand = false;
  /// The peer may read while a line is being stored. It then sees word 0 of a line with the rest of
  /// the next line (`depth` 2). With on_demand and resume, ends may also be killed at that moment,
  /// and resume from the resulting line.
  bool torn = false;
  /// Unsafe: lines do not bind word 0 to word 1.
  bool unbound = false;
  /// Unsafe: the responder forgets its record when the link is reset.
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

  // Methods of swap::Resource for the responder: one cell and its condition.
  Answer Evaluate(const Message& offer, Reply& reply) const;

 private:
  enum class Fate : uint8_t { kNone, kCommitted, kRejected, kOrphaned, kForgotten };
  struct Ghost {
    Fate responder = Fate::kNone;  ///< Outcome at the responder, which owns the cell.
    Fate decided = Fate::kNone;    ///< Outcome that the initiator has decided.
    Fate reported = Fate::kNone;   ///< Outcome that the initiator reported to its application.
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
  /// Serial of the last offer; part of its payload, so that both ends carry it.
  uint8_t serial_ = 0;
  /// Serial of the transaction that the responder holds; used only with four messages.
  uint8_t held_ = 0;
  uint8_t initiator_cell_ = 1;
  uint8_t responder_cell_ = 2;
  uint8_t held_cell_ = 0;
  int resets_ = 0, initiator_restarts_ = 0, responder_restarts_ = 0;
  std::array<Ghost, kMaxSwaps + 1> ghost_{};  ///< Indexed by serial, from 1.
  uint32_t violated_ = 0;
};

}  // namespace sluice::swap::test
