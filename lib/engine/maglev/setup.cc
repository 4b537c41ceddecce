// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/setup.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::engine::maglev {
namespace {

constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

/// Bytes that an encapsulation adds to the inner packet.
uint32_t OuterBytes(Encapsulation encapsulation, bool ipv6) {
  const uint32_t ip = ipv6 ? 40 : 20;
  switch (encapsulation) {
    case Encapsulation::kIp:
      return ip;
    case Encapsulation::kGue:
      return ip + 8;
    case Encapsulation::kGre:
      return ip + 4;
    case Encapsulation::kNat:
      break;
  }
  return 0;
}

const char* FamilyName(bool ipv6) { return ipv6 ? "IPv6" : "IPv4"; }

const char* ProtocolName(uint8_t protocol) { return protocol == kTcp ? "TCP" : "UDP"; }

/// Whether one host can have it: not 0, not multicast, not the broadcast address.
bool IsHost(const IpAddress& address) {
  if (address == IpAddress{{}, address.ipv6}) return false;
  return address.bytes[0] < (address.ipv6 ? 0xff : 224);
}

bool IsUnicast(const packet::MacAddress& mac) {
  return (mac[0] & 1) == 0 && mac != packet::MacAddress{};
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

/// A name as messages show it: no byte of it can end the line or its quotes.
std::string Quoted(std::string_view name) {
  return absl::StrCat("\"", absl::CHexEscape(std::string(name.substr(0, kMaxNameBytes))), "\"");
}

/// Where traffic goes to or comes from.
using Endpoint = std::tuple<IpAddress, uint16_t, uint8_t>;

std::string Text(const Endpoint& endpoint) {
  const auto& [address, port, protocol] = endpoint;
  return absl::StrFormat(address.ipv6 ? "%s [%s]:%s" : "%s %s:%s", ProtocolName(protocol),
                         address.ToString(), port == 0 ? "any" : absl::StrCat(port));
}

class Checker {
 public:
  Checker(const Setup& setup, size_t most) : setup_(setup), most_(most) {}

  std::vector<std::string> Run() {
    CheckGlobals();
    CheckBalancers();
    if (setup_.vips.size() > kMaxVips) {
      Complain("%d VIPs are more than %d", setup_.vips.size(), kMaxVips);
    }
    size_t backends = 0;
    for (const VipSetup& vip : setup_.vips) {
      vip_addresses_.insert(vip.address);
      backends += vip.backends.size();
    }
    if (backends > kMaxBackends) {
      Complain("%d backends of all VIPs are more than %d", backends, kMaxBackends);
    }
    for (const VipSetup& vip : setup_.vips) {
      if (errors_.size() < most_) CheckVip(vip);
    }
    return std::move(errors_);
  }

 private:
  template <typename... Args>
  void Complain(const absl::FormatSpec<Args...>& format, const Args&... args) {
    if (errors_.size() < most_) errors_.push_back(where_ + absl::StrFormat(format, args...));
  }

  void CheckRange(const char* what, uint32_t value, uint32_t least, uint32_t most) {
    if (value >= least && value <= most) return;
    Complain("%s is %d: it must be %d ... %d", what, value, least, most);
  }

  void CheckHost(const char* what, const IpAddress& address) {
    if (!IsHost(address)) Complain("%s %s is not a host's address", what, address.ToString());
  }

  void CheckNextHop(const std::optional<packet::MacAddress>& mac) {
    if (mac && !IsUnicast(*mac)) Complain("the next hop's MAC address is 0 or a group's");
  }

  void CheckSource(const char* what, const std::optional<IpAddress>& source, bool ipv6) {
    if (!source) return;
    if (source->ipv6 != ipv6) {
      Complain("%s %s is not an %s address", what, source->ToString(), FamilyName(ipv6));
    }
    CheckHost(what, *source);
  }

  void CheckGlobals() {
    const uint32_t slots = setup_.slots;
    if (slots >= kMaxRingSlots) {
      Complain("%d slots are too many: below %d", slots, kMaxRingSlots);
    } else if (slots != 0 && !IsPrime(slots)) {
      uint32_t next = slots;
      while (!IsPrime(next)) ++next;
      Complain("%d slots are not prime: take %d", slots, next);
    }
    CheckRange("the MTU", setup_.mtu, kMinMtu, kMaxMtu);
    CheckNextHop(setup_.next_hop);
    CheckSource("the outer source", setup_.source_ipv4, false);
    CheckSource("the outer source", setup_.source_ipv6, true);
    CheckRange("the GUE port", setup_.gue_port, 1, 65535);
    CheckRange("the number of connections", setup_.connections, 0, kMaxConnections);
    CheckRange("the number of fragments", setup_.fragments, 0, kMaxFragments);
    const Timeouts& timeouts = setup_.timeouts;
    for (const auto& [what, seconds] : std::initializer_list<std::pair<const char*, uint32_t>>{
             {"the timeout of TCP", timeouts.tcp_s},
             {"the timeout of opening TCP", timeouts.tcp_opening_s},
             {"the timeout of closing TCP", timeouts.tcp_closing_s},
             {"the timeout of UDP", timeouts.udp_s},
             {"the timeout of fragments", timeouts.fragment_s}}) {
      CheckRange(what, seconds, 1, kMaxTimeoutSeconds);
    }
  }

  void CheckBalancers() {
    std::set<IpAddress> seen;
    for (const IpAddress& balancer : setup_.balancers) {
      CheckHost("balancer", balancer);
      if (!seen.insert(balancer).second) {
        Complain("balancer %s is listed twice", balancer.ToString());
      }
    }
    if (seen.empty()) return;
    if (!setup_.own_address) {
      Complain("balancers are listed, but not which of them this one is");
    } else if (!seen.contains(*setup_.own_address)) {
      Complain("%s, this balancer, is not among the balancers", setup_.own_address->ToString());
    }
    if (seen.size() > 1 && !setup_.next_hop) {
      Complain("no next hop towards the other balancers: give the router's MAC address");
    }
    const bool to_ipv4 =
        std::ranges::any_of(seen, [](const IpAddress& address) { return !address.ipv6; });
    const auto ipv6_vip =
        std::ranges::find_if(setup_.vips, [](const VipSetup& vip) { return vip.address.ipv6; });
    if (to_ipv4 && seen.size() > 1 && ipv6_vip != setup_.vips.end()) {
      Complain("balancers have IPv4 addresses: fragments of the IPv6 VIP %s cannot reach them",
               Quoted(ipv6_vip->name));
    }
  }

  void CheckVip(const VipSetup& vip) {
    where_ = absl::StrCat("vip ", Quoted(vip.name), ": ");
    if (!IsName(vip.name)) {
      Complain("a name has 1 ... %d printable ASCII characters without quotes and backslashes",
               kMaxNameBytes);
    }
    if (!vip_names_.insert(vip.name).second) Complain("another VIP has this name");
    CheckHost("address", vip.address);
    if (vip.protocol != kTcp && vip.protocol != kUdp) {
      Complain("protocol %d is neither TCP (6) nor UDP (17)", vip.protocol);
    }
    if (vip.quic && vip.protocol != kUdp) Complain("QUIC needs UDP");
    const Endpoint endpoint{vip.address, vip.port, vip.protocol};
    const auto [other, is_new] = vips_.try_emplace(endpoint, &vip);
    if (!is_new) {
      Complain("vip %s serves %s already", Quoted(other->second->name), Text(endpoint));
    }
    CheckPool(vip);
    where_.clear();
  }

  void CheckPool(const VipSetup& vip) {
    const std::string of_vip = where_;
    std::set<std::string_view> names;
    std::map<IpAddress, std::string_view> addresses;
    std::map<uint32_t, std::string_view> quic_ids;
    for (const BackendSetup& backend : vip.backends) {
      if (errors_.size() == most_) return;
      where_ = absl::StrCat(of_vip, "backend ", Quoted(backend.name), ": ");
      if (!IsName(backend.name)) {
        Complain("a name has 1 ... %d printable ASCII characters without quotes and backslashes",
                 kMaxNameBytes);
      }
      if (!names.insert(backend.name).second) Complain("another backend of this VIP has this name");
      const auto [same, is_new] = addresses.try_emplace(backend.address, backend.name);
      if (!is_new && setup_.profile == Profile::kKatran) {
        Complain("backend %s has this address too; Katran's ring knows backends by address",
                 Quoted(same->second));
      }
      if (backend.quic_id != 0) {
        const auto [twin, id_is_new] = quic_ids.try_emplace(backend.quic_id, backend.name);
        if (!id_is_new) {
          Complain("backend %s has the QUIC server id %d too", Quoted(twin->second),
                   backend.quic_id);
        }
      }
      CheckBackend(vip, backend);
    }
  }

  void CheckBackend(const VipSetup& vip, const BackendSetup& backend) {
    CheckHost("address", backend.address);
    if (vip_addresses_.contains(backend.address)) {
      Complain("address %s is a VIP: packets would come back", backend.address.ToString());
    }
    CheckRange("weight", backend.weight, 0, 65535);
    CheckNextHop(backend.mac);
    if (!backend.mac && !setup_.next_hop) {
      Complain("no next hop: give its MAC address, or the router's for all");
    }
    CheckFamilies(vip, backend);
    if (vip.encapsulation == Encapsulation::kNat) {
      CheckNat(vip, backend);
    } else if (backend.port != 0) {
      Complain("port %d needs encapsulation nat, not %s", backend.port,
               EncapsulationName(vip.encapsulation));
    }
  }

  void CheckFamilies(const VipSetup& vip, const BackendSetup& backend) {
    const bool inner_ipv6 = vip.address.ipv6;
    const bool outer_ipv6 = backend.address.ipv6;
    if (vip.encapsulation == Encapsulation::kNat) {
      if (inner_ipv6 != outer_ipv6) {
        Complain("nat cannot turn an %s VIP into an %s address", FamilyName(inner_ipv6),
                 FamilyName(outer_ipv6));
      }
    } else if (inner_ipv6 && !outer_ipv6) {
      Complain("an IPv6 VIP cannot travel in IPv4: give the backend's IPv6 address");
    }
    const uint32_t least =
        (inner_ipv6 ? kMinIpv6Mtu : kMinMtu) + OuterBytes(vip.encapsulation, outer_ipv6);
    if (setup_.mtu < least && setup_.mtu >= kMinMtu) {
      Complain("an MTU of %d is too small for %s with encapsulation %s: at least %d", setup_.mtu,
               FamilyName(inner_ipv6), EncapsulationName(vip.encapsulation), least);
    }
  }

  /// Answers are known by where they come from: that must name one VIP, and one port of it.
  void CheckNat(const VipSetup& vip, const BackendSetup& backend) {
    if (vip.port == 0 && backend.port != 0) {
      Complain("a VIP of any port cannot be rewritten to port %d: answers would not be restored",
               backend.port);
    }
    const uint16_t port = backend.port != 0 ? backend.port : vip.port;
    auto& by_port = nat_sources_[{backend.address, vip.protocol}];
    for (const auto& taken :
         {by_port.find(port), by_port.find(0), port == 0 ? by_port.begin() : by_port.end()}) {
      if (taken == by_port.end() || taken->second == &vip) continue;
      Complain("vip %s rewrites to %s too: answers could be either's", Quoted(taken->second->name),
               Text({backend.address, taken->first, vip.protocol}));
      break;
    }
    by_port.try_emplace(port, &vip);
  }

  const Setup& setup_;
  size_t most_;
  std::vector<std::string> errors_;
  std::string where_;  ///< What every message begins with.
  std::set<std::string_view> vip_names_;
  std::set<IpAddress> vip_addresses_;
  std::map<Endpoint, const VipSetup*> vips_;
  /// By a backend's address and protocol, then by port; 0: any.
  std::map<std::pair<IpAddress, uint8_t>, std::map<uint16_t, const VipSetup*>> nat_sources_;
};

}  // namespace

std::string_view EncapsulationName(Encapsulation encapsulation) {
  constexpr std::array<std::string_view, 4> kNames{"ip", "gue", "gre", "nat"};
  return kNames[static_cast<size_t>(encapsulation)];
}

std::vector<std::string> Check(const Setup& setup, size_t most) {
  return Checker(setup, most).Run();
}

}  // namespace sluice::engine::maglev
