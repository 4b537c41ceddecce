// SPDX-License-Identifier: BSD-3-Clause
//
// IPv4 and IPv6 addresses and prefixes, as configuration and tables name hosts and networks.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "packet/rewrite.h"

namespace sluice::engine::maglev {

struct IpAddress {
  packet::Ipv6Address bytes{};  ///< Network order; IPv4 fills the first 4, the rest is 0.
  bool ipv6 = false;

  /// "10.0.0.1" or "fc00::1", nothing else.
  static std::optional<IpAddress> Parse(std::string_view text);
  static IpAddress Of(const packet::Ipv4Address& address);
  static IpAddress Of(const packet::Ipv6Address& address) { return {address, true}; }
  std::string ToString() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

/// `address` with its last `host_bits` bits set to 0: all, where it has no more.
IpAddress WithoutHostBits(IpAddress address, uint32_t host_bits);

/// The addresses that share all bits but the last ones.
struct IpPrefix {
  IpAddress address;      ///< The first of them: its host bits are 0.
  uint8_t host_bits = 0;  ///< Bits behind the prefix, at most 32 or 128; 0: one address alone.

  /// "192.0.2.0/24", "2001:db8::/32", or an address alone. Nothing else, and so no prefix with
  /// bits behind it, "192.0.2.1/24".
  static std::optional<IpPrefix> Parse(std::string_view text);
  bool Contains(const IpAddress& other) const {
    return other.ipv6 == address.ipv6 && WithoutHostBits(other, host_bits) == address;
  }
  IpAddress Last() const;
  /// As Parse reads it; an address alone without its length.
  std::string ToString() const;

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;
};

}  // namespace sluice::engine::maglev
