// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <new>

namespace sluice::engine::kv {
namespace {

/// Addresses that begin at a huge page. Private memory without access if `accessible` is false.
uint8_t* Reserve(size_t bytes, bool accessible) {
  constexpr size_t kPage = Mapping::kHugePage;
  if (bytes > std::numeric_limits<size_t>::max() / 2) throw std::bad_alloc();
  void* const all = mmap(nullptr, bytes + kPage, accessible ? PROT_READ | PROT_WRITE : PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<uint8_t*>(all);
  const size_t skipped = (kPage - reinterpret_cast<uintptr_t>(start) % kPage) % kPage;
  if (skipped != 0) munmap(start, skipped);
  if (skipped != kPage) munmap(start + skipped + bytes, kPage - skipped);
  return start + skipped;
}

}  // namespace

Mapping::Mapping(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 2) throw std::bad_alloc();
  bytes_ = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  data_ = Reserve(bytes_, true);
  madvise(data_, bytes_, MADV_HUGEPAGE);  // A host without them does what it can.
}

Mapping Mapping::Mirrored(size_t bytes, size_t mirrored) {
  const int file = memfd_create("kv", MFD_CLOEXEC);
  if (file < 0) throw std::bad_alloc();
  Mapping mapping;
  bool good = ftruncate(file, static_cast<off_t>(bytes)) == 0;
  if (good) {
    try {
      mapping.data_ = Reserve(bytes + mirrored, false);
    } catch (...) {
      close(file);
      throw;
    }
    mapping.bytes_ = bytes + mirrored;
    for (const auto& [at, length] : {std::pair{size_t{0}, bytes}, std::pair{bytes, mirrored}}) {
      good = good && mmap(mapping.data_ + at, length, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
    }
  }
  close(file);
  if (!good) throw std::bad_alloc();
  madvise(mapping.data_, mapping.bytes_, MADV_HUGEPAGE);
  return mapping;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace sluice::engine::kv
