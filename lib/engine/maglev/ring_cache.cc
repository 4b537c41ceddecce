// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/ring_cache.h"

#include <type_traits>
#include <utility>

namespace sluice::engine::maglev {

const std::vector<uint16_t>& RingCache::Fill(std::span<const Permutation> permutations,
                                             uint32_t slots, WeightRule rule) {
  static_assert(std::has_unique_object_representations_v<Permutation>,
                "equal permutations must have equal bytes");
  std::string key(reinterpret_cast<const char*>(permutations.data()), permutations.size_bytes());
  key.append(reinterpret_cast<const char*>(&slots), sizeof(slots));
  key.push_back(static_cast<char>(rule));
  if (const auto known = rings_.find(key); known != rings_.end()) return known->second;
  std::vector<uint16_t> ring = FillRing(permutations, slots, rule);
  slots_ += ring.size();
  if (slots_ > kMaxSlots) {
    rings_.clear();
    slots_ = ring.size();
  }
  return rings_.emplace(std::move(key), std::move(ring)).first->second;
}

}  // namespace sluice::engine::maglev
