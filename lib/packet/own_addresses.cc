// SPDX-License-Identifier: BSD-3-Clause
#include "packet/own_addresses.h"

#include <arpa/inet.h>

#include <algorithm>

#include "packet/bytes.h"
#include "packet/host_address.h"

namespace sluice::packet {

std::string AddressText(const Ipv4Address& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, address.data(), text, sizeof(text));
  return text;
}

bool OwnAddresses::Add(const Ipv4Address& address) {
  if (!IsHost(address) || ipv4_count_ == kMaxAddresses) return false;
  ipv4_[ipv4_count_++] = address;
  return true;
}

bool OwnAddresses::Add(const Ipv6Address& address) {
  if (!IsHost(address) || ipv6_count_ == kMaxAddresses) return false;
  ipv6_[ipv6_count_++] = address;
  return true;
}

bool OwnAddresses::AddOne(const std::string& text) {
  Ipv4Address v4;
  Ipv6Address v6;
  if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) return Add(v4);
  return inet_pton(AF_INET6, text.c_str(), v6.data()) == 1 && Add(v6);
}

bool OwnAddresses::Add(std::string_view list, std::string* error) {
  for (;;) {
    const size_t comma = list.find(',');
    const std::string text(list.substr(0, comma));
    // Checked because inet_pton would stop at a NUL.
    if (text.find('\0') != std::string::npos || !AddOne(text)) {
      *error = std::string(text.c_str());
      error->append(": give unicast IPv4 or IPv6 addresses, at most ")
          .append(std::to_string(kMaxAddresses))
          .append(" of each family");
      return false;
    }
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

bool OwnAddresses::IsOurMac(const uint8_t* mac) const { return Load<MacAddress>(mac) == mac_; }

bool OwnAddresses::Owns(const Ipv4Address& address) const {
  return std::ranges::find(ipv4(), address) != ipv4().end();
}

bool OwnAddresses::Owns(const Ipv6Address& address) const {
  return std::ranges::find(ipv6(), address) != ipv6().end();
}

}  // namespace sluice::packet
