// SPDX-License-Identifier: BSD-3-Clause
//
// Which addresses a single host may have. No answer goes to any other, and nothing that deserves
// one comes from it.
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "packet/rewrite.h"

namespace sluice::packet {

/// Not a group's. Reads one byte.
inline bool IsHostMac(const uint8_t* mac) { return (mac[0] & 1) == 0; }

/// Not "this network" (0/8), loopback (127/8), multicast (224/4), reserved or broadcast (240/4):
/// RFC 6890, RFC 5771. The broadcast address of a subnet looks like a host's.
inline bool IsHost(const Ipv4Address& address) {
  return address[0] != 0 && address[0] != 127 && address[0] < 224;
}

/// Not ::, ::1, ff00::/8 (RFC 4291), nor ::ffff:0:0/96, which is on no wire (RFC 6890).
inline bool IsHost(const Ipv6Address& address) {
  const uint64_t low = LoadBe64(address.data() + 8);
  if (LoadBe64(address.data()) != 0) return address[0] != 0xff;
  return low > 1 && low >> 32 != 0xffff;
}

}  // namespace sluice::packet
