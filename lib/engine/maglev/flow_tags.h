// SPDX-License-Identifier: BSD-3-Clause
//
// Flow keys in a worker's tables: 64-bit hashes with secret keys, so that attackers cannot choose
// flows that collide.
#pragma once

#include <cstdint>

#include "packet/flow_key.h"

namespace sluice::engine::maglev {

/// An immutable value type.
class FlowTags {
 public:
  explicit FlowTags(uint64_t seed);

  /// Returns the tag of an IPv4 flow. `addresses` and `ports` are source and destination as stored
  /// in the headers.
  uint64_t Of(uint64_t addresses, uint32_t ports, uint8_t protocol) const {
    return packet::FoldProduct(addresses ^ seed_, (uint64_t{protocol} << 32 ^ key_) ^ ports);
  }
  /// Returns the tag of any flow; for IPv4 the same as the overload above.
  uint64_t Of(const packet::FlowKey& flow) const;
  /// Returns the tag for the fragments of a datagram with identification `id`.
  uint64_t OfFragments(const packet::FlowKey& datagram, uint32_t id) const {
    return packet::FoldProduct(Of(datagram) ^ id, key_);
  }

 private:
  uint64_t seed_;
  uint64_t key_;
};

}  // namespace sluice::engine::maglev
