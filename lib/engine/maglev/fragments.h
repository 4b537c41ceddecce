// SPDX-License-Identifier: BSD-3-Clause
//
// What the first fragments of datagrams decided, for the fragments that follow and carry no
// ports (Maglev, section 4.3). One worker's; bounded; the oldest of a bucket gives way.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/maglev/connections.h"

namespace sluice::engine::maglev {

class FragmentTable {
 public:
  FragmentTable(uint32_t capacity, uint32_t timeout_s);

  /// `tag`: keyed 64-bit hash of addresses, protocol and identification.
  void Put(uint64_t tag, BackendRef backend, uint16_t vip, uint32_t seconds);
  struct Found {
    BackendRef backend;
    uint16_t vip;
  };
  /// What was put within the timeout.
  std::optional<Found> Find(uint64_t tag, uint32_t seconds) const;
};

}  // namespace sluice::engine::maglev
