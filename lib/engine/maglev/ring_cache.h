// SPDX-License-Identifier: BSD-3-Clause
//
// Rings by what determines them, so that VIPs with equal pools cost the time of one ring.
// Control path; not thread-safe.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/maglev/ring.h"

namespace sluice::engine::maglev {

/// Bounded: starts again when its rings would have more than kMaxSlots slots together.
class RingCache {
 public:
  static constexpr uint64_t kMaxSlots = uint64_t{1} << 24;

  /// FillRing(permutations, slots, rule). Valid until the next call.
  const std::vector<uint16_t>& Fill(std::span<const Permutation> permutations, uint32_t slots,
                                    WeightRule rule);

 private:
  absl::flat_hash_map<std::string, std::vector<uint16_t>> rings_;  ///< By the bytes of arguments.
  uint64_t slots_ = 0;                                             ///< Of all rings.
};

}  // namespace sluice::engine::maglev
