// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/check_pool.h"

#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace sluice::engine::maglev {
namespace {

/// Returns whether `address` is a loopback address. A backend may have one: health checks reach it,
/// although packets are not forwarded to it.
bool IsLoopback(const IpAddress& address) {
  return address.ipv6 ? address == *IpAddress::Parse("::1") : address.bytes[0] == 127;
}

}  // namespace

std::string EndpointText(const IpPrefix& prefix, uint16_t port, uint8_t protocol) {
  const std::string host = prefix.ToString();
  return absl::StrCat(ProtocolName(protocol), " ",
                      prefix.address.ipv6 ? absl::StrCat("[", host, "]") : host, ":",
                      port == 0 ? "any" : absl::StrCat(port));
}

void PoolChecker::Check(const VipSetup& vip) {
  const std::string of_vip = complaints_.where();
  const Place place = complaints_.place();
  CheckBackends(vip);
  complaints_.set_where(of_vip);
  complaints_.set_place(place);
  CheckSources(vip);
  complaints_.set_where(of_vip);
}

void PoolChecker::CheckBackends(const VipSetup& vip) {
  const std::string of_vip = complaints_.where();
  std::set<std::string_view> names;
  std::map<IpAddress, std::string_view> addresses;
  std::map<uint32_t, std::string_view> quic_ids;
  for (size_t i = 0; i < vip.backends.size(); ++i) {
    if (complaints_.IsFull()) return;
    const BackendSetup& backend = vip.backends[i];
    complaints_.set_place({complaints_.place().vip, i});
    complaints_.set_where(absl::StrCat(of_vip, "backend ", Quoted(backend.name), ": "));
    complaints_.CheckName(backend.name);
    if (!names.insert(backend.name).second) {
      complaints_.Add("another backend of this VIP has this name");
    }
    const auto [same, is_new] = addresses.try_emplace(backend.address, backend.name);
    if (!is_new && setup_.profile == Profile::kKatran) {
      complaints_.Add(
          "backend %s has this address too; Katran's ring identifies backends by address",
          Quoted(same->second));
    }
    for (const uint32_t id : backend.quic_ids) {
      if (id == 0) complaints_.Add("0 is not a valid QUIC server id");
      const auto [twin, id_is_new] = quic_ids.try_emplace(id, backend.name);
      if (!id_is_new) {
        complaints_.Add("backend %s has the QUIC server id %d too", Quoted(twin->second), id);
      }
    }
    CheckBackend(vip, backend);
  }
}

void PoolChecker::CheckSources(const VipSetup& vip) {
  const std::string of_vip = complaints_.where();
  std::set<std::string_view> names;
  if (!vip.sources.empty()) {
    for (const BackendSetup& backend : vip.backends) names.insert(backend.name);
  }
  std::set<IpPrefix> seen;
  for (const SourceSetup& source : vip.sources) {
    if (complaints_.IsFull()) return;
    complaints_.set_where(absl::StrCat(of_vip, "source ", source.prefix.ToString(), ": "));
    if (!source.prefix.Contains(source.prefix.address)) {
      complaints_.Add("the address is not the first address of its prefix");
    }
    if (source.prefix.address.ipv6 != vip.address.ipv6) {
      complaints_.Add("a source must have an %s address, like the VIP",
                      FamilyName(vip.address.ipv6));
    }
    if (!seen.insert(source.prefix).second) complaints_.Add("the source is listed twice");
    if (!names.contains(source.backend)) {
      complaints_.Add("the VIP has no backend with the name %s", Quoted(source.backend));
    }
  }
}

void PoolChecker::CheckBackend(const VipSetup& vip, const BackendSetup& backend) {
  if (!IsLoopback(backend.address)) complaints_.CheckHost("address", backend.address);
  if (const uint16_t* const same = vips_.Find(backend.address)) {
    complaints_.AddConflict({.vip = *same}, "address %s is a VIP: packets would loop",
                            backend.address.ToString());
  }
  complaints_.CheckRange("weight", backend.weight, 0, 65535);
  complaints_.CheckNextHop(backend.mac);
  if (!backend.mac && vip.encapsulation == Encapsulation::kMac) {
    complaints_.Add("encapsulation mac requires the backend's MAC address");
  } else if (!backend.mac && !setup_.next_hop) {
    complaints_.Add(
        "the next hop is unknown: give the backend's MAC address, or the router's as next_hop");
  }
  CheckFamilies(vip, backend);
  if (vip.encapsulation == Encapsulation::kNat) {
    CheckNat(vip, backend);
  } else if (backend.port != 0) {
    complaints_.Add("port %d requires encapsulation nat, not %s", backend.port,
                    EncapsulationName(vip.encapsulation));
  }
}

void PoolChecker::CheckFamilies(const VipSetup& vip, const BackendSetup& backend) {
  const bool inner_ipv6 = vip.address.ipv6;
  const bool outer_ipv6 = backend.address.ipv6;
  if (vip.encapsulation == Encapsulation::kNat) {
    if (inner_ipv6 != outer_ipv6) {
      complaints_.Add("nat cannot translate from an %s VIP to an %s address",
                      FamilyName(inner_ipv6), FamilyName(outer_ipv6));
    }
  } else if (inner_ipv6 && !outer_ipv6 && vip.encapsulation != Encapsulation::kMac) {
    complaints_.Add("an IPv6 VIP cannot be tunneled over IPv4: use the backend's IPv6 address");
  }
  const uint32_t least =
      (inner_ipv6 ? kMinIpv6Mtu : kMinMtu) + OuterBytes(vip.encapsulation, outer_ipv6);
  if (const uint32_t mtu = MtuOf(setup_); mtu < least && mtu >= kMinMtu) {
    complaints_.Add("an MTU of %d is too small for %s with encapsulation %s: give at least %d", mtu,
                    FamilyName(inner_ipv6), EncapsulationName(vip.encapsulation), least);
  }
}

/// An answer is matched by its source address and port, so the address and port of a backend must
/// identify one port of one VIP.
void PoolChecker::CheckNat(const VipSetup& vip, const BackendSetup& backend) {
  if (vip.port == 0 && backend.port != 0) {
    complaints_.Add(
        "a VIP that serves all ports cannot be rewritten to port %d, since the ports of replies "
        "could not be restored",
        backend.port);
  }
  const uint16_t port = backend.port != 0 ? backend.port : vip.port;
  auto& by_port = nat_sources_[{backend.address, vip.protocol}];
  for (const auto& taken :
       {by_port.find(port), by_port.find(0), port == 0 ? by_port.begin() : by_port.end()}) {
    if (taken == by_port.end() || taken->second.vip == complaints_.place().vip) continue;
    complaints_.AddConflict(taken->second,
                            "vip %s also rewrites to %s, so replies would be ambiguous",
                            Quoted(setup_.vips[taken->second.vip].name),
                            EndpointText({backend.address, 0}, taken->first, vip.protocol));
    break;
  }
  by_port.try_emplace(port, complaints_.place());
}

}  // namespace sluice::engine::maglev
