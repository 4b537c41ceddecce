// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/export/flow_text.h"

#include <arpa/inet.h>

#include "packet/ethernet.h"

namespace sluice::engine::telemetry {

namespace {

std::string ProtocolText(uint8_t protocol) {
  switch (protocol) {
    case packet::kProtocolIcmp:
      return "icmp";
    case packet::kProtocolTcp:
      return "tcp";
    case packet::kProtocolUdp:
      return "udp";
    case packet::kProtocolIcmpv6:
      return "icmp6";
    default:
      return "protocol-" + std::to_string(protocol);
  }
}

std::string EndText(const packet::Ipv6Address& address, uint16_t port, const packet::FlowKey& key) {
  const std::string text = AddressText(address, key.ip_version);
  // Fragments have no ports either.
  if (key.source_port == 0 && key.destination_port == 0) return text;
  return (key.ip_version == 6 ? "[" + text + "]" : text) + ":" + std::to_string(port);
}

}  // namespace

std::string AddressText(const packet::Ipv6Address& address, uint8_t ip_version) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(ip_version == 6 ? AF_INET6 : AF_INET, address.data(), text, sizeof(text));
  return text;
}

std::string PrefixText(const KeySpec& spec, const packet::FlowKey& key) {
  if (spec.kind == KeyKind::kFiveTuple) return "";
  const std::string text =
      AddressText(spec.kind == KeyKind::kSource ? key.source : key.destination, key.ip_version);
  const bool ipv6 = key.ip_version == 6;
  const uint8_t bits = ipv6 ? spec.ipv6_bits : spec.ipv4_bits;
  return bits == (ipv6 ? 128 : 32) ? text : text + "/" + std::to_string(bits);
}

std::string FlowText(const KeySpec& spec, const packet::FlowKey& key) {
  if (spec.kind != KeyKind::kFiveTuple) return PrefixText(spec, key);
  return ProtocolText(key.protocol) + " " + EndText(key.source, key.source_port, key) + " > " +
         EndText(key.destination, key.destination_port, key);
}

}  // namespace sluice::engine::telemetry
