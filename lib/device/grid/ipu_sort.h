// SPDX-License-Identifier: BSD-3-Clause
//
// Sorts a batch's frames by queue with a counting sort. Each queue's frames are counted per group
// of adjacent frames, and the counts are summed. A frame's position then depends only on these sums
// and on its group.
#pragma once

#include <cstdint>

#include "device/grid/ipu_steer.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

inline constexpr uint32_t kSortGroup = 16;
/// Number of counts: one per group and queue, including the queue of dropped frames.
inline constexpr uint32_t kSortCounts = (kIpuDropped + 1) * (kBatchFrames / kSortGroup);
static_assert(kBatchFrames % kSortGroup == 0);

/// Returns a word with bit 7 set in each byte of `word` that equals `queue`. All bytes are below
/// 128.
inline uint32_t BytesEqual(uint32_t word, uint32_t queue) {
  const uint32_t difference = word ^ queue * 0x0101'0101u;
  return ~(difference + 0x7f7f'7f7fu) & 0x8080'8080u;
}

/// Sorts frames by queue. queues[i] is frame i's queue, up to kIpuDropped; the array extends to the
/// next multiple of kSortGroup, and the entries from `count` on are overwritten. `counts` must have
/// room for kSortCounts. On return, starts[q] is the number of frames for queues before q,
/// starts[kIpuDropped + 1] is `count`, and `arrivals` lists the frames by queue, in order of
/// arrival within each queue. Called by all threads.
inline void SortByQueue(const Team& team, uint32_t count, uint8_t* queues, uint32_t* counts,
                        uint32_t* starts, uint16_t* arrivals) {
  constexpr uint32_t kWords = kSortGroup / sizeof(uint32_t);
  const uint32_t groups = (count + kSortGroup - 1) / kSortGroup;
  const auto* const words = reinterpret_cast<const uint32_t*>(queues);
  team.ForEach(groups * kSortGroup - count,
               [&](uint32_t i) { queues[count + i] = kIpuDropped + 1; });
  team.ForEach((kIpuDropped + 1) * groups, [&](uint32_t i) {
    const uint32_t queue = i / groups, group = i % groups;
    uint32_t equal = 0;
    for (uint32_t word = 0; word < kWords; ++word) {
      equal += static_cast<uint32_t>(
          __builtin_popcount(BytesEqual(words[group * kWords + word], queue)));
    }
    counts[i] = equal;
  });
  team.ScanExclusive(counts, (kIpuDropped + 1) * groups);
  team.ForEach(count + kIpuDropped + 2, [&](uint32_t i) {
    if (i >= count) {
      const uint32_t queue = i - count;
      starts[queue] = queue <= kIpuDropped ? counts[queue * groups] : count;
      return;
    }
    const uint32_t queue = queues[i];
    uint32_t place = counts[queue * groups + i / kSortGroup];
    for (uint32_t word = i / kSortGroup * kWords; word <= i / 4; ++word) {
      uint32_t equal = BytesEqual(words[word], queue);
      if (word == i / 4) equal &= (uint32_t{1} << 8 * (i % 4)) - 1;
      place += static_cast<uint32_t>(__builtin_popcount(equal));
    }
    arrivals[place] = static_cast<uint16_t>(i);
  });
}

}  // namespace sluice::device::grid
