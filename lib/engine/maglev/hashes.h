// SPDX-License-Identifier: BSD-3-Clause
//
// Pure functions that compute published hashes, which other balancers use to build rings and to
// choose slots. The results must match theirs byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice::engine::maglev {

/// Computes Bob Jenkins' lookup3, as in the Linux kernel's jhash_2words().
uint32_t Jhash2Words(uint32_t a, uint32_t b, uint32_t seed);
/// Computes the Linux kernel's jhash().
uint32_t Jhash(std::span<const uint8_t> bytes, uint32_t seed);
/// Computes MurmurHash3 for x64 with 128 bits and returns both words.
std::pair<uint64_t, uint64_t> Murmur3(std::span<const uint8_t> bytes, uint64_t seed_low,
                                      uint64_t seed_high);
/// Computes 32-bit FNV-1 (multiply, then xor).
uint32_t Fnv32(std::span<const uint8_t> bytes);
/// Computes the 128-bit SpookyHash V2 of at most 191 bytes (the short form).
std::pair<uint64_t, uint64_t> SpookyShort(std::span<const uint8_t> bytes, uint64_t seed1,
                                          uint64_t seed2);
/// Computes CityHash's reduction of 128 to 64 bits.
uint64_t CityMix(uint64_t upper, uint64_t lower);

}  // namespace sluice::engine::maglev
