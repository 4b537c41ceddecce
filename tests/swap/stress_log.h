// SPDX-License-Identifier: BSD-3-Clause
//
// The logs of both ends of a half-link, each written by its thread, and the check of both logs
// after the run. Cells hold tokens. An end offers its token and replaces it with the received one,
// so the replay detects lost and duplicated tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "swap/message.h"

namespace sluice::swap::test {

enum class EventKind : uint8_t {
  // If the offer commits, `token` is given away.
  kOffered,    ///< `token` is given if the offer commits.
  kCommitted,  ///< Committed; `token` was received.
  kRejected,   ///< Rejected.
  kOrphaned,   ///< The peer forgot. A new token replaces the previous one.
  kForgot,     ///< Restarted without state; `token` is new.
  // Events of the responder.
  kResponderCommitted,  ///< Committed; `token` was given away, and the other token was received.
  kRefused,             ///< Rejected, released, or orphaned while held.
};

struct Entry {
  uint64_t serial;
  EventKind did;
  uint64_t token;
  uint64_t received = 0;
  bool condition_held = true;
};
using Log = std::vector<Entry>;

inline uint64_t Digest(uint64_t serial, uint64_t token) {
  return (serial * 0x9e37'79b9'7f4a'7c15 ^ token) * 0xbf58'476d'1ce4'e5b9;
}

/// Returns the payload of an offer or an answer.
inline Payload MakePayload(uint64_t serial, uint64_t token) {
  return {serial, token, Digest(serial, token), ~serial};
}
/// Returns whether the payload belongs to this transaction and is not torn.
inline bool Sound(const Payload& payload, uint64_t serial) {
  return payload == MakePayload(serial, payload[1]) && payload[0] == serial;
}

/// Checks S1 … S5 over both logs. Returns the violation, or an empty string.
std::string Judge(const Log& initiator, const Log& responder, bool four_messages);

}  // namespace sluice::swap::test
