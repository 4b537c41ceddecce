// SPDX-License-Identifier: BSD-3-Clause
//
// What distinguishes flows: the 5-tuple, an address, or a prefix of an address.
#pragma once

#include <cstdint>
#include <string>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

enum class KeyKind : uint8_t { kFiveTuple, kSource, kDestination };

/// One way to tell flows apart. Fields of a packet::FlowKey that it does not use are 0 in its
/// keys; the bits behind a prefix, too.
struct KeySpec {
  KeyKind kind = KeyKind::kFiveTuple;
  uint8_t ipv4_bits = 32;   ///< 0…32 leading bits of the address. Not of 5-tuples.
  uint8_t ipv6_bits = 128;  ///< 0…128.

  friend bool operator==(const KeySpec&, const KeySpec&) = default;

  /// "5-tuple", "source", "destination", "source/24,64" (bits of IPv4, of IPv6).
  std::string Name() const;
  /// The key that the packet of this 5-tuple counts under.
  packet::FlowKey Of(const packet::FlowKey& five_tuple) const;
};

}  // namespace sluice::engine::telemetry
