// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/lines_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace sluice::emulator::vfio_user {

LinesMemory::LinesMemory(size_t bytes) {
  base::OwnedFd file(memfd_create("sluice-lines", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return;
  }
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (begin == MAP_FAILED) return;
  file_ = std::move(file);
  begin_ = static_cast<uint8_t*>(begin);
  bytes_ = bytes;
}

LinesMemory::~LinesMemory() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

void LinesMemory::Clear() {
  if (fallocate(file_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(bytes_)) != 0) {
    std::memset(begin_, 0, bytes_);
  }
}

}  // namespace sluice::emulator::vfio_user
