// SPDX-License-Identifier: BSD-3-Clause
//
// Writes 64-byte slots in host memory: notifications and completions. Four threads of a warp write
// one slot, which crosses the bus as one write. The CPU build writes the first quad last, because
// it contains the word that marks the slot valid.
#pragma once

#include <cstdint>

#include "device/grid/card.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

struct SlotWrite {
  uint8_t* slot;
  uint64_t words[3];  ///< The first three words of the slot; the others are zero.
};

inline constexpr uint32_t kSlotBytes = 64;

/// Writes quad `part` of a slot. If a single thread writes all parts, it must begin with part 3.
inline void WriteSlotPart(uint8_t* slot, uint32_t part, uint64_t word0, uint64_t word1,
                          uint64_t word2) {
  Quad quad{0, 0};
  if (part == 0) quad = {word0, word1};
  if (part == 1) quad = {word2, 0};
  PublishQuad(slot + part * sizeof(Quad), quad);
}

/// A list of writes, in a block's shared memory.
template <uint32_t kMost>
struct SlotWrites {
  uint32_t count;
  SlotWrite list[kMost];

  /// Adds a write. May be called by any thread, at most kMost times between two calls of Flush.
  void Append(const SlotWrite& write) { list[Add(&count, 1u)] = write; }

  /// Writes the slots and empties the list. Called by all threads.
  void Flush(Card& card, const Team& team) {
    const uint32_t all = count;
    if (all == 0) return team.Sync();
    team.ForEach(4 * all, [&](uint32_t i) {
      const SlotWrite& write = list[i / 4];
      WriteSlotPart(write.slot, 3 - i % 4, write.words[0], write.words[1], write.words[2]);
    });
    team.One([&] {
      count = 0;
      Add(&card.counters[Crossing::kNotifications], uint64_t{all} * kSlotBytes);
    });
  }
};

}  // namespace sluice::device::grid
