// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/setup.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/maglev/check_pool.h"
#include "engine/maglev/complaints.h"
#include "engine/maglev/outer.h"
#include "engine/maglev/prefix_map.h"
#include "packet/ethernet.h"

namespace sluice::engine::maglev {
namespace {

class Checker {
 public:
  Checker(const Setup& setup, size_t most) : setup_(setup), complaints_(most) {}

  std::vector<Fault> Run() {
    CheckGlobals();
    CheckBalancers();
    if (setup_.vips.size() > kMaxVips) {
      complaints_.Add("%d VIPs exceed the limit of %d", setup_.vips.size(), kMaxVips);
    }
    size_t backends = 0;
    size_t sources = 0;
    for (size_t i = 0; i < setup_.vips.size(); ++i) {
      const VipSetup& vip = setup_.vips[i];
      vip_addresses_.Add(vip.prefix(), static_cast<uint16_t>(std::min<size_t>(i, kMaxVips)));
      backends += vip.backends.size();
      sources += vip.sources.size();
    }
    if (backends > kMaxBackends) {
      complaints_.Add("%d backends of all VIPs exceed the limit of %d", backends, kMaxBackends);
    }
    if (sources > kMaxSources) {
      complaints_.Add("%d sources of all VIPs exceed the limit of %d", sources, kMaxSources);
    }
    for (size_t i = 0; i < setup_.vips.size() && !complaints_.IsFull(); ++i) {
      complaints_.set_place({.vip = i});
      CheckVip(setup_.vips[i]);
    }
    return complaints_.Release();
  }

 private:
  void CheckSource(const char* what, const std::optional<IpAddress>& source, bool ipv6) {
    if (!source) return;
    if (source->ipv6 != ipv6) {
      complaints_.Add("%s %s is not an %s address", what, source->ToString(), FamilyName(ipv6));
    }
    complaints_.CheckHost(what, *source);
  }

  void CheckGlobals() {
    const uint32_t slots = setup_.slots;
    if (slots >= kMaxRingSlots) {
      complaints_.Add("%d slots are too many: give fewer than %d", slots, kMaxRingSlots);
    } else if (slots != 0 && !IsPrime(slots)) {
      uint32_t next = slots;
      while (!IsPrime(next)) ++next;
      complaints_.Add("%d slots are not prime: use %d", slots, next);
    }
    complaints_.CheckRange("the MTU", MtuOf(setup_), kMinMtu, kMaxMtu);
    complaints_.CheckNextHop(setup_.next_hop);
    CheckSource("the outer source", setup_.source_ipv4, false);
    CheckSource("the outer source", setup_.source_ipv6, true);
    complaints_.CheckRange("the GUE port", setup_.gue_port, 1, 65535);
    complaints_.CheckRange("the number of connections", setup_.connections, 0, kMaxConnections);
    complaints_.CheckRange("the number of fragments", setup_.fragments, 0, kMaxFragments);
    const Timeouts& timeouts = setup_.timeouts;
    for (const auto& [what, seconds] : std::initializer_list<std::pair<const char*, uint32_t>>{
             {"the timeout of TCP", timeouts.tcp_s},
             {"the timeout of opening TCP", timeouts.tcp_opening_s},
             {"the timeout of closing TCP", timeouts.tcp_closing_s},
             {"the timeout of UDP", timeouts.udp_s},
             {"the timeout of fragments", timeouts.fragment_s}}) {
      complaints_.CheckRange(what, seconds, 1, kMaxTimeoutSeconds);
    }
  }

  void CheckBalancers() {
    std::set<IpAddress> seen;
    for (const IpAddress& balancer : setup_.balancers) {
      complaints_.CheckHost("balancer", balancer);
      if (!seen.insert(balancer).second) {
        complaints_.Add("balancer %s is listed twice", balancer.ToString());
      }
    }
    if (seen.empty()) return;
    if (!setup_.own_address) {
      complaints_.Add(
          "balancers are listed, but the address of this balancer is missing: set own_address");
    } else if (!seen.contains(*setup_.own_address)) {
      complaints_.Add(
          "the address of this balancer, %s, is not among the balancers: add the address to "
          "balancers",
          setup_.own_address->ToString());
    }
    if (seen.size() > 1 && !setup_.next_hop) {
      complaints_.Add(
          "the next hop to the other balancers is unknown: give the router's MAC address");
    }
    const bool to_ipv4 =
        std::ranges::any_of(seen, [](const IpAddress& address) { return !address.ipv6; });
    const auto ipv6_vip =
        std::ranges::find_if(setup_.vips, [](const VipSetup& vip) { return vip.address.ipv6; });
    if (to_ipv4 && seen.size() > 1 && ipv6_vip != setup_.vips.end()) {
      complaints_.set_place({.vip = static_cast<size_t>(ipv6_vip - setup_.vips.begin())});
      complaints_.Add("fragments of the IPv6 VIP %s cannot reach balancers with IPv4 addresses",
                      Quoted(ipv6_vip->name));
      complaints_.set_place({});
    }
  }

