// SPDX-License-Identifier: BSD-3-Clause
//
// Evicts the caches of a core. Data that a real NIC wrote is not in the caches of the worker's
// core, but a benchmark that runs both in one thread would find it there.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

class ColdCaches {
 public:
  explicit ColdCaches(bool wanted) : lines_(wanted ? kBytes : 0) {}

  /// Writes more lines than the core's caches hold. Does nothing if the constructor's `wanted` was
  /// false.
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
