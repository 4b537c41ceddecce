// SPDX-License-Identifier: BSD-3-Clause
//
// Converts worlds to keys for the search and to the lines of a counterexample.
#include <cstdio>

#include "world.h"
#include "world_moves.h"

namespace sluice::swap::test {
namespace {

constexpr const char* kKindNames[] = {"initiator posts",
                                      "responder posts",
                                      "initiator hears",
                                      "responder hears",
                                      "initiator hears a line twice:",
                                      "responder hears a line twice:",
                                      "a line to the initiator is lost",
                                      "a line to the responder is lost",
                                      "offer",
                                      "cancel",
                                      "commit",
                                      "abort",
                                      "window of the initiator expires",
                                      "window of the responder expires",
                                      "the condition changes",
                                      "the link is reset",
                                      "initiator learns of the reset",
                                      "responder learns of the reset",
                                      "initiator restarts without memory",
                                      "responder restarts without memory",
                                      "initiator restarts with memory",
                                      "responder restarts with memory",
                                      "initiator hears, torn,",
                                      "responder hears, torn,",
                                      "initiator is killed while it answers",
                                      "responder is killed while it answers",
                                      "initiator is killed while it offers"};

void Put(std::string& key, const Message& line) {
  for (const uint64_t value :
       {uint64_t{line.txid}, uint64_t{line.epoch},
        uint64_t{static_cast<uint8_t>(line.phase)} | uint64_t{line.flags} << 4,
        uint64_t{line.peer_incarnation} | uint64_t{line.incarnation} << 4, line.key,
        line.payload[kSerialWord] | line.payload[kCellWord] << 4, uint64_t{line.binding}}) {
    key += static_cast<char>(value);
  }
}

std::string Text(const Message& line) {
  constexpr const char* kPhases[] = {"-",         "SYNC",      "IDLE",    "OFFER",
                                     "CANCEL",    "COMMIT",    "ABORT",   "READY",
                                     "REFLECTED", "COMMITTED", "REJECTED"};
  char text[128];
  std::snprintf(text, sizeof(text), "%s(%u) epoch %u, from %u to %u",
                kPhases[static_cast<int>(line.phase)], line.txid, line.epoch, line.incarnation,
                line.peer_incarnation);
  return text;
}

}  // namespace

const char* PropertyName(uint8_t property) {
  constexpr const char* kNames[] = {
      "S1 agreement",     "S2 validity",           "S3 at most once",  "S4 no silent drop",
      "S5 reversibility", "S6 epoch, incarnation", "one end in doubt", "no false fault"};
  return kNames[property];
}

std::string SwapWorld::Key() const {
  std::string key;
  const auto put = [&key](auto... values) { ((key += static_cast<char>(values)), ...); };
  put(initiator_.state(), initiator_.identity().peer, initiator_.identity().epoch,
      initiator_.suspect() | responder_.suspect() << 1 | condition_ << 2 | resumed_ << 3 |
          memory_lost_ << 4,
      responder_.state(), responder_.identity().peer, responder_.identity().epoch, epoch_,
      resets_ | initiator_restarts_ << 2 | responder_restarts_ << 4, serial_ | held_ << 4,
      initiator_cell_ | responder_cell_ << 2 | held_cell_ << 4, violated_);
  Put(key, initiator_.line());
  Put(key, responder_.line());
  if (initiator_.state() == State::kValidate) Put(key, initiator_.answer());
  put(to_initiator_.size());
  for (const Message& line : to_initiator_) Put(key, line);
  put(to_responder_.size());
  for (const Message& line : to_responder_) Put(key, line);
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    const Ghost& ghost = ghost_[serial];
    put(static_cast<uint8_t>(ghost.responder) | static_cast<uint8_t>(ghost.decided) << 4,
        static_cast<uint8_t>(ghost.reported) | ghost.applied << 4);
  }
  return key;
}

std::string SwapWorld::Describe(Move move) const {
  std::string text = kKindNames[move.kind];
  switch (move.kind) {
    case kPostInitiator:
      return text + " " + Text(initiator_.line());
    case kPostResponder:
      return text + " " + Text(responder_.line());
    case kHearResponder:
    case kHearResponderTwice:
      return text + " " + Text(to_initiator_[move.index]);
    case kHearInitiator:
    case kHearInitiatorTwice:
      return text + " " + Text(to_responder_[move.index]);
    case kOffer:
      return text + (move.index == kPlain         ? ""
                     : move.index == kConditional ? " with a condition"
                                                  : " with a condition, standing");
    default:
      return text;
  }
}

std::string SwapWorld::Summary() const {
  constexpr const char* kStateNames[] = {"sync",     "faulted", "idle",  "offer", "cancel",
                                         "validate", "commit",  "abort", "ready", "tentative"};
  constexpr const char* kFates[] = {"-", "C", "X", "orphan", "forgotten"};
  std::string text = std::string("initiator ") + kStateNames[static_cast<int>(initiator_.state())] +
                     ", responder " + kStateNames[static_cast<int>(responder_.state())];
  for (uint8_t serial = 1; serial <= serial_; ++serial) {
    text += "; swap " + std::to_string(serial) +
            ": I=" + kFates[static_cast<int>(ghost_[serial].decided)] +
            " R=" + kFates[static_cast<int>(ghost_[serial].responder)];
  }
  for (uint8_t bit = 0; bit < 8; ++bit) {
    if ((violated_ >> bit & 1) != 0) text += std::string("  BROKEN: ") + PropertyName(bit);
  }
  return text;
}

}  // namespace sluice::swap::test
