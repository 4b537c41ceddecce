// SPDX-License-Identifier: BSD-3-Clause
//
// What a NIC wrote is in no cache of the worker's core. In a bench that plays both in one thread it
// would be, unless other lines take its place.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

class ColdCaches {
 public:
  explicit ColdCaches(bool wanted) : lines_(wanted ? kBytes : 0) {}

  /// Writes to more lines than the caches of a core hold. Does nothing unless it was wanted.
  [[gnu::noinline]] void Evict() {
    for (size_t i = 0; i < lines_.size(); i += kLine) {
      volatile uint8_t& line = lines_[i];
      line = static_cast<uint8_t>(line + 1);
    }
  }

 private:
  static constexpr size_t kBytes = 4u << 20;
  static constexpr size_t kLine = 64;
  std::vector<uint8_t> lines_;
};

}  // namespace sluice
