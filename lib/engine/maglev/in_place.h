// SPDX-License-Identifier: BSD-3-Clause
//
// Rewrites plain packets in place: the fast path for encapsulations `mac` and `nat`. The length of
// a packet does not change, so a pipe sends it without a copy. The slow path does the same with
// packet/rewrite.h, word by word.
#pragma once

#include <cstdint>

#include "engine/maglev/outer.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"

namespace sluice::engine::maglev {

/// Returns whether the checksum of a plain IPv4 header is correct.
inline bool Ipv4ChecksumHolds(const uint8_t* ip) {
  // The last byte of the first word is a part of the fragment offset and thus 0, so the first sum
  // has no carry.
  const uint64_t part = packet::Load<uint64_t>(ip) + packet::Load<uint32_t>(ip + 16);
  const uint64_t sum = part + packet::Load<uint64_t>(ip + 8);
  // 2^64 is 1 modulo 0xffff, so a carry is added back as 1.
  return (sum + (sum < part)) % 0xffff == 0;
}

/// Decrements the TTL, which must be at least 1, and updates the checksum: a covered word that
/// decreases by one increases the one's-complement checksum by one (RFC 1624).
inline void LowerIpv4Ttl(uint8_t* ip) {
  // The word contains TTL, protocol and checksum: the lowest byte decreases by one, the upper half
  // increases by one.
  auto word = packet::Load<uint32_t>(ip + 8);
  if (word >= 0xfffe'0000) [[unlikely]]
    word += 0x1'0000;
  packet::Store(ip + 8, word + 0xffff);
}

/// Sets the destination MAC address to outer.next_hop and the source to the old destination. Stores
/// only these twelve bytes: a pipe loads the following bytes immediately and would stall on a wider
/// store.
inline void SendToNextHop(uint8_t* frame, const PlainOuter& outer) {
  const auto old = packet::Load<uint64_t>(frame);
  const auto hop = packet::Load<uint64_t>(reinterpret_cast<const uint8_t*>(&outer));
  packet::Store(frame, (hop & 0xffff'ffff'ffff) | old << 48);
  packet::Store(frame + 8, static_cast<uint32_t>(old >> 16));
}

/// Returns the checksum that replaces `stored` after covered words have changed. `change` is the
/// sum of the new words and of the complements of the old words. This is RFC 1624 equation 3,
/// applied to all words at once.
inline uint16_t ChangeChecksum(uint16_t stored, uint64_t change) {
  return packet::FinishChecksum(uint64_t{static_cast<uint16_t>(~stored)} + change);
}

/// Rewrites the destination address and port of an untagged TCP or UDP packet over IPv4 without
/// options to those of the backend; if the backend's port is 0, the packet's port is kept. Updates
/// the checksums; a UDP checksum of 0 stays 0.
inline void RewriteDestination(uint8_t* frame, bool tcp, const PlainOuter& outer) {
  uint8_t* const ip = frame + packet::kEthernetHeaderBytes;
  uint8_t* const l4 = ip + packet::kIpv4MinHeaderBytes;
  uint64_t change = uint64_t{~packet::Load<uint32_t>(ip + 16)} + outer.destination;
  packet::Store(ip + 16, outer.destination);
  packet::Store(ip + 10, ChangeChecksum(packet::Load<uint16_t>(ip + 10), change));
  if (const uint16_t port = outer.sum_or_port; port != 0) {
    change += static_cast<uint16_t>(~packet::Load<uint16_t>(l4 + 2)) + uint64_t{port};
    packet::Store(l4 + 2, port);
  }
  uint8_t* const checksum = l4 + (tcp ? 16 : 6);
  const auto stored = packet::Load<uint16_t>(checksum);
  if (!tcp && stored == 0) return;
  const uint16_t changed = ChangeChecksum(stored, change);
  packet::Store(checksum, !tcp && changed == 0 ? uint16_t{0xffff} : changed);
}

}  // namespace sluice::engine::maglev
