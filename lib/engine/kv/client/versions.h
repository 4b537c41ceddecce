// SPDX-License-Identifier: BSD-3-Clause
//
// Which values of an item a get may find. Every set of an item is a new version. While sets of
// one item are under way together, the server may take them in any order; the last word may be
// any of them. A set that was acknowledged alone ends the time of all before it.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::engine::kv::client {

class Versions {
 public:
  explicit Versions(uint64_t items) : items_(items) {}

  /// A set leaves: its version, 1 or more.
  uint32_t Issue(uint64_t item) {
    Item& entry = items_[item];
    if (entry.open++ == 0) entry.first_open = entry.issued + 1;
    return ++entry.issued;
  }
  /// A set was stored.
  void Acknowledge(uint64_t item) {
    Item& entry = items_[item];
    if (--entry.open == 0 && !entry.unsure) entry.oldest = entry.first_open;
  }
  /// What became of a set will never be known: it may come into effect late, so that nothing
  /// is known about the item's order from here on.
  void Lose(uint64_t item) {
    --items_[item].open;
    items_[item].unsure = true;
  }
  /// The item is somewhere else now: where it may be missing, or be of any age.
  void Forget(uint64_t item) {
    items_[item].oldest = 0;
    items_[item].unsure = true;
  }

  /// The oldest version that a get that leaves now may find.
  uint32_t Oldest(uint64_t item) const { return items_[item].oldest; }
  uint32_t Newest(uint64_t item) const { return items_[item].issued; }

  void Prefetch(uint64_t item) const { __builtin_prefetch(&items_[item], 1); }

 private:
  struct Item {
    uint32_t issued = 0;
    uint32_t oldest = 0;
    uint32_t first_open = 0;  // The first of the sets under way together.
    uint32_t open : 31 = 0;   // Sets under way.
    uint32_t unsure : 1 = 0;
  };

  std::vector<Item> items_;
};

}  // namespace sluice::engine::kv::client
