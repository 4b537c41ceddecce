// SPDX-License-Identifier: BSD-3-Clause
//
// Rewrites in place, of plain packets: how the bulk of all traffic gets to backends of
// encapsulation `mac` and `nat`. What leaves is as long as what came, so that a pipe sends it
// from where it lies. The slow path does the same by packet/rewrite.h, word by word.
#pragma once

#include <cstdint>

#include "engine/maglev/outer.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"

namespace sluice::engine::maglev {

/// Of a header without options.
inline bool Ipv4ChecksumHolds(const uint8_t* ip) {
  // 2^64 is 1 modulo 0xffff, so that a carry comes back as 1.
  const auto add = [](uint64_t one, uint64_t other) { return one + other + (one + other < one); };
  const uint64_t sum = add(add(packet::Load<uint64_t>(ip), packet::Load<uint64_t>(ip + 8)),
                           packet::Load<uint32_t>(ip + 16));
  return sum % 0xffff == 0;
}

/// One hop further, of a packet with TTL to spare: one less in a covered word is one more in the
/// checksum, in one's complement (RFC 1624).
inline void LowerIpv4Ttl(uint8_t* ip) {
  // TTL, protocol and checksum: one less at the bottom, one more at the top.
  auto word = packet::Load<uint32_t>(ip + 8);
  if (word >= 0xfffe'0000) [[unlikely]]
    word += 0x1'0000;
  packet::Store(ip + 8, word + 0xffff);
}

/// `frame` to outer.next_hop, from the address that it was sent to. Writes only these twelve
/// bytes: a pipe reads those behind them at once, and would wait for a wider store.
inline void SendToNextHop(uint8_t* frame, const PlainOuter& outer) {
  const auto old = packet::Load<uint64_t>(frame);
  const auto hop = packet::Load<uint64_t>(reinterpret_cast<const uint8_t*>(&outer));
  packet::Store(frame, (hop & 0xffff'ffff'ffff) | old << 48);
  packet::Store(frame + 8, static_cast<uint32_t>(old >> 16));
}

/// `stored` after covered words changed whose complements and new values add up to `change`:
/// RFC 1624 equation 3, of all words at once.
inline uint16_t ChangeChecksum(uint16_t stored, uint64_t change) {
  return packet::FinishChecksum(uint64_t{static_cast<uint16_t>(~stored)} + change);
}

/// Destination address and port of an untagged IPv4 packet without options, TCP or UDP, become
/// the backend's (port 0: stays); checksums are repaired, and a UDP checksum of 0 stays.
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