  void CheckVip(const VipSetup& vip) {
    complaints_.set_where(absl::StrCat("vip ", Quoted(vip.name), ": "));
    complaints_.CheckName(vip.name);
    if (!vip_names_.insert(vip.name).second) complaints_.Add("another VIP has this name");
    CheckVipPrefix(vip);
    if (vip.protocol != packet::kProtocolTcp && vip.protocol != packet::kProtocolUdp) {
      complaints_.Add("protocol %d is neither TCP (6) nor UDP (17)", vip.protocol);
    }
    if (vip.quic && vip.protocol != packet::kProtocolUdp) complaints_.Add("QUIC needs UDP");
    if (vip.encapsulation == Encapsulation::kNat && !setup_.next_hop) {
      complaints_.Add("nat requires a next hop to clients: give the router's MAC address");
    }
    const Endpoint endpoint{vip.prefix(), vip.port, vip.protocol};
    const auto [other, is_new] = vips_.try_emplace(endpoint, &vip);
    if (!is_new) {
      complaints_.Add("vip %s already serves %s", Quoted(other->second->name),
                      EndpointText(vip.prefix(), vip.port, vip.protocol));
    }
    pools_.Check(vip);
    complaints_.set_where("");
  }

  void CheckVipPrefix(const VipSetup& vip) {
    complaints_.CheckHost("address", vip.address);
    if (vip.host_bits == 0) return;
    if (!vip.prefix().Contains(vip.address)) {
      complaints_.Add("address %s is not the first address of its prefix", vip.address.ToString());
    }
    // If the first and the last address of the prefix are host addresses, the prefix contains only
    // host addresses.
    complaints_.CheckHost("the last address", vip.prefix().Last());
    if (vip.encapsulation == Encapsulation::kNat) {
      complaints_.Add("nat requires a single address, not %s", vip.prefix().ToString());
    }
  }

  using Endpoint = std::tuple<IpPrefix, uint16_t, uint8_t>;

  const Setup& setup_;
  Complaints complaints_;
  std::set<std::string_view> vip_names_;
  PrefixMap vip_addresses_;
  std::map<Endpoint, const VipSetup*> vips_;
  PoolChecker pools_{setup_, vip_addresses_, complaints_};
};

}  // namespace

uint32_t LongestPacket(const Setup& setup) {
  return std::min(MtuOf(setup), MaxInnerBytes(setup.profile));
}

uint32_t MtuOf(const Setup& setup) {
  constexpr uint32_t kEthernetMtu = 1500;
  const bool katran = setup.profile == Profile::kKatran;
  return setup.mtu.value_or(
      katran ? MaxInnerBytes(setup.profile) + OuterBytes(Encapsulation::kGue, true) : kEthernetMtu);
}

uint32_t MaxInnerBytes(Profile profile) { return profile == Profile::kKatran ? 1500 : kMaxMtu; }

std::string_view StateName(BackendState state) {
  switch (state) {
    case BackendState::kUp:
      return "up";
    case BackendState::kDraining:
      return "draining";
    case BackendState::kDown:
      return "down";
  }
  return "";
}

std::string FixedDifference(const Setup& now, const Setup& next) {
  std::vector<std::string> names;
  const auto compare = [&](std::string_view name, uint32_t one, uint32_t other) {
    if (one != other) names.emplace_back(name);
  };
  compare("connections", now.connections, next.connections);
  compare("fragments", now.fragments, next.fragments);
  compare("timeouts.tcp_s", now.timeouts.tcp_s, next.timeouts.tcp_s);
  compare("timeouts.tcp_opening_s", now.timeouts.tcp_opening_s, next.timeouts.tcp_opening_s);
  compare("timeouts.tcp_closing_s", now.timeouts.tcp_closing_s, next.timeouts.tcp_closing_s);
  compare("timeouts.udp_s", now.timeouts.udp_s, next.timeouts.udp_s);
  compare("timeouts.fragment_s", now.timeouts.fragment_s, next.timeouts.fragment_s);
  return absl::StrJoin(names, ", ");
}

std::vector<Fault> FindFaults(const Setup& setup, size_t most) {
  return Checker(setup, most).Run();
}

std::vector<std::string> Check(const Setup& setup, size_t most) {
  std::vector<std::string> lines;
  for (Fault& fault : FindFaults(setup, most)) lines.push_back(std::move(fault.text));
  return lines;
}

}  // namespace sluice::engine::maglev
