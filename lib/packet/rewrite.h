// SPDX-License-Identifier: BSD-3-Clause
//
// Rewrites frames in place. Swaps keep every Internet checksum valid, because the sum does not
// depend on the order of words. Setters update the IPv4 and upper-layer checksums incrementally.
// The caller must have parsed the frame, because lengths are not checked here.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/parse.h"

namespace sluice::packet {

using MacAddress = std::array<uint8_t, 6>;
using Ipv4Address = std::array<uint8_t, 4>;   ///< Network order.
using Ipv6Address = std::array<uint8_t, 16>;  ///< Network order.

/// Selects the source or the destination.
enum class End : uint8_t { kSource, kDestination };

/// Exchanges the frame's source and destination MAC addresses.
inline void SwapMacs(uint8_t* frame) {
  const uint64_t low = Load<uint64_t>(frame);       // dst[0…5], src[0…1]
  const uint32_t high = Load<uint32_t>(frame + 8);  // src[2…5]
  Store<uint64_t>(frame, low >> 48 | uint64_t{high} << 16 | low << 48);
  Store<uint32_t>(frame + 8, static_cast<uint32_t>(low >> 16));
}

/// Exchanges the addresses of the IPv4 header at `ipv4`. The upper-layer checksum of a
/// source-routed packet becomes invalid.
inline void SwapIpv4Addresses(uint8_t* ipv4) {
  Store<uint64_t>(ipv4 + 12, std::rotl(Load<uint64_t>(ipv4 + 12), 32));
}

/// Exchanges the addresses of the IPv6 header at `ipv6`.
inline void SwapIpv6Addresses(uint8_t* ipv6) {
  const auto source = Load<Ipv6Address>(ipv6 + 8);
  Store(ipv6 + 8, Load<Ipv6Address>(ipv6 + 24));
  Store(ipv6 + 24, source);
}

/// Exchanges the ports of the UDP or TCP header at `l4`.
inline void SwapPorts(uint8_t* l4) { Store<uint32_t>(l4, std::rotl(Load<uint32_t>(l4), 16)); }

/// Updates the upper-layer checksum after one covered word has changed. Does nothing if the frame
/// has no such checksum (`L4ChecksumOffset() == 0`) or a UDP checksum of 0. ICMP over IPv4 has no
/// pseudo-header, so all its words may be 0: if the update yields 0, the message is summed again. A
/// fragment is not summed again, because its other words are in other frames.
inline void RepairL4Checksum(uint8_t* frame, const Headers& headers, uint16_t old_word,
                             uint16_t new_word) {
  const uint32_t offset = headers.L4ChecksumOffset();
  if (offset == 0) return;
  uint8_t* field = frame + offset;
  const auto stored = Load<uint16_t>(field);
  if (headers.protocol == kProtocolUdp) {
    Store(field, UpdateUdpChecksum(stored, old_word, new_word));
    return;
  }
  uint16_t updated = UpdateChecksum(stored, old_word, new_word);
  if (updated == 0 && !headers.HasPseudoHeader() && !headers.IsFragment()) {
    Store<uint16_t>(field, 0);
    updated = FinishChecksum(SumBytes(frame + headers.l4, headers.end - headers.l4));
  }
  Store(field, updated);
}

/// Writes `word` (in memory order) at `offset` in the frame and updates the upper-layer checksum,
/// which covers it.
inline void SetL4Word(uint8_t* frame, const Headers& headers, uint32_t offset, uint16_t word) {
  const auto old_word = Load<uint16_t>(frame + offset);
  Store(frame + offset, word);
  RepairL4Checksum(frame, headers, old_word, word);
}

/// Sets an address of an IPv4 packet and updates its checksums. The upper-layer checksum of a
/// source-routed packet does not cover the destination.
inline void SetIpv4Address(uint8_t* frame, const Headers& headers, End end,
                           const Ipv4Address& address) {
  const bool covered = headers.HasPseudoHeader() && (end == End::kSource || !headers.source_routed);
  uint8_t* checksum = frame + headers.l3 + 10;
  const uint32_t field = headers.l3 + (end == End::kSource ? 12 : 16);
  for (uint32_t i = 0; i < address.size(); i += 2) {
    const auto old_word = Load<uint16_t>(frame + field + i);
    const auto new_word = Load<uint16_t>(address.data() + i);
    Store(checksum, UpdateChecksum(Load<uint16_t>(checksum), old_word, new_word));
    Store(frame + field + i, new_word);
    if (covered) RepairL4Checksum(frame, headers, old_word, new_word);
  }
}

/// Like SetIpv4Address, for IPv6, which has no header checksum.
inline void SetIpv6Address(uint8_t* frame, const Headers& headers, End end,
                           const Ipv6Address& address) {
  const bool covered = end == End::kSource || !headers.source_routed;
  const uint32_t field = headers.l3 + (end == End::kSource ? 8 : 24);
  for (uint32_t i = 0; i < address.size(); i += 2) {
    const auto old_word = Load<uint16_t>(frame + field + i);
    const auto new_word = Load<uint16_t>(address.data() + i);
    Store(frame + field + i, new_word);
    if (covered) RepairL4Checksum(frame, headers, old_word, new_word);
  }
}

/// Sets a UDP or TCP port (host order) and updates the checksum.
inline void SetPort(uint8_t* frame, const Headers& headers, End end, uint16_t port) {
  SetL4Word(frame, headers, headers.l4 + (end == End::kSource ? 0 : 2), __builtin_bswap16(port));
}

inline void SetMac(uint8_t* frame, End end, const MacAddress& address) {
  Store(frame + (end == End::kSource ? 6 : 0), address);
}

}  // namespace sluice::packet
