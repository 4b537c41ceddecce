// SPDX-License-Identifier: BSD-3-Clause
//
// What the two ends of a half-link did, each written down by its own thread, and the
// judgement over both afterwards. Cells hold tokens: what an end offers is its token, what
// it gets replaces it, so that a token lost or doubled shows in the replay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "swap/message.h"

namespace sluice::swap::test {

enum class Did : uint8_t {
  // Initiator
  kOffered,   ///< `token`: what it gives, if the offer commits.
  kGot,       ///< Committed. `token`: what it got.
  kKept,      ///< Rejected.
  kOrphaned,  ///< The peer forgot. The token is given up for a new one.
  kForgot,    ///< Restarted without memory. `token`: a new one.
  // Responder
  kGave,     ///< Committed. `token`: what it gave. `taken`: what it took.
  kRefused,  ///< Rejected, released, or orphaned while held.
};

struct Entry {
  uint64_t serial;
  Did did;
  uint64_t token;
  uint64_t taken = 0;
  bool condition_held = true;
};
using Log = std::vector<Entry>;

inline uint64_t Digest(uint64_t serial, uint64_t token) {
  return (serial * 0x9e37'79b9'7f4a'7c15 ^ token) * 0xbf58'476d'1ce4'e5b9;
}

/// Payload of offers and answers alike.
inline Payload MakePayload(uint64_t serial, uint64_t token) {
  return {serial, token, Digest(serial, token), ~serial};
}
/// Not torn, and of this transaction.
inline bool Sound(const Payload& payload, uint64_t serial) {
  return payload == MakePayload(serial, payload[1]) && payload[0] == serial;
}

/// S1 … S5 over both logs. Empty if all hold, else what does not.
std::string Judge(const Log& initiator, const Log& responder, bool four_messages);

}  // namespace sluice::swap::test
