// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/tables.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "packet/bytes.h"

namespace sluice::engine::maglev {
namespace {

const std::string kNoName;

// Identifies a backend across configurations.
std::string BackendKey(const std::string& vip, const std::string& backend) {
  return vip + '\n' + backend;
}

bool Serving(const BackendSetup& backend) { return backend.state != BackendState::kDown; }

uint32_t RingWeight(const BackendSetup& backend) {
  return backend.state == BackendState::kUp ? backend.weight : 0;
}

uint32_t SlotsOf(const Setup& setup) {
  return setup.slots != 0 ? setup.slots : DefaultSlots(setup.profile);
}

WeightRule WeightRuleOf(const Setup& setup) {
  return setup.weight_rule.value_or(DefaultWeightRule(setup.profile));
}

// Returns whether equal pools have equal rings in both setups.
bool SameRule(const Setup& one, const Setup& other) {
  return one.profile == other.profile && SlotsOf(one) == SlotsOf(other) &&
         WeightRuleOf(one) == WeightRuleOf(other);
}

bool SamePool(const VipSetup& one, const VipSetup& other) {
  return std::ranges::equal(one.backends, other.backends, [](const auto& a, const auto& b) {
    return a.name == b.name && a.address == b.address && RingWeight(a) == RingWeight(b);
  });
}

// Maps the source prefixes of a VIP to backend indices. `members` contains the indices of the VIP's
// backends.
PrefixMap SourcesOf(const VipSetup& vip, const std::vector<uint16_t>& members) {
  PrefixMap sources;
  if (vip.sources.empty()) return sources;
  absl::flat_hash_map<std::string_view, uint16_t> by_name;
  for (size_t i = 0; i < members.size(); ++i) by_name[vip.backends[i].name] = members[i];
  for (const SourceSetup& source : vip.sources) {
    sources.Add(source.prefix, by_name.at(source.backend));
  }
  return sources;
}

PlainOuter PlainOuterOf(const Backend& backend, uint16_t index, const std::vector<Vip>& vips) {
  if (backend.generation == 0) return {};
  const uint32_t owner =
      PlainOuter::Owner(BackendRef{index, backend.generation}.word(), backend.vip);
  if (!RewritesInPlace(vips[backend.vip].encapsulation)) {
    return MakePlainOuter(backend.outer, owner);
  }
  return {.next_hop = backend.outer.next_hop,
          .sum_or_port = backend.nat_port_be,
          .destination = packet::Load<uint32_t>(backend.address.bytes.data()),
          .owner = owner};
}

// Assigns indices: known keys keep theirs, new keys get the lowest free index.
class IndexKeeper {
 public:
  explicit IndexKeeper(const std::vector<std::string>& previous) : names_(previous) {
    for (uint32_t i = 0; i < names_.size(); ++i) {
      if (!names_[i].empty()) known_[names_[i]] = static_cast<uint16_t>(i);
    }
  }
  /// Reserves the index of a key. Must be called for all keys of the setup before the first
  /// IndexOf.
  void Keep(const std::string& key) { kept_.insert(key); }
  uint16_t IndexOf(const std::string& key) {
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    while (next_ < names_.size() && !names_[next_].empty() && kept_.contains(names_[next_])) {
      ++next_;
    }
    if (next_ == names_.size()) names_.emplace_back();
    names_[next_] = key;
    return static_cast<uint16_t>(next_++);
  }

