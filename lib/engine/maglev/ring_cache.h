// SPDX-License-Identifier: BSD-3-Clause
//
// Caches rings by the arguments that determine them, so that VIPs with equal pools share one
// computation of their ring. Control path; not thread-safe.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/maglev/ring.h"

namespace sluice::engine::maglev {

/// A cache of bounded size: it is cleared when its rings would have more than kMaxSlots slots
/// together.
class RingCache {
 public:
  static constexpr uint64_t kMaxSlots = uint64_t{1} << 24;

  /// Returns FillRing(permutations, slots, rule). The reference is valid until the next call.
  const std::vector<uint16_t>& Fill(std::span<const Permutation> permutations, uint32_t slots,
                                    WeightRule rule);

 private:
  /// Keyed by the arguments' bytes.
  absl::flat_hash_map<std::string, std::vector<uint16_t>> rings_;
  uint64_t slots_ = 0;  ///< Sum over all rings.
};

}  // namespace sluice::engine::maglev
