// SPDX-License-Identifier: BSD-3-Clause
//
// The published hash functions that other balancers build their rings and choose their
// slots with. Byte-exact; none of them is a choice of ours. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice::engine::maglev {

/// Bob Jenkins' lookup3 as the Linux kernel's jhash_2words() has it.
uint32_t Jhash2Words(uint32_t a, uint32_t b, uint32_t seed);
/// The kernel's jhash().
uint32_t Jhash(std::span<const uint8_t> bytes, uint32_t seed);
/// MurmurHash3, 128 bits for x64: both words.
std::pair<uint64_t, uint64_t> Murmur3(std::span<const uint8_t> bytes, uint64_t seed_low,
                                      uint64_t seed_high);
/// FNV-1 (multiply, then xor), 32 bits.
uint32_t Fnv32(std::span<const uint8_t> bytes);
/// SpookyHash V2, 128 bits, of at most 191 bytes (its short form).
std::pair<uint64_t, uint64_t> SpookyShort(std::span<const uint8_t> bytes, uint64_t seed1,
                                          uint64_t seed2);
/// CityHash's 128 → 64 bits.
uint64_t CityMix(uint64_t upper, uint64_t lower);

}  // namespace sluice::engine::maglev
