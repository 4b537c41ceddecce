// SPDX-License-Identifier: BSD-3-Clause
//
// Shared memory for data that is too large for items; Wave uses DMA for such data. The memory is
// divided into pieces of equal size. One side may write a piece until it sends an item that names
// the piece. After that, neither side may write the piece until an item from the other side returns
// it. Readers must copy data before checking it, because the writer may violate this rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice::simulation::tiering {

/// One direction of the transfer, as used by one side. Counts the bytes that this side has copied.
/// The memory belongs to the caller and must outlive this object.
class Bulk {
 public:
  Bulk(std::span<std::byte> memory, uint32_t piece_bytes)
      : memory_(memory), piece_bytes_(piece_bytes) {}

  uint32_t pieces() const { return static_cast<uint32_t>(memory_.size() / piece_bytes_); }
  uint32_t piece_bytes() const { return piece_bytes_; }

  /// Copy between memory and the start of a piece. Return false if the memory is empty, or if the
  /// piece does not exist or is too small.
  template <typename T>
  bool Write(uint32_t piece, std::span<const T> from) {
    if (!Fits(piece, from.size_bytes())) return false;
    std::memcpy(At(piece), from.data(), from.size_bytes());
    bytes_ += from.size_bytes();
    return true;
  }
  template <typename T>
  bool Read(uint32_t piece, std::span<T> to) {
    if (!Fits(piece, to.size_bytes())) return false;
    std::memcpy(to.data(), At(piece), to.size_bytes());
    bytes_ += to.size_bytes();
    return true;
  }

  uint64_t bytes() const { return bytes_; }

 private:
  bool Fits(uint32_t piece, size_t bytes) const {
    return bytes != 0 && piece < pieces() && bytes <= piece_bytes_;
  }
  std::byte* At(uint32_t piece) const { return memory_.data() + size_t{piece} * piece_bytes_; }

  std::span<std::byte> memory_;
  uint32_t piece_bytes_;
  uint64_t bytes_ = 0;
};

}  // namespace sluice::simulation::tiering
