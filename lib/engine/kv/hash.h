// SPDX-License-Identifier: BSD-3-Clause
//
// The two hashes of a key. `route` is the same everywhere: clients choose a partition, and with
// it a worker, by it (MICA, NSDI'14, section 4.2). `index` is keyed by a secret of the server,
// so that nobody can fill one bucket on purpose; MICA's servers believe the client's hash, which
// here must be asked for (Trusted).
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <span>

namespace sluice::engine::kv {

using Bytes = std::span<const uint8_t>;

struct KeyHash {
  uint64_t route = 0;
  uint64_t index = 0;
};

/// XXH3, 64 bits. Of a word, as keys often are, at half the instructions: it need not choose by the
/// length. (What is inlined into others is not flattened.)
[[gnu::flatten, gnu::noinline]] inline uint64_t Xxh3OfWord(const uint8_t* key, uint64_t seed) {
  return XXH3_64bits_withSeed(key, sizeof(uint64_t), seed);
}
inline uint64_t Xxh3(Bytes key, uint64_t seed) {
  if (key.size() == sizeof(uint64_t)) return Xxh3OfWord(key.data(), seed);
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

/// Without a seed: what clients compute.
inline uint64_t RouteHash(Bytes key) { return Xxh3(key, 0); }
inline uint64_t IndexHash(Bytes key, uint64_t secret) { return Xxh3(key, secret); }
inline KeyHash HashOf(Bytes key, uint64_t secret) {
  return {RouteHash(key), IndexHash(key, secret)};
}
/// Of a client that is trusted to have hashed its keys well.
inline KeyHash Trusted(uint64_t client_hash) { return {client_hash, client_hash}; }

/// MICA's choice: the upper 16 bits, modulo. `partitions` ≤ 65535.
constexpr uint32_t PartitionOf(uint64_t route, uint32_t partitions) {
  return static_cast<uint32_t>(route >> 48) % partitions;
}

}  // namespace sluice::engine::kv
