// SPDX-License-Identifier: BSD-3-Clause
//
// A set of disjoint ranges of addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace sluice::emulator {

/// Ranges are [begin, end), begin < end. One thread at a time.
class Intervals {
 public:
  /// By begin; the value is the end.
  using Map = std::map<uint64_t, uint64_t>;

  const Map& map() const { return map_; }
  size_t size() const { return map_.size(); }

  bool Overlaps(uint64_t begin, uint64_t end) const {
    const auto behind = map_.lower_bound(end);
    return behind != map_.begin() && std::prev(behind)->second > begin;
  }
  /// Whether [begin, end) is one range, and all of it.
  bool Has(uint64_t begin, uint64_t end) const {
    const auto range = map_.find(begin);
    return range != map_.end() && range->second == end;
  }
  /// Adds a range that overlaps none. It stays a range of its own.
  void Add(uint64_t begin, uint64_t end) { map_.emplace(begin, end); }
  /// Adds a range, as one with all that it overlaps or touches.
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
  /// Takes [begin, end) out of whatever holds parts of it.
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
