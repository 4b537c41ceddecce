// SPDX-License-Identifier: BSD-3-Clause
//
// What a fuzz target decides by its input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::fuzz {

/// Takes bytes from the front; 0 once they are used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : bytes_(data, size) {}

  bool empty() const { return bytes_.empty(); }
  /// Up to `size` bytes: what is left.
  std::span<const uint8_t> Take(size_t size) {
    const auto taken = bytes_.first(std::min(size, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  uint8_t Byte() {
    const auto byte = Take(1);
    return byte.empty() ? 0 : byte[0];
  }
  /// The first byte is the highest.
  uint32_t Word16() {
    const uint32_t high = Byte();
    return high << 8 | Byte();
  }
  uint64_t Word64() {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | Byte();
    return word;
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace sluice::fuzz
