// SPDX-License-Identifier: BSD-3-Clause
//
// The Maglev ring: the backend that owns each of M slots (Maglev, NSDI'16, section 3.4). Every
// backend has a permutation of the slots, (offset + j · skip) mod M. The backends choose in turn:
// each claims the next free slot of its permutation until no slot is free. Only the current
// position of each backend is stored. For the control path; thread-safe, because no state is
// shared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine::maglev {

/// Permutation and weight of a backend.
struct Permutation {
  uint32_t offset;      ///< Below M.
  uint32_t skip;        ///< 1 … M − 1.
  uint32_t weight = 1;  ///< 0: the backend does not receive any slot.
};

/// Rule for the meaning of weights.
enum class WeightRule : uint8_t {
  kProportional,  ///< Slots are proportional to weights (Katran's second rule).
  kFirstRound,    ///< Katran's default: `weight` slots in the first round, then one per round.
  kCilium,        ///< Cilium's counters; only if weights differ (docs/maglev-peers.md).
};

/// Ring sizes used by the benchmarks; both are prime. kSmallRing is the default of all profiles
/// except kCilium.
inline constexpr uint32_t kSmallRing = 65537;
inline constexpr uint32_t kLargeRing = 655373;
/// Limits: below 2^24 slots, below 2^16 backends.
inline constexpr uint32_t kMaxRingSlots = 1u << 24;
inline constexpr uint32_t kMaxRingBackends = 65535;

/// Returns the backend index of each of `slots` slots. `slots` must be prime. The result is empty
/// if all weights are 0 or an argument is out of range. The order of `permutations` breaks ties, so
/// it must not depend on the order in the configuration (profile.h sorts).
std::vector<uint16_t> FillRing(std::span<const Permutation> permutations, uint32_t slots,
                               WeightRule rule);

bool IsPrime(uint32_t number);

}  // namespace sluice::engine::maglev
