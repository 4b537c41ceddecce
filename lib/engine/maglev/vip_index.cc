// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/vip_index.h"

#include <algorithm>
#include <bit>

#include "engine/maglev/tables.h"

namespace sluice::engine::maglev {
namespace {

size_t RoomFor(size_t places) { return std::bit_ceil(std::max<size_t>(2 * places, 2)); }

IpAddress Network(const IpAddress& address, uint8_t host_bits) {
  return host_bits == 0 ? address : WithoutHostBits(address, host_bits);
}

/// Inserts a value into an ascending list unless the list contains it.
template <typename Value>
void InsertOnce(std::vector<Value>* values, const Value& value) {
  const auto at = std::ranges::lower_bound(*values, value);
  if (at == values->end() || *at != value) values->insert(at, value);
}

}  // namespace

VipIndex::Scope VipIndex::Scope::Of(const Vip& vip) {
  return {.host_bits = vip.host_bits, .any_port = vip.port_be == 0};
}

VipIndex::VipIndex(std::span<const Vip> vips, std::span<const Backend> backends) {
  ipv4_places_.assign(RoomFor(vips.size()), {});
  ipv4_mask_ = ipv4_places_.size() - 1;
  ipv6_places_.Reserve(vips.size());
  addresses_.Reserve(vips.size());
  nat_sources_.Reserve(2 * backends.size());
  std::vector<Scope> ipv4_scopes;
  for (const Vip& vip : vips) {
    if (!vip.in_use) continue;
    const Scope scope = Scope::Of(vip);
    addresses_.Add({.address = vip.address, .host_bits = vip.host_bits, .vip = &vip});
    InsertOnce(&address_scopes_[vip.address.ipv6], {.host_bits = vip.host_bits, .any_port = true});
    if (vip.address.ipv6) {
      ipv6_places_.Add({.address = vip.address,
                        .port_be = vip.port_be,
                        .protocol = vip.protocol,
                        .host_bits = vip.host_bits,
                        .vip = &vip});
      InsertOnce(&ipv6_scopes_, scope);
    } else {
      AddIpv4(vip);
      InsertOnce(&ipv4_scopes, scope);
    }
  }
  for (const Scope& scope : ipv4_scopes) {
    if (scope.host_bits == 0) {
      ipv4_any_port_ |= scope.any_port;
      continue;
    }
    IpAddress ones;
    std::fill_n(ones.bytes.begin(), 4, uint8_t{0xff});
    const IpAddress network = WithoutHostBits(ones, scope.host_bits);
    const uint64_t ports = scope.any_port ? 0 : uint64_t{0xffff} << kPortShift;
    ipv4_scopes_.push_back({.mask = packet::Load<uint32_t>(network.bytes.data()) |
                                    uint64_t{0xff} << kProtocolShift | ports,
                            .host_bits = uint64_t{scope.host_bits} << kHostBitsShift});
  }
  for (const Backend& backend : backends) {
    if (backend.generation == 0) continue;
    const Vip& vip = vips[backend.vip];
    if (vip.encapsulation != Encapsulation::kNat) continue;
    nat_sources_.Add({.address = backend.address,
                      .port_be = backend.nat_port_be != 0 ? backend.nat_port_be : vip.port_be,
                      .protocol = vip.protocol,
                      .vip = &vip,
                      .backend = &backend});
    nat_sources_.Add({.address = backend.address, .vip = &vip, .backend = &backend});
  }
}

void VipIndex::AddIpv4(const Vip& vip) {
  const uint64_t address = packet::Load<uint32_t>(vip.address.bytes.data());
  const uint64_t key = Ipv4Key(address | uint64_t{vip.port_be} << kPortShift, vip.protocol) |
                       uint64_t{vip.host_bits} << kHostBitsShift;
  size_t at = Ipv4Hash(key);
  while (ipv4_places_[at & ipv4_mask_].key != 0) ++at;
  ipv4_places_[at & ipv4_mask_] = {key, &vip};
}

const Vip* VipIndex::FindIpv4Wider(uint64_t key) const {
  constexpr uint64_t kPort = uint64_t{0xffff} << kPortShift;
  if (ipv4_any_port_) {
    const Vip* const vip = FindIpv4Key(key & ~kPort);
    if (vip != nullptr) return vip;
  }
  for (const Ipv4Scope& scope : ipv4_scopes_) {
    const Vip* const vip = FindIpv4Key((key & scope.mask) | scope.host_bits);
    if (vip != nullptr) return vip;
  }
  return nullptr;
}

const Vip* VipIndex::Find(const IpAddress& address, uint16_t port_be, uint8_t protocol) const {
  if (!address.ipv6) {
    const uint64_t destination = packet::Load<uint32_t>(address.bytes.data()) | uint64_t{port_be}
                                                                                    << kPortShift;
    return FindIpv4(Ipv4Key(destination, protocol));
  }
  for (const Scope& scope : ipv6_scopes_) {
    const Place* const place = ipv6_places_.Find({.address = Network(address, scope.host_bits),
                                                  .port_be = scope.any_port ? uint16_t{0} : port_be,
                                                  .protocol = protocol,
                                                  .host_bits = scope.host_bits});
    if (place != nullptr) return place->vip;
  }
  return nullptr;
}

bool VipIndex::Covers(const IpAddress& address) const {
  return std::ranges::any_of(address_scopes_[address.ipv6], [&](const Scope& scope) {
    return addresses_.Find({.address = Network(address, scope.host_bits),
                            .host_bits = scope.host_bits}) != nullptr;
  });
}

const Backend* VipIndex::FindNatSource(const IpAddress& address, uint16_t port_be,
                                       uint8_t protocol) const {
  if (nat_sources_.empty()) return nullptr;
  const Place* place =
      nat_sources_.Find({.address = address, .port_be = port_be, .protocol = protocol});
  if (place == nullptr) place = nat_sources_.Find({.address = address, .protocol = protocol});
  return place != nullptr ? place->backend : nullptr;
}

const Backend* VipIndex::FindNatHost(const IpAddress& address) const {
  if (nat_sources_.empty()) return nullptr;
  const Place* const place = nat_sources_.Find({.address = address});
  return place != nullptr ? place->backend : nullptr;
}

void VipIndex::PlaceMap::Reserve(size_t places) { slots_.assign(RoomFor(places), {}); }

void VipIndex::PlaceMap::Add(const Place& place) {
  if (Find(place) != nullptr) return;
  size_t at = Hash(place) & (slots_.size() - 1);
  while (slots_[at].vip != nullptr) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = place;
  empty_ = false;
}

}  // namespace sluice::engine::maglev
