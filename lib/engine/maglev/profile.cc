// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/profile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <tuple>

#include "engine/maglev/hashes.h"
#include "packet/bytes.h"

namespace sluice::engine::maglev {
namespace {

using packet::Ipv6Address;
using packet::Load;

constexpr std::array<std::string_view, 4> kNames{"sluice", "paper", "katran", "cilium"};

/// Public, since all balancers of a fleet must agree: decimals of pi.
constexpr uint64_t kKeys[]{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                           0x082efa98ec4e6c89, 0x452821e638d01377};

/// Katran's constants: maglev's hash functions, and seeds of the flow hash (its maximum of
/// VIPs, and that times the ring's size).
constexpr uint64_t kKatranOffsetWord = 42;
constexpr uint64_t kKatranSkipWord = 2718281828;
constexpr uint64_t kKatranSkipSeed = 2307;
constexpr uint32_t kKatranAddressSeed = 512;
constexpr uint32_t kKatranFlowSeed = 512 * kSmallRing;
/// Address families that folly folds into an address' hash.
constexpr uint64_t kAfInet = 2;
constexpr uint64_t kAfInet6 = 10;

/// Murmur's seed out of Cilium's default "JLfvgnHc2kaSUFaI".
constexpr uint64_t kCiliumSeed = 0x24b7ef82;

/// What a member is sorted by, and its permutation.
struct Ranked {
  uint64_t rank = 0;  ///< Before the name.
  uint16_t member = 0;
  Seat seat{};
};

std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// hash · range / 2^32: below `range`.
uint32_t Scale(uint32_t hash, uint32_t range) {
  return static_cast<uint32_t>(uint64_t{hash} * range >> 32);
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

/// Two independent hashes, reduced as the paper does (section 3.4).
Seat SeatOf(uint64_t offset_hash, uint64_t skip_hash, uint32_t slots) {
  return {static_cast<uint32_t>(offset_hash % slots),
          static_cast<uint32_t>(skip_hash % (slots - 1) + 1)};
}

Ranked Rank(Profile profile, const Member& member, uint32_t slots) {
  Ranked result;
  switch (profile) {
    case Profile::kSluice: {
      const uint64_t hash = Murmur3(BytesOf(member.name), kKeys[0], kKeys[0]).first;
      result.seat = {Scale(static_cast<uint32_t>(hash >> 32), slots),
                     Scale(static_cast<uint32_t>(hash), slots - 1) + 1};
      break;
    }
    case Profile::kPaper: {
      // The paper names no functions: both words of Murmur3 are ours.
      const auto [first, second] = Murmur3(BytesOf(member.name), 0, 0);
      result.seat = SeatOf(first, second, slots);
      break;
    }
    case Profile::kKatran:
      result.rank = KatranAddressHash(member.address);
      result.seat = SeatOf(KatranHash(result.rank, kKatranOffsetWord, 0),
                           KatranHash(result.rank, kKatranSkipWord, kKatranSkipSeed), slots);
      break;
    case Profile::kCilium: {
      const auto [first, second] = Murmur3(BytesOf(member.name), kCiliumSeed, kCiliumSeed);
      result.seat = SeatOf(first, second, slots);
      break;
    }
  }
  result.seat.weight = member.weight;
  return result;
}

/// Multiplies to 128 bits and folds: every bit of both words reaches the result.
uint64_t Fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// The parts of a flow that count under a rule.
struct Parts {
  const Ipv6Address* source;
  uint16_t source_port;
  uint16_t destination_port;
};

constexpr Ipv6Address kNoAddress{};

Parts PartsOf(const packet::FlowKey& flow, const SlotRule& rule) {
  // Katran's order: its flag 8 keeps the port of a VIP without one, and overrules flag 1.
  if (rule.destination_port_only) {
    return {&kNoAddress, flow.destination_port, flow.destination_port};
  }
  return {&flow.source, rule.no_source_port ? uint16_t{0} : flow.source_port,
          rule.any_port ? uint16_t{0} : flow.destination_port};
}

uint32_t SluiceSlot(const packet::FlowKey& flow, const SlotRule& rule) {
  const Parts parts = PartsOf(flow, rule);
  const uint64_t rest = uint64_t{parts.source_port} | uint64_t{parts.destination_port} << 16 |
                        uint64_t{flow.protocol} << 32 | uint64_t{flow.ip_version} << 40;
  const uint8_t* source = parts.source->data();
  const uint8_t* destination = flow.destination.data();
  uint64_t addresses;
  if (flow.ip_version == 4) {
    addresses = Load<uint32_t>(source) | uint64_t{Load<uint32_t>(destination)} << 32;
  } else {
    addresses =
        Fold(Load<uint64_t>(source) ^ kKeys[0], Load<uint64_t>(source + 8) ^ kKeys[1]) ^
        Fold(Load<uint64_t>(destination) ^ kKeys[2], Load<uint64_t>(destination + 8) ^ kKeys[3]);
  }
  const uint64_t hash = Fold(Fold(addresses ^ kKeys[1], rest ^ kKeys[2]) ^ kKeys[3], kKeys[4]);
  return Scale(static_cast<uint32_t>(hash >> 32), rule.slots);
}

uint32_t KatranSlot(const packet::FlowKey& flow, const SlotRule& rule) {
  const Parts parts = PartsOf(flow, rule);
  const uint32_t ports = __builtin_bswap16(parts.source_port) |
                         uint32_t{__builtin_bswap16(parts.destination_port)} << 16;
  const uint32_t address = flow.ip_version == 4 ? Load<uint32_t>(parts.source->data())
                                                : Jhash(*parts.source, kKatranAddressSeed);
  const uint32_t hash = Jhash2Words(address, ports, kKatranFlowSeed);
  // Dividing by a constant is faster.
  return rule.slots == kSmallRing ? hash % kSmallRing : hash % rule.slots;
}

uint32_t PaperSlot(const packet::FlowKey& flow, const SlotRule& rule) {
  const Parts parts = PartsOf(flow, rule);
  packet::FlowKey counted = flow;
  counted.source = *parts.source;
  counted.source_port = parts.source_port;
  counted.destination_port = parts.destination_port;
  return static_cast<uint32_t>(packet::HashFlowKey(counted, kKeys[0]) % rule.slots);
}

}  // namespace

std::string_view ProfileName(Profile profile) { return kNames[static_cast<size_t>(profile)]; }

std::optional<Profile> ProfileByName(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Profile>(found - kNames.begin());
}

uint32_t DefaultSlots(Profile profile) {
  return profile == Profile::kCilium ? 16381 : kSmallRing;
}

WeightRule DefaultWeightRule(Profile profile) {
  if (profile == Profile::kKatran) return WeightRule::kFirstRound;
  return profile == Profile::kCilium ? WeightRule::kCilium : WeightRule::kProportional;
}

std::vector<uint16_t> BuildRing(Profile profile, std::span<const Member> members, uint32_t slots,
                                WeightRule rule) {
  if (members.size() > kMaxSeats || !IsPrime(slots)) return {};
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
  std::vector<Seat> seats;
  seats.reserve(ranked.size());
  for (const Ranked& entry : ranked) seats.push_back(entry.seat);
  std::vector<uint16_t> ring = FillRing(seats, slots, rule);
  for (uint16_t& owner : ring) owner = ranked[owner].member;
  return ring;
}

uint32_t SlotOf(const packet::FlowKey& flow, const SlotRule& rule) {
  switch (rule.profile) {
    case Profile::kKatran:
      return KatranSlot(flow, rule);
    case Profile::kPaper:
      return PaperSlot(flow, rule);
    case Profile::kSluice:
    case Profile::kCilium:
      break;
  }
  return SluiceSlot(flow, rule);
}

}  // namespace sluice::engine::maglev
