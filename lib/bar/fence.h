// SPDX-License-Identifier: BSD-3-Clause
//
// The fences that the C++ memory model has no words for: they order accesses to device
// memory, and stores that processors collect in write-combining buffers.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace sluice::bar {

/// Stores to memory before it are visible to a device before a register store after it is.
inline void RegisterFence() {
#ifdef __x86_64__
  asm volatile("" ::: "memory");  // The processor keeps the order itself.
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// Stores before it, write-combined ones included, are on their way before stores after it.
inline void StoreFence() {
#ifdef __x86_64__
  _mm_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// Stores before it are visible before loads after it are answered.
inline void FullFence() {
#ifdef __x86_64__
  _mm_mfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace sluice::bar
