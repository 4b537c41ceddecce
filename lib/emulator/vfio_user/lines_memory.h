// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a device that a client maps, too: a file without a name that nobody can resize.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/channel.h"

namespace sluice::emulator::vfio_user {

class LinesMemory {
 public:
  LinesMemory() = default;
  /// `bytes` of zeroes, in whole pages. Empty if there is no room.
  explicit LinesMemory(size_t bytes);
  ~LinesMemory();
  LinesMemory(const LinesMemory&) = delete;
  LinesMemory& operator=(const LinesMemory&) = delete;

  explicit operator bool() const { return begin_ != nullptr; }
  uint8_t* begin() const { return begin_; }
  int fd() const { return file_.fd(); }
  /// Zeroes again, wherever it is mapped.
  void Clear();

 private:
  File file_;
  uint8_t* begin_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace sluice::emulator::vfio_user
