// SPDX-License-Identifier: BSD-3-Clause
//
// IPv4 and IPv6 addresses and prefixes as the configuration and the tables use them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "packet/rewrite.h"

namespace sluice::engine::maglev {

struct IpAddress {
  packet::Ipv6Address bytes{};  ///< Network order; IPv4 uses the first 4 bytes, the others are 0.
  bool ipv6 = false;

  /// Parses "10.0.0.1" or "fc00::1" and rejects all other forms.
  static std::optional<IpAddress> Parse(std::string_view text);
  static IpAddress Of(const packet::Ipv4Address& address);
  static IpAddress Of(const packet::Ipv6Address& address) { return {address, true}; }
  std::string ToString() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

/// Returns `address` with its last `host_bits` bits set to 0. If the address has fewer bits, all
/// bits are 0.
IpAddress WithoutHostBits(IpAddress address, uint32_t host_bits);

/// A range of addresses that differ only in their last `host_bits` bits.
struct IpPrefix {
  IpAddress address;      ///< First address of the range: the host bits are 0.
  uint8_t host_bits = 0;  ///< Bits after the prefix, at most 32 or 128; 0: a single address.

  /// Parses "192.0.2.0/24", "2001:db8::/32" or a single address. Rejects all other forms, including
  /// prefixes whose host bits are not 0, such as "192.0.2.1/24".
  static std::optional<IpPrefix> Parse(std::string_view text);
  bool Contains(const IpAddress& other) const {
    return other.ipv6 == address.ipv6 && WithoutHostBits(other, host_bits) == address;
  }
  IpAddress Last() const;
  /// Returns the form that Parse accepts; a single address is written without a length.
  std::string ToString() const;

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;
};

}  // namespace sluice::engine::maglev
