// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/address.h"

#include <arpa/inet.h>

#include <algorithm>

namespace sluice::engine::maglev {

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::string terminated(text);
  IpAddress address;
  address.ipv6 = terminated.find(':') != std::string::npos;
  const int family = address.ipv6 ? AF_INET6 : AF_INET;
  if (inet_pton(family, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

IpAddress IpAddress::Of(const packet::Ipv4Address& address) {
  IpAddress result;
  std::copy(address.begin(), address.end(), result.bytes.begin());
  return result;
}

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(ipv6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof(text));
}

}  // namespace sluice::engine::maglev
