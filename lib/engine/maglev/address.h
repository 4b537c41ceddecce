// SPDX-License-Identifier: BSD-3-Clause
//
// An IPv4 or IPv6 address, as configuration and tables name hosts.
#pragma once

#include <compare>
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

}  // namespace sluice::engine::maglev
