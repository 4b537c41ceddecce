// SPDX-License-Identifier: BSD-3-Clause
//
// The moves of a link's world, and the payload of its lines.
#pragma once

#include <cstdint>

namespace sluice::swap::test {

enum Kind : uint8_t {
  kPostInitiator,
  kPostResponder,
  kHearResponder,  ///< The initiator receives line `index`; a queue removes its first line.
  kHearInitiator,
  kHearResponderTwice,  ///< The initiator receives the first line of a queue, which is not removed.
  kHearInitiatorTwice,
  kLoseToInitiator,  ///< A queue loses its first line.
  kLoseToResponder,
  kOffer,  ///< `index` is an OfferKind.
  kCancel,
  kCommit,
  kAbort,
  kExpireInitiator,
  kExpireResponder,
  kConditionChanges,
  kLinkReset,
  kResetInitiator,
  kResetResponder,
  kRestartInitiator,
  kRestartResponder,
  kResumeInitiator,
  kResumeResponder,
  /// The initiator receives word 0 of line `index` with the rest of the next line.
  kHearResponderTorn,
  kHearInitiatorTorn,
  kKillInitiator,  ///< The initiator is killed while it posts its reaction to line `index`.
  kKillResponder,
  kKillOffering,
};
enum OfferKind : uint8_t { kPlain, kConditional, kStandingOffer };

/// Payload words of offers and answers: the serial of the offer and the content of a cell.
inline constexpr uint32_t kSerialWord = 0;
inline constexpr uint32_t kCellWord = 1;

}  // namespace sluice::swap::test
