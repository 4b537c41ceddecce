// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/complaints.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/host_address.h"

namespace sluice::engine::maglev {

const char* ProtocolName(uint8_t protocol) {
  return protocol == packet::kProtocolTcp ? "TCP" : "UDP";
}

const char* FamilyName(bool ipv6) { return ipv6 ? "IPv6" : "IPv4"; }

std::string Quoted(std::string_view name) {
  return absl::StrCat("\"", absl::CHexEscape(std::string(name.substr(0, kMaxNameBytes))), "\"");
}

void Complaints::CheckRange(const char* what, uint32_t value, uint32_t least, uint32_t most) {
  if (value >= least && value <= most) return;
  Add("%s is %d, but must be %d ... %d", what, value, least, most);
}

void Complaints::CheckName(std::string_view name) {
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, is_printable)) {
    return;
  }
  Add("a name must have 1 ... %d printable ASCII characters, without quotes and backslashes",
      kMaxNameBytes);
}

void Complaints::CheckHost(const char* what, const IpAddress& address) {
  const bool is_host =
      address.ipv6 ? packet::IsHost(address.bytes)
                   : packet::IsHost(packet::Load<packet::Ipv4Address>(address.bytes.data()));
  if (!is_host) Add("%s %s is not the address of a host", what, address.ToString());
}

void Complaints::CheckNextHop(const std::optional<packet::MacAddress>& mac) {
  if (mac && (!packet::IsHostMac(mac->data()) || *mac == packet::MacAddress{})) {
    Add("the next hop's MAC address is 0 or a group address");
  }
}

}  // namespace sluice::engine::maglev
