// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/merged_ranges.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace sluice::emulator {

using Mapping = bar::DmaSpace::Mapping;

Mapping MergedRanges::Map(uint64_t begin, uint64_t end) const {
  return {begin, reinterpret_cast<void*>(begin + distance_), static_cast<size_t>(end - begin)};
}

bool MergedRanges::Insert(uint64_t begin, uint64_t end) {
  // Merges all ranges that overlap or touch [begin, end).
  std::vector<uint64_t> absorbed;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second >= begin) --range;
  const auto first = range;
  for (; range != ranges_.end() && range->first <= end; ++range) {
    absorbed.push_back(range->first);
    begin = std::min(begin, range->first);
    end = std::max(end, range->second);
  }
  const Mapping added = Map(begin, end);
  if (!dma_.Replace(absorbed, {&added, 1})) return false;
  ranges_.erase(first, range);
  ranges_[begin] = end;
  return true;
}

bool MergedRanges::Erase(uint64_t begin, uint64_t end) {
  bool exact = true;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second > begin) --range;
  while (range != ranges_.end() && range->first < end) {
    const uint64_t old_begin = range->first;
    const uint64_t old_end = range->second;
    std::vector<Mapping> left;
    if (old_begin < begin) left.push_back(Map(old_begin, begin));
    if (old_end > end) left.push_back(Map(end, old_end));
    range = ranges_.erase(range);
    if (!dma_.Replace({&old_begin, 1}, left)) {
      // No slot is free for the second piece. Removes both pieces, because memory that the device
      // cannot access is safer than unmapped memory that it can access.
      exact = false;
      dma_.Remove(old_begin);
      continue;
    }
    for (const Mapping& piece : left) ranges_[piece.bus] = piece.bus + piece.bytes;
  }
  return exact;
}

}  // namespace sluice::emulator
