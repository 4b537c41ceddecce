// SPDX-License-Identifier: BSD-3-Clause
//
// The two hashes of a key. `route` is the same everywhere: clients compute it to choose a partition
// and thus a worker (MICA, NSDI'14, section 4.2). `index` is keyed with a server secret, so clients
// cannot aim at one bucket. MICA's servers use the client's hash instead, which is optional here
// (Trusted).
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice::engine::kv {

using Bytes = std::span<const uint8_t>;

struct KeyHash {
  uint64_t route = 0;
  uint64_t index = 0;
};

/// 64-bit XXH3 with a fixed seed. Hashing a key of 8 bytes, a common length, takes a dozen
/// instructions: the part that depends on the seed is precomputed, and OfWord does not branch on
/// the length (XXH3_len_4to8_64b in xxhash.h).
class Xxh3 {
 public:
  explicit constexpr Xxh3(uint64_t seed)
      : seed_(seed), flip_(kSecret - (seed ^ uint64_t{SwappedLow(seed)} << 32)) {}

  uint64_t Of(Bytes key) const {
    if (key.size() != sizeof(uint64_t)) {
      return XXH3_64bits_withSeed(key.data(), key.size(), seed_);
    }
    uint64_t word;
    std::memcpy(&word, key.data(), sizeof word);
    return OfWord(word);
  }
  /// Hashes a key of 8 bytes, loaded little-endian as on this machine.
  constexpr uint64_t OfWord(uint64_t word) const {
    constexpr uint64_t kPrime = 0x9fb21c651e98df25;
    uint64_t hash = std::rotl(word, 32) ^ flip_;
    hash ^= std::rotl(hash, 49) ^ std::rotl(hash, 24);
    hash *= kPrime;
    hash ^= (hash >> 35) + sizeof word;
    hash *= kPrime;
    return hash ^ hash >> 28;
  }

 private:
  static constexpr uint32_t SwappedLow(uint64_t seed) {
    return __builtin_bswap32(static_cast<uint32_t>(seed));
  }
  /// XXH3's default secret: bytes 8 to 15, xor 16 to 23.
  static constexpr uint64_t kSecret = 0x1cad21f72c81017c ^ 0xdb979083e96dd4de;

  uint64_t seed_;
  uint64_t flip_;
};

/// Returns the hash of a key without a seed, as clients compute it.
inline uint64_t RouteHash(Bytes key) { return Xxh3(0).Of(key); }
inline uint64_t IndexHash(Bytes key, uint64_t secret) { return Xxh3(secret).Of(key); }
inline KeyHash HashOf(Bytes key, uint64_t secret) {
  return {RouteHash(key), IndexHash(key, secret)};
}
/// Returns the client's hash as both hashes of a key. The client must be trusted to hash its keys
/// well.
inline KeyHash Trusted(uint64_t client_hash) { return {client_hash, client_hash}; }

/// Returns the partition by MICA's rule: the upper 16 bits, modulo `partitions`, which is at most
/// 65535.
constexpr uint32_t PartitionOf(uint64_t route, uint32_t partitions) {
  return static_cast<uint32_t>(route >> 48) % partitions;
}

}  // namespace sluice::engine::kv
