// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/profile.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/counter_rows.h"
#include "engine/maglev/hashes.h"
#include "packet/bytes.h"

namespace sluice::engine::maglev {
namespace {

using packet::Load;

constexpr auto kNames = base::Names<Profile, 4>({{Profile::kSluice, "sluice"},
                                                 {Profile::kPaper, "paper"},
                                                 {Profile::kKatran, "katran"},
                                                 {Profile::kCilium, "cilium"}});

/// Katran's constants: the words and seeds of its ring hash, and the seeds of its flow hash. The
/// seeds of the flow hash are Katran's maximum number of VIPs, and this number times the ring size.
constexpr uint64_t kKatranOffsetWord = 42;
constexpr uint64_t kKatranSkipWord = 2718281828;
constexpr uint64_t kKatranSkipSeed = 2307;
constexpr uint32_t kKatranAddressSeed = 512;
constexpr uint32_t kKatranFlowSeed = 512 * kSmallRing;
/// Address families, which folly includes in the hash of an address.
constexpr uint64_t kAfInet = 2;
constexpr uint64_t kAfInet6 = 10;

/// Murmur seed from Cilium's default "JLfvgnHc2kaSUFaI".
constexpr uint64_t kCiliumSeed = 0x24b7ef82;

/// Sort key and permutation of a member.
struct Ranked {
  uint64_t rank = 0;  ///< Compared before the name.
  uint16_t member = 0;
  Permutation permutation{};
};

std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

uint64_t KatranAddressHash(const IpAddress& address) {
  if (!address.ipv6) return CityMix(kAfInet, Fnv32(std::span(address.bytes).first(4)));
  const auto [first, second] = SpookyShort(address.bytes, 0, 0);
  return CityMix(kAfInet6, CityMix(first, second));
}

uint64_t KatranHash(uint64_t a, uint64_t b, uint64_t seed) {
  uint8_t bytes[16];
  packet::Store(bytes, a);
  packet::Store(bytes + 8, b);
  return Murmur3(bytes, seed, seed).first;
}

/// Returns the permutation for two independent hashes, reduced as in the paper (Maglev, NSDI'16,
/// section 3.4).
Permutation PermutationOf(uint64_t offset_hash, uint64_t skip_hash, uint32_t slots) {
  return {static_cast<uint32_t>(offset_hash % slots),
          static_cast<uint32_t>(skip_hash % (slots - 1) + 1)};
}

Ranked Rank(Profile profile, const Member& member, uint32_t slots) {
  Ranked result;
  switch (profile) {
    case Profile::kSluice: {
      constexpr uint64_t kSeed = internal::kKeys[0];
      const uint64_t hash = Murmur3(BytesOf(member.name), kSeed, kSeed).first;
      result.permutation = {internal::Scale(static_cast<uint32_t>(hash >> 32), slots),
                            internal::Scale(static_cast<uint32_t>(hash), slots - 1) + 1};
      break;
    }
    case Profile::kPaper: {
      // The paper does not specify the hash functions; this profile uses both words of Murmur3.
      const auto [first, second] = Murmur3(BytesOf(member.name), 0, 0);
      result.permutation = PermutationOf(first, second, slots);
      break;
    }
    case Profile::kKatran:
      result.rank = KatranAddressHash(member.address);
      result.permutation =
          PermutationOf(KatranHash(result.rank, kKatranOffsetWord, 0),
                        KatranHash(result.rank, kKatranSkipWord, kKatranSkipSeed), slots);
      break;
    case Profile::kCilium: {
      const auto [first, second] = Murmur3(BytesOf(member.name), kCiliumSeed, kCiliumSeed);
      result.permutation = PermutationOf(first, second, slots);
      break;
    }
  }
  result.permutation.weight = member.weight;
  return result;
}

/// Returns `flow` without the fields that `rule` ignores.
packet::FlowKey Counted(packet::FlowKey flow, const SlotRule& rule) {
  // The order is Katran's: its flag 8 overrides flag 1 and uses the destination port even if the
  // VIP has port 0.
  if (rule.destination_port_only) {
    flow.source = {};
    flow.source_port = flow.destination_port;
    return flow;
  }
  if (rule.no_source_port) flow.source_port = 0;
  if (rule.any_port) flow.destination_port = 0;
  return flow;
}

uint32_t KatranSlot(const packet::FlowKey& flow, uint32_t slots) {
  const uint32_t ports = __builtin_bswap16(flow.source_port) |
                         uint32_t{__builtin_bswap16(flow.destination_port)} << 16;
  const uint32_t address = flow.ip_version == 4 ? Load<uint32_t>(flow.source.data())
                                                : Jhash(flow.source, kKatranAddressSeed);
  const uint32_t hash = Jhash2Words(address, ports, kKatranFlowSeed);
  // Division by a constant is faster.
  return slots == kSmallRing ? hash % kSmallRing : hash % slots;
}

uint32_t PaperSlot(const packet::FlowKey& flow, uint32_t slots) {
  const uint64_t hash = packet::HashFlowKey(flow, internal::kKeys[0]);
  return static_cast<uint32_t>(slots == kSmallRing ? hash % kSmallRing : hash % slots);
}

}  // namespace

std::string_view ProfileName(Profile profile) { return kNames[static_cast<size_t>(profile)]; }

std::optional<Profile> ProfileByName(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Profile>(found - kNames.begin());
}

uint32_t DefaultSlots(Profile profile) { return profile == Profile::kCilium ? 16381 : kSmallRing; }

WeightRule DefaultWeightRule(Profile profile) {
  if (profile == Profile::kKatran) return WeightRule::kFirstRound;
  return profile == Profile::kCilium ? WeightRule::kCilium : WeightRule::kProportional;
}

std::vector<uint16_t> BuildRing(Profile profile, std::span<const Member> members, uint32_t slots,
                                WeightRule rule, RingCache* rings) {
  if (members.size() > kMaxRingBackends || !IsPrime(slots)) return {};
  std::vector<Ranked> ranked;
  ranked.reserve(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].weight == 0) continue;
    ranked.push_back(Rank(profile, members[i], slots));
    ranked.back().member = static_cast<uint16_t>(i);
  }
  std::ranges::sort(ranked, {}, [&](const Ranked& entry) {
    return std::tuple<uint64_t, std::string_view>(entry.rank, members[entry.member].name);
  });
  std::vector<Permutation> permutations;
  permutations.reserve(ranked.size());
  for (const Ranked& entry : ranked) permutations.push_back(entry.permutation);
  std::vector<uint16_t> ring = rings->Fill(permutations, slots, rule);
  for (uint16_t& owner : ring) owner = ranked[owner].member;
  return ring;
}

uint32_t internal::SlotByRule(const packet::FlowKey& flow, const SlotRule& rule) {
  if (!rule.CountsAll()) {
    return SlotByRule(Counted(flow, rule), {.profile = rule.profile, .slots = rule.slots});
  }
  switch (rule.profile) {
    case Profile::kKatran:
      return KatranSlot(flow, rule.slots);
    case Profile::kPaper:
      return PaperSlot(flow, rule.slots);
    case Profile::kSluice:
    case Profile::kCilium:
      break;
  }
  return SluiceSlot(flow, rule.slots);
}

}  // namespace sluice::engine::maglev
