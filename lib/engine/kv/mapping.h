// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::engine::kv {

/// Bytes behind the items of a mapping: whoever looks at an item that is no more may look as far
/// beyond the end as a key is long.
inline constexpr uint64_t kReadBeyondBytes = 4096;

/// Memory of the kernel, zeros, on huge pages where the host has them; pages are taken when
/// they are touched first, or by Take. Throws std::bad_alloc.
class Mapping {
 public:
  Mapping() = default;
  /// `bytes`, rounded up to huge pages of 2 MiB, and aligned to them.
  explicit Mapping(size_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Takes the pages of the first `bytes`, at most bytes(), so that nobody waits for one later: on
  /// the NUMA node of the calling thread, while nobody else uses them. Throws std::bad_alloc where
  /// the kernel can say that it has too few.
  void Take(size_t bytes);

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }  ///< Of addresses.

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::engine::kv
