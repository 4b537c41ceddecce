// SPDX-License-Identifier: BSD-3-Clause
//
// What can happen to a link, and what its lines carry in this world.
#pragma once

#include <cstdint>

namespace sluice::swap::test {

enum Kind : uint8_t {
  kPostInitiator,
  kPostResponder,
  kHearResponder,  ///< The initiator hears line `index`; of a queue: the first, which leaves.
  kHearInitiator,
  kHearResponderTwice,  ///< Of a queue: the first stays.
  kHearInitiatorTwice,
  kLoseToInitiator,  ///< Of a queue: the first.
  kLoseToResponder,
  kOffer,  ///< `index`: OfferKind
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
  kHearResponderTorn,  ///< Word 0 of line `index`, the rest of the next.
  kHearInitiatorTorn,
  kKillInitiator,  ///< While it posts what it has to say to line `index`.
  kKillResponder,
  kKillOffering,
};
enum OfferKind : uint8_t { kPlain, kConditional, kStandingOffer };

/// Payload words of offers and answers: the serial of the offer, the content of a cell.
inline constexpr uint32_t kSerialWord = 0;
inline constexpr uint32_t kCellWord = 1;

}  // namespace sluice::swap::test
