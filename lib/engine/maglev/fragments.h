// SPDX-License-Identifier: BSD-3-Clause
//
// What the first fragments of datagrams decided, for the fragments that follow and carry no
// ports (Maglev, NSDI'16, section 4.3). One worker's; bounded; the oldest of a bucket gives way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/maglev/connections.h"

namespace sluice::engine::maglev {

class FragmentTable {
 public:
  /// At least `capacity` entries (rounded up to a power of two, at least 4, at most 2^28).
  FragmentTable(uint32_t capacity, uint32_t timeout_s);

  /// `tag`: keyed 64-bit hash of addresses, protocol and identification. What was put under
  /// the same tag before is replaced. `backend` is somebody: its generation is not 0. `vip` is an
  /// index, or a value of the caller's that is none.
  void Put(uint64_t tag, BackendRef backend, uint16_t vip, uint32_t seconds);
  struct Found {
    BackendRef backend;
    uint16_t vip;
  };
  /// What was put within the timeout.
  std::optional<Found> Find(uint64_t tag, uint32_t seconds) const;

  uint32_t capacity() const { return static_cast<uint32_t>(buckets_.size()) * kSlots; }

 private:
  static constexpr uint32_t kSlots = 4;

  struct Entry {
    uint64_t tag = 0;
    uint32_t put_s = 0;
    BackendRef backend;  ///< Nobody: the entry is empty.
    uint16_t vip = 0;
  };
  using Bucket = std::array<Entry, kSlots>;

  size_t BucketOf(uint64_t tag) const { return tag & (buckets_.size() - 1); }

  std::vector<Bucket> buckets_;  ///< A power of two of them.
  uint32_t timeout_s_;
};

}  // namespace sluice::engine::maglev
