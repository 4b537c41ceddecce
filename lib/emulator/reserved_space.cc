// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/reserved_space.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace sluice::emulator {

ReservedSpace::ReservedSpace(size_t bytes) {
  void* const area =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return;
  begin_ = static_cast<uint8_t*>(area);
  bytes_ = bytes;
}

ReservedSpace::ReservedSpace(ReservedSpace&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ReservedSpace::~ReservedSpace() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

bool ReservedSpace::MapFile(uint8_t* at, size_t bytes, int file, uint64_t offset) {
  // Maps at another address first, because a failed mapping over an existing one may remove the
  // existing mapping.
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  const auto position = static_cast<off_t>(offset);
  void* const aside = mmap(nullptr, bytes, kAccess, MAP_SHARED, file, position);
  if (aside == MAP_FAILED) return false;
  if (mremap(aside, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED) return true;
  // Linux before 5.16 cannot move huge pages. `aside` keeps them allocated for this mapping.
  const bool mapped =
      mmap(at, bytes, kAccess, MAP_SHARED | MAP_FIXED, file, position) != MAP_FAILED;
  munmap(aside, bytes);
  if (!mapped) Blank(at, bytes);
  return mapped;
}

void ReservedSpace::Blank(uint8_t* at, size_t bytes) { Cover(at, bytes, PROT_READ | PROT_WRITE); }

void ReservedSpace::Vacate(uint8_t* at, size_t bytes) { Cover(at, bytes, PROT_NONE); }

void ReservedSpace::Cover(uint8_t* at, size_t bytes, int access) {
  if (mmap(at, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    throw std::bad_alloc();
  }
}

}  // namespace sluice::emulator
