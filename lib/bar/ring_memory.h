// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a ring that a device and a driver share: an anonymous file, so that
// another process can map it too, mapped twice back to back, so that a span that
// wraps is contiguous ("RAM mapped twice", Ensō OSDI'23 section 4.2).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::bar {

/// Owns the mapping and the file, but for Over. Movable; empty after a move or a failed Create.
class RingMemory {
 public:
  /// Which pages stand behind the ring.
  enum class Pages {
    kPreferHuge,  ///< Huge if `bytes` allows it and one is free, else ordinary pages.
    kHuge,        ///< Huge or nothing: each 2 MiB is physically contiguous and stays put.
  };
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  RingMemory() = default;
  /// Maps `bytes` (a multiple of the page size, > 0) of zeroes. `mirrored` maps them
  /// a second time right behind. Success leaves errno as it was. On failure the result is empty and
  /// errno is set:
  /// EINVAL for the size, else what the kernel said: EEXIST if it cannot be at `at`, where
  /// that is given (aligned to a huge page).
  static RingMemory Create(size_t bytes, bool mirrored, Pages pages, void* at = nullptr);

  /// Maps the first `bytes` of a file that another process created here and passed on.
  /// Takes `fd`, also on failure. Believes nothing: the file must be at least that long
  /// and sealed against shrinking (EINVAL otherwise). Of a file of huge pages it may still
  /// take pages away: who shares such a ring guards it against SIGBUS.
  static RingMemory FromFile(int fd, size_t bytes, bool mirrored, void* at = nullptr);

  /// Memory of somebody else's, which stays mapped after this object. There is no file.
  static RingMemory Over(void* data, size_t bytes);

  RingMemory(RingMemory&& other) noexcept { Swap(other); }
  RingMemory& operator=(RingMemory&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~RingMemory();

  explicit operator bool() const { return data_ != nullptr; }
  /// First byte; with `mirrored`, data()[i] and data()[bytes() + i] are one byte.
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }  ///< Size of the ring, not of the mapping.
  size_t mapped_bytes() const { return mapped_bytes_; }
  bool mirrored() const { return mapped_bytes_ != bytes_; }
  bool huge() const { return huge_; }
  /// The file behind it, offset 0; stays owned by this object. What Create made can neither
  /// grow nor shrink, nor be sealed any further by whom it is passed to.
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
