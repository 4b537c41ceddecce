// SPDX-License-Identifier: BSD-3-Clause
//
// The Internet checksum (RFC 1071), complete and incremental (RFC 1624). Words are loaded without
// byte swaps, because one's complement addition gives the same result in either byte order. A
// "stored" checksum is the 16-bit field as loaded from the frame. The results of these functions
// must also be stored without conversion.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "packet/bytes.h"

namespace sluice::packet {

/// Adds `size` bytes to `sum`, as 16-bit words that start at the first byte. An odd last byte is
/// padded with zero. Pairs of words are added as one 32-bit number, which gives the same result
/// modulo 0xffff. The total is 0 only if every byte is 0.
inline uint64_t SumBytes(const uint8_t* bytes, size_t size, uint64_t sum = 0) {
  for (; size >= 4; bytes += 4, size -= 4) sum += Load<uint32_t>(bytes);
  if (size >= 2) sum += Load<uint16_t>(bytes), bytes += 2, size -= 2;
  if (size != 0) sum += *bytes;
  return sum;
}

/// Returns `sum` as a 16-bit one's complement number. It is 0 only if every added word was 0; any
/// other sum that is a multiple of 0xffff is returned as 0xffff.
constexpr uint16_t FoldSum(uint64_t sum) {
  // After each addition the upper half is the sum of both halves, including the carry.
  const auto half = static_cast<uint32_t>((sum + std::rotr(sum, 32)) >> 32);
  return static_cast<uint16_t>((half + std::rotr(half, 16)) >> 16);
}

/// Returns the checksum to store for bytes whose sum is `sum`; the checksum field must have been
/// counted as 0.
constexpr uint16_t FinishChecksum(uint64_t sum) { return static_cast<uint16_t>(~FoldSum(sum)); }

/// Returns true iff the checksum is correct, that is, FoldSum(sum) is 0xffff. `sum` covers all
/// bytes, including the stored checksum.
constexpr bool ChecksumHolds(uint64_t sum) { return sum % 0xffff == 0 && sum != 0; }

/// Returns the checksum after a covered 16-bit word changed, RFC 1624 equation 3: HC' = ~(~HC + ~m
/// + m'). A valid checksum stays valid unless all covered words become 0, because their checksum is
/// 0xffff but this function returns 0. That cannot happen if the checksum covers a pseudo-header or
/// an IPv4 version, but it can for ICMP over IPv4.
constexpr uint16_t UpdateChecksum(uint16_t stored, uint16_t old_word, uint16_t new_word) {
  return FinishChecksum(uint64_t{static_cast<uint16_t>(~stored)} +
                        static_cast<uint16_t>(~old_word) + new_word);
}

/// Like UpdateChecksum, for UDP: a stored 0 means "not computed" and is not changed, and a result
/// of 0 is sent as 0xffff (RFC 768).
constexpr uint16_t UpdateUdpChecksum(uint16_t stored, uint16_t old_word, uint16_t new_word) {
  if (stored == 0) return 0;
  const uint16_t updated = UpdateChecksum(stored, old_word, new_word);
  return updated != 0 ? updated : 0xffff;
}

/// Returns the sum of the IPv4 pseudo-header (RFC 768, RFC 9293) for `bytes` bytes of upper-layer
/// data after the IPv4 header at `ipv4`.
inline uint64_t PseudoHeaderSumIpv4(const uint8_t* ipv4, uint8_t protocol, uint16_t bytes) {
  return SumBytes(ipv4 + 12, 8) + __builtin_bswap16(protocol) + __builtin_bswap16(bytes);
}

/// Returns the sum of the IPv6 pseudo-header (RFC 8200 section 8.1) for `bytes` bytes of
/// upper-layer data. The header at `ipv6` must contain the final destination.
inline uint64_t PseudoHeaderSumIpv6(const uint8_t* ipv6, uint8_t protocol, uint32_t bytes) {
  return SumBytes(ipv6 + 8, 32) + __builtin_bswap32(bytes) + __builtin_bswap16(protocol);
}

}  // namespace sluice::packet
