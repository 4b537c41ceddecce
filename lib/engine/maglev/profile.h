// SPDX-License-Identifier: BSD-3-Clause
//
// Hash profiles select the algorithms for rings and slots. `katran` and `cilium` match these
// balancers byte for byte (docs/maglev-peers.md), so that Sluice can run in one fleet with them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/maglev/address.h"
#include "engine/maglev/ring.h"
#include "engine/maglev/ring_cache.h"
#include "packet/flow_key.h"

namespace sluice::engine::maglev {

enum class Profile : uint8_t {
  /// The fastest: ring from a 64-bit hash of the backend's name, a flow's slot by multiplication.
  kSluice,
  kPaper,   ///< The paper: 64-bit hash of the 5-tuple mod M.
  kKatran,  ///< Katran's ring, flow hash, encapsulation and drops.
  kCilium,  ///< Cilium's ring; slots are chosen as in kSluice.
};
std::string_view ProfileName(Profile profile);
std::optional<Profile> ProfileByName(std::string_view name);
uint32_t DefaultSlots(Profile profile);
WeightRule DefaultWeightRule(Profile profile);

/// A backend, as input to a ring.
struct Member {
  std::string name;  ///< Stable and unique in the pool.
  IpAddress address;
  uint32_t weight = 1;
};

/// Builds the ring over `members`: the index of a member for each slot. The ring depends on names,
/// addresses and weights, never on the order of `members`. Returns an empty ring if all weights are
/// 0, there are too many members, or `slots` is not prime. `rings` caches the rings of other pools.
std::vector<uint16_t> BuildRing(Profile profile, std::span<const Member> members, uint32_t slots,
                                WeightRule rule, RingCache* rings);
inline std::vector<uint16_t> BuildRing(Profile profile, std::span<const Member> members,
                                       uint32_t slots, WeightRule rule) {
  RingCache rings;
  return BuildRing(profile, members, slots, rule, &rings);
}
inline std::vector<uint16_t> BuildRing(Profile profile, std::span<const Member> members,
                                       uint32_t slots) {
  return BuildRing(profile, members, slots, DefaultWeightRule(profile));
}

/// Selects the fields of a flow that choose its slot, for one VIP. Two members are Katran's flags 1
/// and 8.
struct SlotRule {
  Profile profile = Profile::kSluice;
  uint32_t slots = kSmallRing;
  bool any_port = false;               ///< The VIP has port 0: ignores the destination port.
  bool destination_port_only = false;  ///< Katran's flag 8: ignores source address and port.
  bool no_source_port = false;         ///< Katran's flag 1: ignores the source port.

  /// Returns whether the slot depends on all fields of a flow.
  bool CountsAll() const { return !(any_port | destination_port_only | no_source_port); }
};

namespace internal {

/// Digits of pi. The keys are public because all balancers of a fleet must use the same keys.
inline constexpr uint64_t kKeys[]{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                                  0x082efa98ec4e6c89, 0x452821e638d01377};

/// Returns hash · range / 2^32, which is below `range`.
inline uint32_t Scale(uint32_t hash, uint32_t range) {
  return static_cast<uint32_t>(uint64_t{hash} * range >> 32);
}

/// Computes the slot for profile kSluice from addresses and ports. The protocol is omitted because
/// a VIP has only one.
inline uint32_t SluiceSlot(const packet::FlowKey& flow, uint32_t slots) {
  using packet::FoldProduct;
  using packet::Load;
  const uint8_t* source = flow.source.data();
  const uint8_t* destination = flow.destination.data();
  const uint64_t ports = uint64_t{flow.source_port} | uint64_t{flow.destination_port} << 16;
  uint64_t addresses;
  if (flow.ip_version == 4) {
    addresses = Load<uint32_t>(source) | uint64_t{Load<uint32_t>(destination)} << 32;
  } else {
    addresses =
        FoldProduct(Load<uint64_t>(source) ^ kKeys[0], Load<uint64_t>(source + 8) ^ kKeys[1]) ^
        FoldProduct(Load<uint64_t>(destination) ^ kKeys[2],
                    Load<uint64_t>(destination + 8) ^ kKeys[3]);
  }
  const uint64_t hash =
      FoldProduct(FoldProduct(addresses ^ kKeys[1], ports ^ kKeys[2]) ^ kKeys[3], kKeys[4]);
  return Scale(static_cast<uint32_t>(hash >> 32), slots);
}

/// Computes the slot for any profile and rule.
uint32_t SlotByRule(const packet::FlowKey& flow, const SlotRule& rule);

}  // namespace internal

/// Returns the slot of a flow, below rule.slots. All balancers and all runs compute the same slot.
inline uint32_t SlotOf(const packet::FlowKey& flow, const SlotRule& rule) {
  const bool published = rule.profile == Profile::kPaper || rule.profile == Profile::kKatran;
  if (published || !rule.CountsAll()) [[unlikely]]
    return internal::SlotByRule(flow, rule);
  return internal::SluiceSlot(flow, rule.slots);
}

}  // namespace sluice::engine::maglev
