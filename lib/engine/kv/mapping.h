// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::engine::kv {

/// Memory of the kernel, zeros, on huge pages where the host has them; pages are taken when
/// they are touched first. Throws std::bad_alloc.
class Mapping {
 public:
  static constexpr size_t kHugePage = size_t{2} << 20;

  Mapping() = default;
  /// `bytes`, rounded up to huge pages.
  explicit Mapping(size_t bytes);
  /// `bytes`, a multiple of kHugePage, and the first `mirrored` (the same, no more) once more
  /// behind the end: what is written across the end lies at the start.
  static Mapping Mirrored(size_t bytes, size_t mirrored);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }  ///< Of addresses.

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::engine::kv
