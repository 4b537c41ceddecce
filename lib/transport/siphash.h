// SPDX-License-Identifier: BSD-3-Clause
//
// SipHash-2-4 (Aumasson and Bernstein, 2012) over whole 64-bit words. Without the key, an attacker
// cannot choose inputs whose hashes collide.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace sluice::transport {

struct SipKey {
  uint64_t low, high;
};

inline uint64_t SipHash(const SipKey& key, std::span<const uint64_t> words) {
  uint64_t v0 = key.low ^ 0x736f6d6570736575, v1 = key.high ^ 0x646f72616e646f6d;
  uint64_t v2 = key.low ^ 0x6c7967656e657261, v3 = key.high ^ 0x7465646279746573;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
  };
  const auto compress = [&](uint64_t word) { v3 ^= word, round(), round(), v0 ^= word; };
  for (const uint64_t word : words) compress(word);
  compress(uint64_t{words.size_bytes()} << 56);
  v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace sluice::transport
