// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses of a port: its MAC address and a configured list of IP addresses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "packet/rewrite.h"

namespace sluice::packet {

/// Returns an address such as "10.0.0.1".
std::string AddressText(const Ipv4Address& address);

/// The addresses of one port; a value type. Add the addresses first; then any thread may read them.
class OwnAddresses {
 public:
  /// Maximum number of addresses per family.
  static constexpr uint32_t kMaxAddresses = 16;

  OwnAddresses() = default;
  explicit OwnAddresses(const MacAddress& mac) : mac_(mac) {}

  /// Adds the addresses from a comma-separated list ("10.0.0.2,fe80::2"). On failure returns false
  /// with one line in `error`, but keeps the addresses before the invalid one.
  bool Add(std::string_view list, std::string* error);

  /// Add one address. Return false if it is not a unicast address, or if there is no room.
  bool Add(const Ipv4Address& address);
  bool Add(const Ipv6Address& address);

  void set_mac(const MacAddress& mac) { mac_ = mac; }
  const MacAddress& mac() const { return mac_; }
  std::span<const Ipv4Address> ipv4() const { return {ipv4_.data(), ipv4_count_}; }
  std::span<const Ipv6Address> ipv6() const { return {ipv6_.data(), ipv6_count_}; }
  bool empty() const { return ipv4_count_ + ipv6_count_ == 0; }

  /// Returns whether the six bytes at `mac` are the port's MAC address.
  bool IsOurMac(const uint8_t* mac) const;
  bool Owns(const Ipv4Address& address) const;
  bool Owns(const Ipv6Address& address) const;

 private:
  bool AddOne(const std::string& text);

  MacAddress mac_{};
  uint32_t ipv4_count_ = 0;
  uint32_t ipv6_count_ = 0;
  std::array<Ipv4Address, kMaxAddresses> ipv4_{};
  std::array<Ipv6Address, kMaxAddresses> ipv6_{};
};

}  // namespace sluice::packet
