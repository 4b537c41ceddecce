// SPDX-License-Identifier: BSD-3-Clause
//
// Defines flows: by 5-tuple, by address, or by address prefix.
#pragma once

#include <cstdint>
#include <string>

#include "packet/flow_key.h"

namespace sluice::engine::telemetry {

enum class KeyKind : uint8_t { kFiveTuple, kSource, kDestination };

/// One definition of flows. In its keys, unused fields of packet::FlowKey and bits after a prefix
/// are 0.
struct KeySpec {
  KeyKind kind = KeyKind::kFiveTuple;
  uint8_t ipv4_bits = 32;   ///< 0…32 leading bits of the address; not used for 5-tuples.
  uint8_t ipv6_bits = 128;  ///< 0…128.

  friend bool operator==(const KeySpec&, const KeySpec&) = default;

  /// Returns "5-tuple", "source", "destination" or "source/24,64" (bits of IPv4 and IPv6).
  std::string Name() const;
  /// Returns the key under which a packet of this 5-tuple is counted.
  packet::FlowKey Of(const packet::FlowKey& five_tuple) const;
};

}  // namespace sluice::engine::telemetry
