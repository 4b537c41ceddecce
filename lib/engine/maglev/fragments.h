// SPDX-License-Identifier: BSD-3-Clause
//
// Records the backend of first fragments for the later fragments, which contain no ports (Maglev,
// NSDI'16, section 4.3). Used by one worker. The size is fixed; a new entry replaces the oldest of
// its bucket.
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
  /// Creates a table of at least `capacity` entries (rounded up to a power of two, at least 4, at
  /// most 2^28).
  FragmentTable(uint32_t capacity, uint32_t timeout_s);

  /// Records a datagram; replaces an entry with the same tag. `tag` is a keyed 64-bit hash of
  /// addresses, protocol and identification. The generation of `backend` must not be 0. `vip` is an
  /// index, or a value that the caller uses for "no VIP".
  void Put(uint64_t tag, BackendRef backend, uint16_t vip, uint32_t seconds);
  struct Found {
    BackendRef backend;
    uint16_t vip;
  };
  /// Returns the entry if it was recorded within the timeout.
  std::optional<Found> Find(uint64_t tag, uint32_t seconds) const;

  uint32_t capacity() const { return static_cast<uint32_t>(buckets_.size()) * kSlots; }

 private:
  static constexpr uint32_t kSlots = 4;

  struct Entry {
    uint64_t tag = 0;
    uint32_t put_s = 0;
    BackendRef backend;  ///< Generation 0: the entry is empty.
    uint16_t vip = 0;
  };
  using Bucket = std::array<Entry, kSlots>;

  size_t BucketOf(uint64_t tag) const { return tag & (buckets_.size() - 1); }

  std::vector<Bucket> buckets_;  ///< The size is a power of two.
  uint32_t timeout_s_;
};

}  // namespace sluice::engine::maglev
