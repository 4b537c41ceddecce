// SPDX-License-Identifier: BSD-3-Clause
//
// Tests for addresses that a single host can have. Answers must not be sent to any other address,
// and frames from any other address need no answer.
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "packet/rewrite.h"

namespace sluice::packet {

/// Returns true unless the address is a group address. Reads one byte.
inline bool IsHostMac(const uint8_t* mac) { return (mac[0] & 1) == 0; }

/// Returns false for "this network" (0/8), loopback (127/8), multicast (224/4), reserved and
/// broadcast (240/4): RFC 6890, RFC 5771. A subnet's broadcast address cannot be distinguished from
/// a host address.
inline bool IsHost(const Ipv4Address& address) {
  return address[0] != 0 && address[0] != 127 && address[0] < 224;
}

/// Returns false for ::, ::1, ff00::/8 (RFC 4291), and ::ffff:0:0/96, which must not appear on a
/// wire (RFC 6890).
inline bool IsHost(const Ipv6Address& address) {
  const uint64_t low = LoadBe64(address.data() + 8);
  if (LoadBe64(address.data()) != 0) return address[0] != 0xff;
  return low > 1 && low >> 32 != 0xffff;
}

}  // namespace sluice::packet
