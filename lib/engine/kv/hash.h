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

/// XXH3, 64 bits, without a seed: what clients compute.
inline uint64_t RouteHash(Bytes key) { return XXH3_64bits(key.data(), key.size()); }
/// The same for keys of one length, at half the instructions: XXH3 need not choose by it.
template <size_t kBytes>
[[gnu::flatten]] inline KeyHash HashOfSized(const uint8_t* key, uint64_t secret) {
  return {XXH3_64bits(key, kBytes), XXH3_64bits_withSeed(key, kBytes, secret)};
}
inline KeyHash HashOf(Bytes key, uint64_t secret) {
  if (key.size() == 8) return HashOfSized<8>(key.data(), secret);
  return {RouteHash(key), XXH3_64bits_withSeed(key.data(), key.size(), secret)};
}
/// Of a client that is trusted to have hashed its keys well.
inline KeyHash Trusted(uint64_t client_hash) { return {client_hash, client_hash}; }

/// MICA's choice: the upper 16 bits, modulo. `partitions` ≤ 65535.
constexpr uint32_t PartitionOf(uint64_t route, uint32_t partitions) {
  return static_cast<uint32_t>(route >> 48) % partitions;
}

}  // namespace sluice::engine::kv
