// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/key_spec.h"

#include <algorithm>
#include <cstddef>

namespace sluice::engine::telemetry {

namespace {

packet::Ipv6Address Prefix(const packet::Ipv6Address& address, uint32_t bits) {
  packet::Ipv6Address prefix{};
  std::copy_n(address.begin(), bits / 8, prefix.begin());
  if (bits % 8 != 0) {
    prefix[bits / 8] = static_cast<uint8_t>(address[bits / 8] & (0xff00 >> bits % 8));
  }
  return prefix;
}

}  // namespace

std::string KeySpec::Name() const {
  if (kind == KeyKind::kFiveTuple) return "5-tuple";
  std::string name = kind == KeyKind::kSource ? "source" : "destination";
  if (ipv4_bits == 32 && ipv6_bits == 128) return name;
  return name + "/" + std::to_string(ipv4_bits) + "," + std::to_string(ipv6_bits);
}

packet::FlowKey KeySpec::Of(const packet::FlowKey& five_tuple) const {
  if (kind == KeyKind::kFiveTuple) return five_tuple;
  packet::FlowKey key;
  key.ip_version = five_tuple.ip_version;
  const uint32_t bits = key.ip_version == 4 ? ipv4_bits : ipv6_bits;
  if (kind == KeyKind::kSource) {
    key.source = Prefix(five_tuple.source, bits);
  } else {
    key.destination = Prefix(five_tuple.destination, bits);
  }
  return key;
}

}  // namespace sluice::engine::telemetry
