// SPDX-License-Identifier: BSD-3-Clause
#include "secret.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace sluice::chain_app {

Secret::Secret(size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  bytes_ = {static_cast<uint8_t*>(memory), bytes};
  ExcludeFromDumps(bytes_, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

Secret::~Secret() {
  explicit_bzero(bytes_.data(), bytes_.size());
  munmap(bytes_.data(), bytes_.size());
}

void ExcludeFromDumps(std::span<uint8_t> memory, size_t page_bytes) {
  const size_t before = reinterpret_cast<uintptr_t>(memory.data()) % page_bytes;
  const size_t bytes = (before + memory.size() + page_bytes - 1) / page_bytes * page_bytes;
  // A failure is ignored: the keys can be used, but core dumps then contain them.
  [[maybe_unused]] const int done = madvise(memory.data() - before, bytes, MADV_DONTDUMP);
}

}  // namespace sluice::chain_app
