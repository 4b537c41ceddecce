// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for many frames, on hugepages if the host allows it, so that the thread that steps the
// device has few TLB misses. A real wire would cause none.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace sluice::emulator {

struct FreeBytes {
  void operator()(uint8_t* bytes) const { std::free(bytes); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeBytes>;

/// Returns at least `bytes` bytes of uninitialised memory, aligned to 2 MiB, or null if memory
/// cannot be allocated.
inline AlignedBytes AllocateBytes(size_t bytes) {
  constexpr size_t kHugepageBytes = size_t{2} << 20;
  bytes = (bytes + kHugepageBytes - 1) & ~(kHugepageBytes - 1);
  AlignedBytes memory(static_cast<uint8_t*>(std::aligned_alloc(kHugepageBytes, bytes)));
  if (memory != nullptr) madvise(memory.get(), bytes, MADV_HUGEPAGE);  // A hint; may fail.
  return memory;
}

}  // namespace sluice::emulator
