// SPDX-License-Identifier: BSD-3-Clause
//
// The end that offers. Pure: lines in, a line and results out; no memory shared, no
// clock, no allocation. Whoever drives it posts line() whenever TakePublish() says so.
#pragma once

#include <cstdint>
#include <optional>

#include "swap/identity.h"
#include "swap/message.h"
#include "swap/table.h"

namespace sluice::swap {

/// What is offered.
struct Offer {
  uint64_t key = 0;        ///< The condition, in the responder's terms.
  Payload payload{};
  bool standing = false;   ///< The answer may wait until the condition holds.
};

enum class Outcome : uint8_t {
  kCommitted,  ///< Both ends exchanged.
  kRejected,   ///< Neither did.
  /// The peer lost its memory: what it did is unknown. Never counted as either. Four
  /// messages: after kCommitted of the same transaction it says that the peer, which held
  /// its part, never confirmed.
  kOrphaned,
};

/// How a transaction ended here.
struct Result {
  uint32_t txid;
  Outcome outcome;
  bool too_late;    ///< Committed although it was cancelled.
  uint8_t flags;    ///< Of a rejection: kBusy, kConflict.
  uint64_t key;     ///< The responder's state: a rejection carries it fresh.
  Payload payload;  ///< What the responder gave; of a rejection: its present state.
};

class Initiator {
 public:
  /// Starts without memory: the first transaction can be offered once the peer was heard.
  Initiator(const Machine& machine, uint16_t epoch, uint32_t incarnation)
      : machine_(&machine), self_{epoch, incarnation, 0} {
    Publish();
  }
  /// Goes on where the line `own` of a memory that survived says that this end was; only
  /// if Resumable(own). What was offered and not resolved still is. The line does not say
  /// whether the outcome of its last transaction was heard: if it was, it is reported once
  /// more, unchanged (or as orphaned, if the peer lost its memory since), and what the
  /// caller recorded the first time counts.
  static Initiator Resume(const Machine& machine, uint16_t epoch, const Message& own);

  /// Whether an offer would be accepted now.
  bool CanOffer() const { return state_ == State::kIdle && !suspect_ && self_.peer != 0; }
  /// Offers the next transaction. Only if CanOffer().
  void MakeOffer(const Offer& offer);
  /// Asks for a rejection. The outcome may be "committed" all the same. False: there is
  /// nothing to cancel.
  bool Cancel();
  /// Four messages: decides about answer() in State::kValidate. Commit() is the commit
  /// point and returns the result; the peer confirms later.
  std::optional<Result> Commit();
  bool Abort();

  /// The peer's line, as often as wanted. Returns how a transaction ended, if one did.
  std::optional<Result> Hear(const Message& peer);
  /// The link came up anew under `epoch`.
  void Reset(uint16_t epoch);
  /// There was no progress within the window.
  void Expire();

  /// The own line, and whether it changed since the last call.
  const Message& line() const { return own_; }
  bool TakePublish() {
    const bool publish = publish_;
    publish_ = false;
    return publish;
  }

  State state() const { return state_; }
  uint32_t txid() const { return own_.txid; }
  bool suspect() const { return suspect_; }
  bool faulted() const { return state_ == State::kFaulted; }
  /// Something was offered and its outcome is not known here.
  bool Unresolved() const {
    return state_ != State::kIdle && state_ != State::kSync && state_ != State::kFaulted;
  }
  const Identity& identity() const { return self_; }
  /// Four messages, in State::kValidate: what the peer holds out.
  const Message& answer() const { return answer_; }

 private:
  std::optional<Input> Classify(const Message& peer) const;
  std::optional<Result> Step(Input input, const Message& peer);
  bool Call(Input input);
  Result End(Outcome outcome, const Message& peer, bool too_late = false);
  /// Posts what the state is, under the present epoch and incarnations.
  void Publish();

  const Machine* machine_;
  Identity self_;
  Message own_;
  Message answer_;
  State state_ = State::kSync;
  bool suspect_ = false;
  bool publish_ = true;
};

}  // namespace sluice::swap
