// SPDX-License-Identifier: BSD-3-Clause
//
// Reserved address space of this process, in which another process's files are mapped and unmapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::emulator {

/// Owns a range of address space, initially without memory. The whole range stays reserved until
/// destruction, so that no other mapping can be placed in it. The object can be moved. One thread
/// calls the functions; any thread may access mapped memory.
class ReservedSpace {
 public:
  ReservedSpace() = default;
  /// The space is empty if the process has no free range of that size.
  explicit ReservedSpace(size_t bytes);
  ReservedSpace(ReservedSpace&& other) noexcept;
  ReservedSpace& operator=(ReservedSpace&&) = delete;
  ~ReservedSpace();

  explicit operator bool() const { return begin_ != nullptr; }
  uint8_t* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

  /// Maps the file's part at `offset` to `at`, in whole pages of the file. Returns false on
  /// failure; the range then contains zeros or its previous mapping.
  bool MapFile(uint8_t* at, size_t bytes, int file, uint64_t offset);
  /// Replaces the mapping by zeros, for a device that may still access it. Throws std::bad_alloc if
  /// the system cannot map them.
  void Blank(uint8_t* at, size_t bytes);
  /// Restores the initial state without memory; the range must not be accessed any more. Throws as
  /// Blank does.
  void Vacate(uint8_t* at, size_t bytes);

 private:
  void Cover(uint8_t* at, size_t bytes, int access);

  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::emulator
