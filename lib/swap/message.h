// SPDX-License-Identifier: BSD-3-Clause
//
// Contents of a 64-byte line, which is the message from one end of a link to its peer.
//
//   word 0  bits  0…31 transaction id   32…47 epoch   48…55 phase   56…59 flags   60…63 binding
//   word 1  bits  0…31 incarnation of the peer   32…35 binding
//           bits 36…63 free for the code that drives a link (offload/swap_links.h)
//   word 2  key: the condition of an offer, or the new state of an answer
//   words 3 … 6  payload
//   word 7  bits  0…31 incarnation of this end   32…63 the window's (bar/window.h)
//
// Publication: word 0 is stored last, with release order. The other words do not change while they
// are published: an initiator rewrites its payload only after it has read the outcome of the
// transaction, a responder only after it has read the next offer. Therefore no end reads a line
// while its peer writes it, and no locks or retries are needed. There are two exceptions, which can
// happen at any time: an end that meets a new incarnation of its peer, and an end that has lost its
// memory. Both change word 1, which is stored first and read last. The binding is in both words and
// shows whether they belong together. A peer that reads a line during such a change checks the two
// bindings, as does an end that was killed during the change and restarts.
#pragma once

#include <array>
#include <cstdint>

#include "bar/window.h"

namespace sluice::swap {

/// The state of an end, as published in its line.
enum class Phase : uint8_t {
  kNone,  ///< The line has never been posted.
  kSync,  ///< Either end: started without memory and knows no transaction id yet.
  // Initiator:
  kIdle,    ///< Transaction `txid` is resolved, or there was none.
  kOffer,   ///< `txid` is offered.
  kCancel,  ///< `txid` was offered and then cancelled.
  kCommit,  ///< Four messages: `txid` was validated and applied by the initiator.
  kAbort,   ///< Four messages: `txid` failed validation.
  // Responder:
  /// Both ends agree that `txid` is the last transaction, but this end has no outcome for it.
  kReady,
  kReflected,  ///< Four messages: `txid` is held tentatively.
  kCommitted,  ///< `txid` was committed.
  kRejected,   ///< `txid` was rejected.
};
inline constexpr uint8_t kLastPhase = static_cast<uint8_t>(Phase::kRejected);

/// Flags of an offer:
inline constexpr uint8_t kStanding = 1u << 0;  ///< The answer may wait until the condition holds.
/// Flags of a rejection:
inline constexpr uint8_t kBusy = 1u << 1;      ///< A tentative swap holds the resource.
inline constexpr uint8_t kConflict = 1u << 2;  ///< Both ends made an offer for the same resource.

inline constexpr uint8_t kFlagsMask = 0x0f;

using Payload = std::array<uint64_t, 4>;

/// A decoded line. Nothing in it is trusted.
struct Message {
  uint32_t txid = 0;
  uint16_t epoch = 0;
  Phase phase = Phase::kNone;
  uint8_t flags = 0;
  uint32_t peer_incarnation = 0;  ///< 0 if no peer is known yet.
  uint8_t binding = 0;            ///< Number of changes of word 1, modulo 16; see above.
  uint64_t key = 0;
  Payload payload{};
  uint32_t incarnation = 0;

  friend bool operator==(const Message&, const Message&) = default;
};

inline uint64_t EncodeWord0(const Message& message) {
  const uint64_t high = static_cast<uint8_t>(message.phase) | uint64_t{message.flags} << 8 |
                        uint64_t{message.binding} << 12;
  return message.txid | uint64_t{message.epoch} << 32 | high << 48;
}

inline bar::Line Encode(const Message& message) {
  bar::Line line;
  line.word[0] = EncodeWord0(message);
  line.word[1] = message.peer_incarnation | uint64_t{message.binding} << 32;
  line.word[2] = message.key;
  for (uint32_t i = 0; i < message.payload.size(); ++i) line.word[3 + i] = message.payload[i];
  line.word[7] = message.incarnation;
  return line;
}

/// Decodes a line. The phase is kNone, which every end ignores, if no end could have posted the
/// line: the phase in word 0 is unknown, or the peer is 0 and the phase is not kSync. If the two
/// bindings in a line differ, its writer died while storing a new word 1. The line then decodes
/// with its earlier content and peer 0, so that no end accepts it.
inline Message Decode(const bar::Line& line) {
  const auto phase = static_cast<uint8_t>(line.word[0] >> 48);
  Message message{
      .txid = static_cast<uint32_t>(line.word[0]),
      .epoch = static_cast<uint16_t>(line.word[0] >> 32),
      .phase = phase <= kLastPhase ? static_cast<Phase>(phase) : Phase::kNone,
      .flags = static_cast<uint8_t>(line.word[0] >> 56 & kFlagsMask),
      .peer_incarnation = static_cast<uint32_t>(line.word[1]),
      .binding = static_cast<uint8_t>(line.word[0] >> 60),
      .key = line.word[2],
      .payload = {line.word[3], line.word[4], line.word[5], line.word[6]},
      .incarnation = static_cast<uint32_t>(line.word[7]),
  };
  if (message.peer_incarnation == 0 && message.phase != Phase::kSync) message.phase = Phase::kNone;
  if ((line.word[1] >> 32 & 0xf) != message.binding) message.peer_incarnation = 0;
  return message;
}

}  // namespace sluice::swap