 private:
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, uint16_t> known_;
  absl::flat_hash_set<std::string> kept_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<const Tables> Tables::Build(const Setup& setup, const Tables* previous,
                                            RingCache* rings) {
  std::unique_ptr<Tables> tables(new Tables);
  tables->setup_ = setup;
  tables->epoch_ = previous == nullptr ? 1 : previous->epoch_ + 1;
  const Tables empty;
  const Tables& before = previous == nullptr ? empty : *previous;

  IndexKeeper vip_indices(before.vip_names_);
  IndexKeeper backend_indices(before.backend_keys_);
  for (const VipSetup& vip : setup.vips) {
    vip_indices.Keep(vip.name);
    for (const BackendSetup& backend : vip.backends) {
      backend_indices.Keep(BackendKey(vip.name, backend.name));
    }
  }
  tables->mtu_ = MtuOf(setup);
  tables->max_inner_ = MaxInnerBytes(setup.profile);
  tables->last_generation_ = before.last_generation_;
  tables->backends_.resize(before.backends_.size());
  tables->backend_names_.resize(before.backends_.size());
  tables->backend_keys_.resize(before.backends_.size());
  // The number of indices never decreases, so that NewOwners::Of finds every index in both tables,
  // including indices that had no owner for some epochs.
  tables->vips_.resize(before.vips_.size());
  tables->vip_names_.resize(before.vip_names_.size());
  tables->AddPeers(setup);
  absl::flat_hash_map<std::string_view, const VipSetup*> with_rings;
  if (SameRule(before.setup_, setup)) {
    for (const VipSetup& vip : before.setup_.vips) with_rings[vip.name] = &vip;
  }
  for (const VipSetup& vip : setup.vips) {
    const uint16_t index = vip_indices.IndexOf(vip.name);
    std::vector<uint16_t> members;
    for (const BackendSetup& backend : vip.backends) {
      const std::string key = BackendKey(vip.name, backend.name);
      members.push_back(backend_indices.IndexOf(key));
      tables->AddBackend(setup, vip, index, backend, members.back(), key, before);
    }
    tables->AddVip(setup, vip, index, members);
    const auto old = with_rings.find(vip.name);
    const bool same = old != with_rings.end() && SamePool(*old->second, vip);
    tables->vips_[index].ring = same ? before.vips_[index].ring : Ring(setup, vip, members, rings);
  }
  tables->index_ = VipIndex(tables->vips_, tables->backends_);
  for (const Backend& backend : tables->backends_) {
    const auto index = static_cast<uint16_t>(tables->plain_outers_.size());
    tables->plain_outers_.push_back(PlainOuterOf(backend, index, tables->vips_));
  }
  if (tables->backends_.empty()) tables->plain_outers_.emplace_back();
  return tables;
}

void Tables::AddBackend(const Setup& setup, const VipSetup& vip, uint16_t vip_index,
                        const BackendSetup& backend, uint16_t index, const std::string& key,
                        const Tables& before) {
  if (index >= backends_.size()) {
    backends_.resize(index + 1);
    backend_names_.resize(index + 1);
    backend_keys_.resize(index + 1);
  }
  if (index >= last_generation_.size()) last_generation_.resize(index + 1);
  backend_names_[index] = backend.name;
  backend_keys_[index] = key;
  Backend& entry = backends_[index];
  entry.vip = vip_index;
  entry.state = backend.state;
  entry.address = backend.address;
  entry.nat_port_be = __builtin_bswap16(backend.port);
  entry.outer = MakeOuter(setup, vip.encapsulation, backend);
  const bool served_before =
      index < before.backends_.size() && before.backend_keys_[index] == key &&
      before.backends_[index].generation != 0 && before.backends_[index].address == backend.address;
  if (!Serving(backend)) {
    entry.generation = 0;
  } else if (served_before) {
    entry.generation = before.backends_[index].generation;
  } else {
    uint16_t& last = last_generation_[index];
    last = last == 0xffff ? uint16_t{1} : static_cast<uint16_t>(last + 1);
    entry.generation = last;
  }
}

void Tables::AddPeers(const Setup& setup) {
  std::vector<IpAddress> balancers = setup.balancers;
  std::ranges::sort(balancers);  // All balancers must use the same order.
  Setup redirect = setup;
  if (setup.own_address) {
    (setup.own_address->ipv6 ? redirect.source_ipv6 : redirect.source_ipv4) = setup.own_address;
  }
  for (const IpAddress& balancer : balancers) {
    BackendSetup peer;
    peer.address = balancer;
    peers_.push_back(
        {balancer, MakeOuter(redirect, Encapsulation::kIp, peer), balancer == setup.own_address});
  }
}

void Tables::AddVip(const Setup& setup, const VipSetup& vip, uint16_t index,
                    const std::vector<uint16_t>& members) {
  if (index >= vips_.size()) {
    vips_.resize(index + 1);
    vip_names_.resize(index + 1);
  }
  vip_names_[index] = vip.name;
  Vip& entry = vips_[index];
  entry.index = index;
  entry.protocol = vip.protocol;
  entry.address = vip.address;
  entry.host_bits = vip.host_bits;
  entry.port_be = __builtin_bswap16(vip.port);
  entry.encapsulation = vip.encapsulation;
  entry.in_use = true;
  entry.quic = vip.quic;
  entry.connections = vip.connections && setup.connections != 0;
  // PlainPath does not read QUIC connection ids. It always derives the outer source from the
  // packet's source, which destination_port_only ignores.
  if (entry.connections && !entry.quic && !vip.destination_port_only) {
    entry.plain_bytes = RewritesInPlace(vip.encapsulation)
                            ? MaxInner(0)
                            : std::min(MaxInner(kPlainBytes), kMaxBuiltBytes - kPlainBytes);
  }
  entry.rule = {.profile = setup.profile,
                .slots = SlotsOf(setup),
                .any_port = vip.port == 0,
                .destination_port_only = vip.destination_port_only,
                .no_source_port = vip.no_source_port};
  for (size_t i = 0; i < members.size(); ++i) {
    for (const uint32_t id : vip.backends[i].quic_ids) {
      entry.quic_ids.emplace_back(id, members[i]);
    }
  }
  std::ranges::sort(entry.quic_ids);
  entry.sources = SourcesOf(vip, members);
}

std::vector<uint16_t> Tables::Ring(const Setup& setup, const VipSetup& vip,
                                   const std::vector<uint16_t>& members, RingCache* rings) {
  std::vector<Member> ring_members;
  for (const BackendSetup& backend : vip.backends) {
    ring_members.push_back({backend.name, backend.address, RingWeight(backend)});
  }
  std::vector<uint16_t> ring =
      BuildRing(setup.profile, ring_members, SlotsOf(setup), WeightRuleOf(setup), rings);
  for (uint16_t& slot : ring) slot = members[slot];
  return ring;
}

const std::string& Tables::VipName(uint16_t index) const {
  return index < vip_names_.size() ? vip_names_[index] : kNoName;
}

const std::string& Tables::BackendName(uint16_t index) const {
  return index < backend_names_.size() ? backend_names_[index] : kNoName;
}

uint16_t Tables::BackendBySource(const Vip& vip, const packet::FlowKey& flow) const {
  if (vip.sources.empty()) return kNobody;
  const uint16_t* const found = vip.sources.Find({flow.source, flow.ip_version == 6});
  return found != nullptr && backends_[*found].state == BackendState::kUp ? *found : kNobody;
}

uint16_t Tables::BackendOf(const Vip& vip, const packet::FlowKey& flow, uint32_t* slot) const {
  if (vip.ring.empty()) return kNobody;
  *slot = SlotOf(flow, vip.rule);
  return vip.ring[*slot];
}

}  // namespace sluice::engine::maglev
