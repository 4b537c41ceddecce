// SPDX-License-Identifier: BSD-3-Clause
//
// A peer that posts arbitrary lines, driven by a string of bytes. The property test and the fuzzer
// use it. For any lines, an end must report a result only once, only for its offer, and only from a
// line with the offer's transaction and incarnation. An end must also answer only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../fuzz/choices.h"
#include "swap/initiator.h"
#include "swap/responder.h"

namespace sluice::swap::test {

/// Two connected ends at transaction id `txid`.
struct ConnectedPair {
  explicit ConnectedPair(const Machine& machine, uint32_t txid = 0)
      : initiator(machine, 1, 1), responder(machine, 1, 1) {
    Message sync = initiator.line();
    sync.peer_incarnation = 1;
    sync.txid = txid;
    responder.Hear(sync, *this);
    responder.Hear(sync, *this);
    initiator.Hear(responder.line());
    initiator.Hear(responder.line());
  }

  Answer Evaluate(const Message&, Reply&) const { return Answer::kTrue; }
  bool Swap() {
    initiator.MakeOffer({});
    const bool applied = responder.Hear(initiator.line(), *this) == Event::kCommitted;
    const std::optional<Result> result = initiator.Hear(responder.line());
    return applied && result && result->outcome == Outcome::kCommitted &&
           result->txid == responder.txid();
  }

  Initiator initiator;
  Responder responder;
};

/// Returns the line for `honest` with some bytes replaced, or a line of arbitrary bytes.
inline bar::Line BendLine(const Message& honest, fuzz::Choices& bytes) {
  bar::Line line = Encode(honest);
  const uint8_t how = bytes.Byte();
  if (how == 255) {
    for (uint64_t& word : line.word) word = bytes.Word64();
    return line;
  }
  for (int edits = how & 3; edits > 0; --edits) {
    const uint8_t at = bytes.Byte();
    const int shift = (at >> 3 & 7) * 8;
    uint64_t& word = line.word[at & 7];
    word = (word & ~(uint64_t{0xff} << shift)) | uint64_t{bytes.Byte()} << shift;
  }
  if ((how & 4) != 0) line.word[0] ^= uint64_t{how & 0xf8u} << 48;  // The phase.
  return line;
}

struct RunResult {
  const char* broken = nullptr;  ///< The violated invariant, or null.
  uint32_t results = 0;
  uint32_t answers = 0;
};

inline RunResult RunHostileLines(const uint8_t* data, size_t size) {
  RunResult heard;
  const auto broken = [&heard](const char* promise) {
    heard.broken = promise;
    return heard;
  };
  fuzz::Choices bytes(data, size);
  const Machine& machine = (bytes.Byte() & 1) != 0 ? kFourMessage : kTwoMessage;
  ConnectedPair pair(machine);
  Initiator& initiator = pair.initiator;
  Responder& responder = pair.responder;
  while (!bytes.empty()) {
    if (initiator.CanOffer()) initiator.MakeOffer({});
    Message honest = responder.line();
    honest.txid = initiator.txid();
    honest.phase = static_cast<Phase>(bytes.Byte() % (kLastPhase + 2));
    const Message to_initiator = Decode(BendLine(honest, bytes));
    const State state = initiator.state();
    const uint32_t incarnation = initiator.identity().incarnation;
    std::optional<Result> result = initiator.Hear(to_initiator);
    if (result && result->outcome != Outcome::kOrphaned) {
      if (to_initiator.txid != result->txid || result->txid != initiator.txid())
        return broken("txid");
      if (to_initiator.peer_incarnation != incarnation) return broken("incarnation");
      if (to_initiator.epoch != initiator.identity().epoch) return broken("epoch");
      const bool committed = result->outcome == Outcome::kCommitted;
      if (to_initiator.phase != (committed ? Phase::kCommitted : Phase::kRejected))
        return broken("phase");
    }
    heard.results += result.has_value();
    if (result && (state == State::kIdle || state == State::kSync))
      return broken("nothing was offered");
    if (initiator.state() == State::kValidate && !initiator.Commit()) return broken("commit");

    honest = initiator.line();
    honest.txid = responder.txid() + (bytes.Byte() & 1);
    honest.phase = static_cast<Phase>(bytes.Byte() % (kLastPhase + 2));
    const Message to_responder = Decode(BendLine(honest, bytes));
    const uint32_t last = responder.txid();
    const State held = responder.state();
    const Event event = responder.Hear(to_responder, pair);
    heard.answers += event != Event::kNothing;
    if (event == Event::kHeld || (event == Event::kCommitted && held == State::kReady)) {
      if (to_responder.phase != Phase::kOffer || to_responder.txid != last + 1)
        return broken("applied");
    }
    if (event == Event::kCommitted && held == State::kTentative &&
        (to_responder.phase != Phase::kCommit || to_responder.txid != last)) {
      return broken("committed");
    }
    // An end stays faulted until it restarts with a new incarnation.
    if (initiator.faulted()) initiator = Initiator(machine, 1, incarnation + 1);
    if (responder.faulted()) {
      responder = Responder(machine, 1, responder.identity().incarnation + 1);
    }
  }
  return heard;
}

}  // namespace sluice::swap::test
