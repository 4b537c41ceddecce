// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a ring that a device and a driver share. It is an anonymous file, so that another
// process can map it too. It can be mapped twice back to back, so that a span that wraps is
// contiguous ("RAM mapped twice", Ensō OSDI'23 section 4.2).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::bar {

/// Owns the mapping and the file, unless it was made by Over. Move construction empties the source,
/// and move assignment swaps both. Empty after a failed Create or FromFile.
class RingMemory {
 public:
  /// Page size of the ring.
  enum class Pages {
    /// Huge pages if the size is a multiple of the huge page size and enough are free, else
    /// ordinary pages.
    kPreferHuge,
    kHuge,  ///< Huge pages only: each 2 MiB is physically contiguous and pinned.
  };
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  RingMemory() = default;
  /// Maps `bytes` bytes of zeroes; with `mirrored`, maps them again directly after the first
  /// mapping. `bytes` must be a nonzero multiple of the page size. `at`, unless null, is the
  /// required address and must be aligned to a huge page. Does not change errno on success. On
  /// failure the result is empty and errno is set: EINVAL if the size is invalid, EEXIST if the
  /// memory cannot be at `at`, else the kernel's error.
  static RingMemory Create(size_t bytes, bool mirrored, Pages pages, void* at = nullptr);

  /// Maps the first `bytes` bytes of a file that another process made with Create and passed to
  /// this one. Takes ownership of `fd`, even on failure. The file is not trusted: it must contain
  /// at least `bytes`, which must be a multiple of its page size, and be sealed against shrinking
  /// (EINVAL otherwise). The other process can still remove pages from a huge-page file, so users
  /// of such a ring must handle SIGBUS.
  static RingMemory FromFile(int fd, size_t bytes, bool mirrored, void* at = nullptr);

  /// Uses memory that the caller owns and must keep mapped for the lifetime of this object. The
  /// result has no file.
  static RingMemory Over(void* data, size_t bytes);

  RingMemory(RingMemory&& other) noexcept { Swap(other); }
  RingMemory& operator=(RingMemory&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~RingMemory();

  explicit operator bool() const { return data_ != nullptr; }
  /// Returns the first byte. With `mirrored`, data()[i] and data()[bytes() + i] are the same byte.
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }  ///< Size of the ring, not of the mapping.
  size_t mapped_bytes() const { return mapped_bytes_; }
  bool mirrored() const { return mapped_bytes_ != bytes_; }
  bool huge() const { return huge_; }
  /// Returns the descriptor of the file, which this object owns. The ring starts at offset 0 of the
  /// file. A file from Create cannot grow or shrink, and its receivers cannot add seals.
  int fd() const { return fd_; }

 private:
  bool Create(size_t bytes, bool mirrored, bool huge, void* at);
  bool Map(size_t bytes, bool mirrored, bool huge, void* at);
  void Swap(RingMemory& other) noexcept;

  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
  size_t mapped_bytes_ = 0;
  int fd_ = -1;
  bool huge_ = false;
  bool owned_ = true;
};

}  // namespace sluice::bar
