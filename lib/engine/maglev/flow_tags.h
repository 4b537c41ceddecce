// SPDX-License-Identifier: BSD-3-Clause
//
// How a worker knows flows: by 64 bits of a hash with secret keys, so that strangers cannot choose
// flows that meet in its tables.
#pragma once

#include <cstdint>

#include "packet/flow_key.h"

namespace sluice::engine::maglev {

/// Immutable; a value.
class FlowTags {
 public:
  explicit FlowTags(uint64_t seed);

  /// Of IPv4: `addresses` and `ports`, source and destination, as they lie in its headers.
  uint64_t Of(uint64_t addresses, uint32_t ports, uint8_t protocol) const {
    return packet::FoldProduct(addresses ^ seed_, (uint64_t{protocol} << 32 | ports) ^ key_);
  }
  /// Of any flow; of IPv4 the same value.
  uint64_t Of(const packet::FlowKey& flow) const;
  /// Of the fragments of one datagram: what they share besides `id`, their identification.
  uint64_t OfFragments(const packet::FlowKey& datagram, uint32_t id) const {
    return packet::FoldProduct(Of(datagram) ^ id, key_);
  }

 private:
  uint64_t seed_;
  uint64_t key_;
};

}  // namespace sluice::engine::maglev
