// SPDX-License-Identifier: BSD-3-Clause
#include "bar/ring_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice::bar {
namespace {

/// Reserves address space for `bytes` at `at`. Returns null on failure.
uint8_t* ReserveAt(size_t bytes, void* at) {
  void* const area = mmap(at, bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  if (area == at) return static_cast<uint8_t*>(area);
  munmap(area, bytes);  // Linux before 4.17 treats the address as a hint.
  errno = EEXIST;
  return nullptr;
}

/// Reserves address space for `bytes` bytes, aligned to a huge page. Returns null on failure.
uint8_t* Reserve(size_t bytes) {
  const size_t padded = bytes + RingMemory::kHugePageBytes;
  void* area = mmap(nullptr, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(area);
  const uintptr_t aligned =
      (start + RingMemory::kHugePageBytes - 1) & ~(RingMemory::kHugePageBytes - 1);
  if (aligned != start) munmap(area, aligned - start);
  const size_t tail = start + padded - (aligned + bytes);
  if (tail != 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  return reinterpret_cast<uint8_t*>(aligned);
}

/// Replaces reserved address space with a mapping of the file's first `bytes`.
bool MapFile(uint8_t* at, size_t bytes, int fd, bool huge) {
  // Huge pages are allocated here, so that a shortage is reported now; ordinary pages are allocated
  // on first access.
  const int flags = MAP_SHARED | MAP_FIXED | (huge ? MAP_POPULATE : 0);
  return mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) != MAP_FAILED;
}

}  // namespace

RingMemory RingMemory::Create(size_t bytes, bool mirrored, Pages pages, void* at) {
  RingMemory memory;
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const bool fits_huge = bytes % kHugePageBytes == 0;
  if (bytes == 0 || bytes % page_bytes != 0 || (pages == Pages::kHuge && !fits_huge)) {
    errno = EINVAL;
    return memory;
  }
  const int before = errno;
  if (fits_huge && memory.Create(bytes, mirrored, true, at)) return memory;
  if (pages == Pages::kHuge) return memory;
  errno = before;
  memory.Create(bytes, mirrored, false, at);
  return memory;
}

bool RingMemory::Create(size_t bytes, bool mirrored, bool huge, void* at) {
  RingMemory attempt;
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0);
  attempt.fd_ = memfd_create("sluice_ring", flags);
  if (attempt.fd_ < 0 || ftruncate(attempt.fd_, static_cast<off_t>(bytes)) != 0 ||
      fcntl(attempt.fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      !attempt.Map(bytes, mirrored, huge, at)) {
    return false;
  }
  Swap(attempt);
  return true;
}

RingMemory RingMemory::FromFile(int fd, size_t bytes, bool mirrored, void* at) {
  RingMemory memory, attempt;
  attempt.fd_ = fd;
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  struct stat file {};
  struct statfs system {};
  // Only memory files have seals, so this check excludes file systems that may block.
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || fstat(fd, &file) != 0 || fstatfs(fd, &system) != 0) return memory;
  const bool huge = system.f_type == HUGETLBFS_MAGIC;
  if (bytes == 0 || bytes % (huge ? kHugePageBytes : page_bytes) != 0 ||
      (seals & F_SEAL_SHRINK) == 0 || bytes > static_cast<uint64_t>(file.st_size)) {
    errno = EINVAL;
    return memory;
  }
  if (attempt.Map(bytes, mirrored, huge, at)) memory.Swap(attempt);
  return memory;
}

RingMemory RingMemory::Over(void* data, size_t bytes) {
  RingMemory memory;
  memory.data_ = static_cast<uint8_t*>(data);
  memory.bytes_ = memory.mapped_bytes_ = bytes;
  memory.owned_ = false;
  return memory;
}

bool RingMemory::Map(size_t bytes, bool mirrored, bool huge, void* at) {
  const size_t mapped_bytes = mirrored ? 2 * bytes : bytes;
  data_ = at != nullptr ? ReserveAt(mapped_bytes, at) : Reserve(mapped_bytes);
  if (data_ == nullptr) return false;
  bytes_ = bytes;
  mapped_bytes_ = mapped_bytes;
  huge_ = huge;
  return MapFile(data_, bytes, fd_, huge) &&
         (!mirrored || MapFile(data_ + bytes, bytes, fd_, huge));
}

RingMemory::~RingMemory() {
  const int saved_errno = errno;
  if (data_ != nullptr && owned_) munmap(data_, mapped_bytes_);
  if (fd_ >= 0) close(fd_);
  errno = saved_errno;
}

void RingMemory::Swap(RingMemory& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(fd_, other.fd_);
  std::swap(huge_, other.huge_);
  std::swap(owned_, other.owned_);
}

}  // namespace sluice::bar
