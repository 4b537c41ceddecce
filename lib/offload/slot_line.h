// SPDX-License-Identifier: BSD-3-Clause
//
// The two lines of a slot on a Wave channel: the agent's transaction and the host's outcome.
//
//   word 0  bits 0…31 transaction id   32…39 phase   40…63 the session's tag
//   word 1  the session
//   words 2 … 6  the item
//
// Lines are published as in swap/message.h: word 0 is stored last, and the item does not change
// while it is published. Only an end that begins another session may overwrite a line that its peer
// is reading. The peer detects this from word 1 or the tag in word 0.
#pragma once

#include <cstdint>

#include "bar/window.h"
#include "offload/item.h"
#include "offload/session.h"

namespace sluice::offload {

enum class SlotPhase : uint8_t {
  kNone,  ///< Never posted.
  // Phases of the agent:
  kReady,   ///< The line contains a decision.
  kCancel,  ///< Like kReady, but the agent requests the decision back.
  // Phases of the host, authoritative:
  kEnforced,
  kRefused,
};

struct SlotLine {
  uint32_t txid = 0;  ///< Incremented with each decision of a session; the first is 1.
  SlotPhase phase = SlotPhase::kNone;
  Item item;

  bar::Line Encode(const AgentSession& session) const {
    bar::Line line;
    line.word[0] =
        txid | uint64_t{static_cast<uint8_t>(phase)} << 32 | uint64_t{session.Tag()} << 40;
    line.word[1] = session.Word();
    for (uint32_t i = 0; i < item.word.size(); ++i) line.word[2 + i] = item.word[i];
    return line;
  }
  /// Decodes only word 0. Returns false if it belongs to another session or none, or if the link is
  /// dead. Does not check the phase.
  bool DecodeWord0(uint64_t word0, const AgentSession& session) {
    txid = static_cast<uint32_t>(word0);
    phase = static_cast<SlotPhase>(word0 >> 32 & 0xff);
    return word0 >> 40 == session.Tag() && word0 != ~uint64_t{0};
  }
  bool Decode(const bar::Line& line, const AgentSession& session) {
    for (uint32_t i = 0; i < item.word.size(); ++i) item.word[i] = line.word[2 + i];
    return DecodeWord0(line.word[0], session) && line.word[1] == session.Word();
  }
};

}  // namespace sluice::offload
