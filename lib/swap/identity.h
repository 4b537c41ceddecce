// SPDX-License-Identifier: BSD-3-Clause
//
// What makes a line ours or somebody else's: epochs, incarnations and the distance of
// transaction ids. Shared by both ends.
#pragma once

#include <cstdint>

#include "swap/message.h"
#include "swap/table.h"

namespace sluice::swap {

/// Who an end is, and whom it talks to.
struct Identity {
  /// Of the link: both ends get the same new value, out of band, each time it comes up
  /// (net_ipu: the host stores it in a register). Lines of other epochs are ignored.
  uint16_t epoch = 0;
  /// Of this end's memory, not 0: grows, as a serial number, each time the end starts
  /// without the memory of what it did before.
  uint32_t incarnation = 1;
  /// Of the peer; 0 until it was heard.
  uint32_t peer = 0;
  /// Changes with each of the two above. Modulo 16.
  uint8_t binding = static_cast<uint8_t>(incarnation & 0xf);

  void Meet(uint32_t incarnation_met) {
    peer = incarnation_met;
    binding = (binding + 1) & 0xf;
  }

  friend bool operator==(const Identity&, const Identity&) = default;
};

/// Whether an end can go on where its own line `own` says that it was; else it starts
/// without memory, under a new incarnation.
constexpr bool Resumable(const Message& own) {
  return own.phase != Phase::kNone && own.incarnation != 0;
}

enum class Standing : uint8_t {
  kForeign,  ///< Not of this link: another epoch, an older incarnation, no line at all.
  kPeerNew,  ///< From an incarnation that is newer than the one known.
  kUnheard,  ///< The peer has not heard of this incarnation: what it says is not for us.
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

/// Where a transaction id lies relative to the one that an end is at.
enum class Order : uint8_t { kSame, kNext, kOlder, kBeyond };

constexpr Order Compare(uint32_t txid, uint32_t own, uint32_t mask) {
  const uint32_t ahead = (txid - own) & mask;
  if (ahead == 0) return Order::kSame;
  if (ahead == 1) return Order::kNext;
  return ahead > mask / 2 ? Order::kOlder : Order::kBeyond;
}

}  // namespace sluice::swap
