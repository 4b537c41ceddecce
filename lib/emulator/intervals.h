// SPDX-License-Identifier: BSD-3-Clause
//
// A set of disjoint address ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace sluice::emulator {

/// Ranges are [begin, end) with begin < end. Used by one thread at a time.
class Intervals {
 public:
  /// The key is the start of a range, the value its end.
  using Map = std::map<uint64_t, uint64_t>;

  const Map& map() const { return map_; }
  size_t size() const { return map_.size(); }

  bool Overlaps(uint64_t begin, uint64_t end) const {
    const auto above = map_.lower_bound(end);
    return above != map_.begin() && std::prev(above)->second > begin;
  }
  /// Returns whether [begin, end) is exactly one range of the set.
  bool Has(uint64_t begin, uint64_t end) const {
    const auto range = map_.find(begin);
    return range != map_.end() && range->second == end;
  }
  /// Adds a range that must not overlap others. It is not merged with adjacent ranges.
  void Add(uint64_t begin, uint64_t end) { map_.emplace(begin, end); }
  /// Adds a range and merges it with all ranges that it overlaps or touches.
  void Merge(uint64_t begin, uint64_t end) {
    auto range = map_.upper_bound(begin);
    if (range != map_.begin() && std::prev(range)->second >= begin) --range;
    while (range != map_.end() && range->first <= end) {
      begin = std::min(begin, range->first);
      end = std::max(end, range->second);
      range = map_.erase(range);
    }
    map_.emplace(begin, end);
  }
  /// Removes [begin, end) from all ranges that overlap it.
  void Erase(uint64_t begin, uint64_t end) {
    auto range = map_.upper_bound(begin);
    if (range != map_.begin() && std::prev(range)->second > begin) --range;
    while (range != map_.end() && range->first < end) {
      const auto [old_begin, old_end] = *range;
      range = map_.erase(range);
      if (old_begin < begin) map_.emplace(old_begin, begin);
      if (old_end > end) map_.emplace(end, old_end);
    }
  }

 private:
  Map map_;
};

}  // namespace sluice::emulator
