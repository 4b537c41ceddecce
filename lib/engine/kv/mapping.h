// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::engine::kv {

/// Number of readable bytes after the items of a mapping. A reader of an item that was just
/// overwritten may read beyond the last item, by at most the length of a key.
inline constexpr uint64_t kReadBeyondBytes = 4096;

/// Zeroed memory from the kernel, on huge pages if the host has them. The kernel allocates pages on
/// first access or in Populate. Throws std::bad_alloc.
class Mapping {
 public:
  Mapping() = default;
  /// Maps `bytes`, rounded up to and aligned to huge pages of 2 MiB.
  explicit Mapping(size_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Allocates the pages of the first `bytes`, at most bytes(), so that no later access causes a
  /// page fault. The pages come from the NUMA node of the calling thread. No other thread may use
  /// them meanwhile. Throws std::bad_alloc if the kernel reports that it has too few pages.
  void Populate(size_t bytes);

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }  ///< Size of the address range.

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::engine::kv
