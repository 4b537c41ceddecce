// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a device that a client also maps: an unnamed file with a sealed size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/channel.h"

namespace sluice::emulator::vfio_user {

class LinesMemory {
 public:
  LinesMemory() = default;
  /// Allocates `bytes` of zeros, in whole pages. The object is empty on failure.
  explicit LinesMemory(size_t bytes);
  ~LinesMemory();
  LinesMemory(const LinesMemory&) = delete;
  LinesMemory& operator=(const LinesMemory&) = delete;

  explicit operator bool() const { return begin_ != nullptr; }
  uint8_t* begin() const { return begin_; }
  int fd() const { return file_.fd(); }
  /// Zeroes the memory in all its mappings.
  void Clear();

 private:
  base::OwnedFd file_;
  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::emulator::vfio_user
