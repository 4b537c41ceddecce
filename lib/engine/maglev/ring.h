// SPDX-License-Identifier: BSD-3-Clause
//
// The Maglev ring: which backend owns each of M slots (Maglev, NSDI'16, section 3.4).
// Every backend walks its own permutation of the slots, (offset + j · skip) mod M, and
// takes its next free one in turn, until all are taken. Nothing but the present position of
// each backend is kept. Control path; thread-safe, since nothing is shared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine::maglev {

/// A backend's permutation and its share.
struct Seat {
  uint32_t offset;      ///< Below M.
  uint32_t skip;        ///< 1 … M − 1.
  uint32_t weight = 1;  ///< 0: takes no slot.
};

/// What a weight means.
enum class WeightRule : uint8_t {
  kProportional,  ///< Turns in proportion to weights (Katran's second rule): shares stay true.
  kFirstRound,    ///< Katran's default: weight slots in the first round, then one a round.
  kCilium,        ///< Cilium's counters, used only where weights differ (docs/maglev-peers.md).
};

/// Slots of the rings that this library is measured with; both prime.
inline constexpr uint32_t kSmallRing = 65537;
inline constexpr uint32_t kLargeRing = 655373;
/// Bounds of a ring: below 2^24 slots, below 2^16 seats.
inline constexpr uint32_t kMaxRingSlots = 1u << 24;
inline constexpr uint32_t kMaxSeats = 65535;

/// The seat of each of `slots` (prime) slots. Empty if no seat has weight, or an argument is
/// outside of its bounds. Ties go to the seat that comes first, so the caller's order matters
/// and must not depend on configuration (profile.h sorts).
std::vector<uint16_t> FillRing(std::span<const Seat> seats, uint32_t slots, WeightRule rule);

/// Whether `number` is prime.
bool IsPrime(uint32_t number);

}  // namespace sluice::engine::maglev
