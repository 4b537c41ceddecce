// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a fuzz target's choices from its input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::fuzz {

/// Consumes bytes from the front of the input. Numbers read beyond the end are 0.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : bytes_(data, size) {}

  bool empty() const { return bytes_.empty(); }
  /// Returns the next `size` bytes, or fewer at the end.
  std::span<const uint8_t> Consume(size_t size) {
    const auto taken = bytes_.first(std::min(size, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  uint8_t Byte() {
    const auto byte = Consume(1);
    return byte.empty() ? 0 : byte[0];
  }
  /// Returns the next 16 bits, in big-endian order.
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
