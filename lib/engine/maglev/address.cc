// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

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

IpAddress WithoutHostBits(IpAddress address, uint32_t host_bits) {
  const uint32_t bytes = address.ipv6 ? 16 : 4;
  uint8_t* const end = address.bytes.data() + bytes;
  const uint32_t whole_bytes = std::min(host_bits / 8, bytes);
  std::fill(end - whole_bytes, end, uint8_t{0});
  if (whole_bytes < bytes) *(end - whole_bytes - 1) &= static_cast<uint8_t>(0xff << host_bits % 8);
  return address;
}

std::optional<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = IpAddress::Parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return IpPrefix{*address, 0};
  const uint32_t width = address->ipv6 ? 128 : 32;
  const char* const end = text.data() + text.size();
  uint32_t bits = 0;
  const auto [rest, error] = std::from_chars(text.data() + slash + 1, end, bits);
  if (error != std::errc() || rest != end || bits > width) return std::nullopt;
  const IpPrefix prefix{*address, static_cast<uint8_t>(width - bits)};
  return prefix.Contains(*address) ? std::optional(prefix) : std::nullopt;
}

IpAddress IpPrefix::Last() const {
  IpAddress ones = address;
  std::fill_n(ones.bytes.begin(), address.ipv6 ? 16 : 4, uint8_t{0xff});
  const IpAddress network = WithoutHostBits(ones, host_bits);
  for (size_t i = 0; i < ones.bytes.size(); ++i) {
    ones.bytes[i] = static_cast<uint8_t>(address.bytes[i] | (ones.bytes[i] ^ network.bytes[i]));
  }
  return ones;
}

std::string IpPrefix::ToString() const {
  if (host_bits == 0) return address.ToString();
  return address.ToString() + "/" + std::to_string((address.ipv6 ? 128 : 32) - host_bits);
}

}  // namespace sluice::engine::maglev
