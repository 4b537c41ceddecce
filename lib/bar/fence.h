// SPDX-License-Identifier: BSD-3-Clause
//
// Fences that the C++ memory model does not provide. They order accesses to device memory, and
// stores in write-combining buffers. On Arm, devices are in the outer shareable domain, which C++
// fences do not cover, and memory accesses are ordered against register accesses only by a fence
// (Arm ARM, DDI 0487, B2.3; DPDK's rte_io_*mb).
#pragma once

#include "bar/load_once.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif !defined(__aarch64__)
#error "no device fences for this architecture: define them here"
#endif

namespace sluice::bar {

/// For use before a register store. The device sees earlier stores to memory before the register
/// store. Earlier loads are complete, so that memory can be returned to the device.
inline void RegisterFence() {
#ifdef __x86_64__
  asm volatile("" ::: "memory");  // x86 preserves this order in hardware.
#else
  asm volatile("dmb osh" ::: "memory");  // Not oshst, which does not order loads.
#endif
}

/// For use after a register read: completes the read before later loads from memory.
inline void RegisterReadFence() {
#ifdef __x86_64__
  asm volatile("" ::: "memory");
#else
  asm volatile("dmb oshld" ::: "memory");
#endif
}

/// Sends earlier stores, including write-combined ones, before later stores.
inline void StoreFence() {
#ifdef __x86_64__
  _mm_sfence();
#else
  asm volatile("dsb oshst" ::: "memory");  // A dmb orders combined stores, but does not flush them.
#endif
}

/// Makes earlier stores visible before later loads complete.
inline void FullFence() {
#ifdef __x86_64__
  _mm_mfence();
#else
  asm volatile("dmb osh" ::: "memory");
#endif
}

/// Like LoadOnce, for a word that a device stores to memory. Stores that the device made before it
/// stored the word are visible afterwards.
template <typename T>
T LoadFromDevice(const T& shared) {
#ifdef __x86_64__
  return LoadOnce(shared, std::memory_order_acquire);
#else
  const T value = LoadOnce(shared);
  asm volatile("dmb oshld" ::: "memory");
  return value;
#endif
}

}  // namespace sluice::bar
