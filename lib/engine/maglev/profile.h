// SPDX-License-Identifier: BSD-3-Clause
//
// Hash profiles: whose rings and slots this balancer computes. `katran` and `cilium` are
// byte-exact (reference 1.2 and 1.4), so that Sluice can serve beside such a fleet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/maglev/address.h"
#include "engine/maglev/ring.h"
#include "packet/flow_key.h"

namespace sluice::engine::maglev {

enum class Profile : uint8_t {
  kSluice,  ///< Ours: names hashed with 64 bits, slots by multiplication; the fastest.
  kPaper,   ///< The paper's arithmetic: 64-bit hash of the 5-tuple mod M.
  kKatran,  ///< Katran's ring, flow hash and encapsulation; drops what it drops.
  kCilium,  ///< Cilium's ring; slots are chosen as kSluice does.
};
std::string_view ProfileName(Profile profile);
std::optional<Profile> ProfileByName(std::string_view name);
/// The ring size that a profile has unless told otherwise.
uint32_t DefaultSlots(Profile profile);
/// The same for what weights mean.
WeightRule DefaultWeightRule(Profile profile);

/// A backend as a ring sees it.
struct Member {
  std::string name;  ///< Stable and unique in the pool.
  IpAddress address;
  uint32_t weight = 1;
};

/// The ring over `members`: for each slot an index into them. Depends on names, addresses
/// and weights, never on their order. Empty if nobody has weight.
std::vector<uint16_t> BuildRing(Profile profile, std::span<const Member> members, uint32_t slots,
                                WeightRule rule);
inline std::vector<uint16_t> BuildRing(Profile profile, std::span<const Member> members,
                                       uint32_t slots) {
  return BuildRing(profile, members, slots, DefaultWeightRule(profile));
}

/// What of a flow chooses its slot; of a VIP. Katran's flags 1 and 8.
struct SlotRule {
  Profile profile = Profile::kSluice;
  uint32_t slots = kSmallRing;
  bool any_port = false;          ///< The VIP has port 0: the destination port does not count.
  bool destination_port_only = false;  ///< Katran's flag 8: neither source address nor port.
  bool no_source_port = false;    ///< Katran's flag 1.
};

/// The slot of a flow, below rule.slots. The same on every balancer, in every run.
uint32_t SlotOf(const packet::FlowKey& flow, const SlotRule& rule);

}  // namespace sluice::engine::maglev
