// SPDX-License-Identifier: BSD-3-Clause
//
// Address space of this process in which files of another one come and go.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::emulator {

/// Owns address space, with nothing behind it at first. Whatever happens to the files in
/// it, the whole stays this object's until its destruction: nobody else's memory comes to
/// lie there. Movable. Used by one thread; what is mapped, by any.
class ReservedSpace {
 public:
  ReservedSpace() = default;
  /// Empty if the process has no such room.
  explicit ReservedSpace(size_t bytes);
  ReservedSpace(ReservedSpace&& other) noexcept;
  ReservedSpace& operator=(ReservedSpace&&) = delete;
  ~ReservedSpace();

  explicit operator bool() const { return begin_ != nullptr; }
  uint8_t* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

  /// Places the file's part at `offset` at `at`, in whole pages of the file's. False if it
  /// cannot be mapped: zeroes or what was there before are there then.
  bool MapFile(uint8_t* at, size_t bytes, int file, uint64_t offset);
  /// Zeroes in place of what is mapped, for a device that may still look there. Throws
  /// std::bad_alloc if the system has no room for that.
  void Blank(uint8_t* at, size_t bytes);
  /// Nothing is behind it again, as at first, and nobody looks there any more. Throws the same.
  void Vacate(uint8_t* at, size_t bytes);

 private:
  void Cover(uint8_t* at, size_t bytes, int access);

  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::emulator
