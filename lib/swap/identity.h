// SPDX-License-Identifier: BSD-3-Clause
//
// Decides from epoch and incarnation whether a line is from the current peer of this link, and
// compares transaction ids. Shared by both ends.
#pragma once

#include <cstdint>

#include "swap/message.h"
#include "swap/table.h"

namespace sluice::swap {

/// Identity of an end, and what it knows of its peer's.
struct Identity {
  /// Epoch of the link. Each time the link comes up, both ends get the same new value out of band
  /// (net_ipu: the host stores it in a register). Lines from other epochs are ignored.
  uint16_t epoch = 0;
  /// Incarnation of this end's memory; not 0. It is incremented, as a serial number, each time the
  /// end starts without its earlier memory.
  uint32_t incarnation = 1;
  /// Incarnation of the peer, or 0 until the peer's first line.
  uint32_t peer = 0;
  /// Number of changes of the two incarnations, modulo 16. Starts at `incarnation` modulo 16.
  uint8_t binding = static_cast<uint8_t>(incarnation & 0xf);

  void Meet(uint32_t incarnation_met) {
    peer = incarnation_met;
    binding = (binding + 1) & 0xf;
  }

  friend bool operator==(const Identity&, const Identity&) = default;
};

/// Returns whether an end can continue from the state in its line `own`. If not, it must start
/// without memory and with a new incarnation.
constexpr bool Resumable(const Message& own) {
  return own.phase != Phase::kNone && own.incarnation != 0;
}

enum class Standing : uint8_t {
  kForeign,  ///< Not from this link, an older incarnation, or never posted.
  kPeerNew,  ///< From a newer incarnation than the known one.
  kUnheard,  ///< The line is not addressed to this end, because the peer does not know this end's
             ///< incarnation.
  kOurs,
};

constexpr Standing Judge(const Identity& self, const Message& message) {
  if (message.phase == Phase::kNone || message.epoch != self.epoch || message.incarnation == 0) {
    return Standing::kForeign;
  }
  if (message.incarnation != self.peer) {
    const bool newer = self.peer == 0 || static_cast<int32_t>(message.incarnation - self.peer) > 0;
    return newer ? Standing::kPeerNew : Standing::kForeign;
  }
  return message.peer_incarnation == self.incarnation ? Standing::kOurs : Standing::kUnheard;
}

/// Position of a transaction id relative to this end's.
enum class Order : uint8_t { kSame, kNext, kOlder, kBeyond };

constexpr Order Compare(uint32_t txid, uint32_t own, uint32_t mask) {
  const uint32_t ahead = (txid - own) & mask;
  if (ahead == 0) return Order::kSame;
  if (ahead == 1) return Order::kNext;
  return ahead > mask / 2 ? Order::kOlder : Order::kBeyond;
}

}  // namespace sluice::swap
