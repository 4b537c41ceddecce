// SPDX-License-Identifier: BSD-3-Clause
//
// Counts the occurrences of each number in a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::engine::maglev::test {

using Ring = std::vector<uint16_t>;

/// Returns the counts by number. All entries of the ring must be below `numbers`.
inline std::vector<uint32_t> Counts(const Ring& ring, size_t numbers) {
  std::vector<uint32_t> counts(numbers);
  for (const uint16_t number : ring) ++counts.at(number);
  return counts;
}

}  // namespace sluice::engine::maglev::test
