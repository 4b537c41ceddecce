// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that both sides see, for what is too much for items: Wave moves it by DMA. Pieces of one
// size, each written by one side until an item names it, and by nobody until an item of the other
// side gives it back. Who reads copies first and looks then: the writer may not keep to that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice::engine::tiering {

/// One direction, as one side sees it. Counts the bytes that this side moved. The memory is the
/// caller's, and outlives it.
class Bulk {
 public:
  Bulk(std::span<std::byte> memory, uint32_t piece_bytes)
      : memory_(memory), piece_bytes_(piece_bytes) {}

  uint32_t pieces() const { return static_cast<uint32_t>(memory_.size() / piece_bytes_); }
  uint32_t piece_bytes() const { return piece_bytes_; }

  /// From the start of a piece. False: there is no such piece, or it is shorter.
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

}  // namespace sluice::engine::tiering
