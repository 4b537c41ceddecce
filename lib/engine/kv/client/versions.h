// SPDX-License-Identifier: BSD-3-Clause
//
// Tracks the values that a get of an item may return. Every set of an item is a new version. The
// server may execute concurrent sets of an item in any order, so the last value may be any of them.
// An item is busy while a set of it is outstanding. When a busy period ends and all of its sets
// have been acknowledged, every version before its first set is obsolete.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::engine::kv::client {

class Versions {
 public:
  explicit Versions(uint64_t items) : items_(items) {}

  /// Returns the version of a set that is about to be sent, 1 or more.
  uint32_t Issue(uint64_t item) {
    Item& entry = items_[item];
    if (entry.open++ == 0) entry.first_open = entry.issued + 1;
    return ++entry.issued;
  }
  /// Records that a set was stored.
  void Acknowledge(uint64_t item) {
    Item& entry = items_[item];
    if (--entry.open == 0 && !entry.unsure) entry.oldest = entry.first_open;
  }
  /// Records that the result of a set is unknown. The set may be executed late, so the oldest
  /// version of the item never advances again.
  void Lose(uint64_t item) {
    --items_[item].open;
    items_[item].unsure = true;
  }
  /// Records that the item moved to another server, where it may be missing or have any version.
  void Forget(uint64_t item) {
    items_[item].oldest = 0;
    items_[item].unsure = true;
  }

  /// Returns the oldest version that a get sent now may return.
  uint32_t Oldest(uint64_t item) const { return items_[item].oldest; }
  uint32_t Newest(uint64_t item) const { return items_[item].issued; }

  void Prefetch(uint64_t item) const { __builtin_prefetch(&items_[item], 1); }

 private:
  struct Item {
    uint32_t issued = 0;
    uint32_t oldest = 0;
    uint32_t first_open = 0;  // Version of the first set of the current busy period.
    uint32_t open : 31 = 0;   // Number of outstanding sets.
    uint32_t unsure : 1 = 0;
  };

  std::vector<Item> items_;
};

}  // namespace sluice::engine::kv::client
