// SPDX-License-Identifier: BSD-3-Clause
//
// Computes an endpoint's offset and skip in the ring from its hash, as Katran's Maglev hash
// functions do.
#pragma once

#include <cstdint>

#include "engine/maglev/hashes.h"
#include "engine/maglev/ring.h"
#include "packet/bytes.h"

namespace sluice::engine::maglev::test {

inline uint64_t KatranMurmur(uint64_t a, uint64_t b, uint64_t seed) {
  uint8_t bytes[16];
  packet::Store(bytes, a);
  packet::Store(bytes + 8, b);
  return Murmur3(bytes, seed, seed).first;
}

inline Permutation KatranPermutation(uint64_t hash, uint32_t slots, uint32_t weight = 1) {
  return {static_cast<uint32_t>(KatranMurmur(hash, 42, 0) % slots),
          static_cast<uint32_t>(KatranMurmur(hash, 2718281828, 2307) % (slots - 1) + 1), weight};
}

}  // namespace sluice::engine::maglev::test
