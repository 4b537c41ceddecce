// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <new>

namespace sluice::engine::kv {

Mapping::Mapping(size_t bytes) {
  constexpr size_t kPage = size_t{2} << 20;
  if (bytes > std::numeric_limits<size_t>::max() / 2) throw std::bad_alloc();
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void* const all = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<uint8_t*>(all);
  const size_t skipped = (kPage - reinterpret_cast<uintptr_t>(start) % kPage) % kPage;
  if (skipped != 0) munmap(start, skipped);
  data_ = start + skipped;
  bytes_ = bytes;
  munmap(data_ + bytes, kPage - skipped);
  madvise(data_, bytes, MADV_HUGEPAGE);  // Optional: a host without huge pages uses normal pages.
}

void Mapping::Populate(size_t bytes) {
  if (madvise(data_, bytes, MADV_POPULATE_WRITE) == 0) return;
  if (errno != EINVAL) throw std::bad_alloc();
  // Linux before 5.14 does not support MADV_POPULATE_WRITE.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t at = 0; at < bytes; at += page) {
    volatile uint8_t& touched = data_[at];
    touched = touched;
  }
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace sluice::engine::kv
