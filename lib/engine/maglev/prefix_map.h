// SPDX-License-Identifier: BSD-3-Clause
//
// Maps addresses to the value of their longest prefix. A lookup costs one hash for each prefix
// length in use in the address's family, and does not allocate.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/maglev/address.h"

namespace sluice::engine::maglev {

class PrefixMap {
 public:
  /// Adds a prefix. Returns false and leaves the map unchanged if it already contains the prefix.
  bool Add(const IpPrefix& prefix, uint16_t value) {
    if (!values_.try_emplace(prefix, value).second) return false;
    std::vector<uint8_t>& lengths = host_bits_[prefix.address.ipv6];
    const auto at = std::ranges::lower_bound(lengths, prefix.host_bits);
    if (at == lengths.end() || *at != prefix.host_bits) lengths.insert(at, prefix.host_bits);
    return true;
  }
  /// Returns the value of the longest prefix that contains `address`, or null.
  const uint16_t* Find(const IpAddress& address) const {
    for (const uint8_t bits : host_bits_[address.ipv6]) {
      const auto found = values_.find(IpPrefix{WithoutHostBits(address, bits), bits});
      if (found != values_.end()) return &found->second;
    }
    return nullptr;
  }
  bool empty() const { return values_.empty(); }

 private:
  struct Hash {
    size_t operator()(const IpPrefix& prefix) const {
      return absl::HashOf(prefix.address.bytes, prefix.address.ipv6, prefix.host_bits);
    }
  };

  absl::flat_hash_map<IpPrefix, uint16_t, Hash> values_;
  /// Host bits of the prefixes in use, ascending: [0] IPv4, [1] IPv6.
  std::array<std::vector<uint8_t>, 2> host_bits_;
};

}  // namespace sluice::engine::maglev
