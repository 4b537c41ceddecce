// SPDX-License-Identifier: BSD-3-Clause
//
// Distributes the work for notification buffers over blocks, each of which can serve every buffer.
// Each thread looks at one buffer, because loads of card memory by different threads overlap.
#pragma once

#include <cstdint>

#include "device/grid/enso_card.h"
#include "device/grid/team.h"

namespace sluice::device::grid {

struct EnsoSearchMemory {
  uint64_t best;    ///< The buffer that was found; see EnsoSearch::Key. 0: none.
  uint32_t served;  ///< Number of buffers that have been claimed.
};

class EnsoSearch {
 public:
  EnsoSearch(EnsoCard& card, const Team& team, EnsoSearchMemory& memory)
      : card_(card), team_(team), memory_(memory) {}

  /// Chooses a buffer for which is_ready(buffer) is true, and returns the result of claim(number),
  /// which is called by one thread. Returns 0 if no buffer is ready. Blocks begin their searches at
  /// different buffers, and each search begins one buffer later than the previous one.
  template <typename IsReady, typename Claim>
  uint64_t Run(uint32_t block, IsReady is_ready, Claim claim) const {
    const uint32_t listed = Load(&card_.listed);  // May differ between threads.
    team_.ForEach(listed, [&](uint32_t i) {
      const uint32_t number = Load(&card_.sending[i]);
      if (number == 0 || !is_ready(card_.buffers[number - 1])) return;
      const uint32_t begin = (block + memory_.served) % listed;
      Max(&memory_.best, Key(i < begin ? listed + i - begin : i - begin, number));
    });
    return team_.Agree([&]() -> uint64_t {
      const uint64_t best = memory_.best;
      if (best == 0) return 0;
      memory_.best = 0;
      const uint64_t claimed = claim(NumberOf(best) - 1);
      if (claimed != 0) ++memory_.served;
      return claimed;
    });
  }

 private:
  /// A key is larger if the buffer is closer to the start of the search.
  static uint64_t Key(uint32_t distance, uint32_t number) {
    return uint64_t{~distance} << 32 | number;
  }
  static uint32_t NumberOf(uint64_t key) { return static_cast<uint32_t>(key); }

  EnsoCard& card_;
  const Team& team_;
  EnsoSearchMemory& memory_;
};

}  // namespace sluice::device::grid
