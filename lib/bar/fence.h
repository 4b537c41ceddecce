// SPDX-License-Identifier: BSD-3-Clause
//
// The fences that the C++ memory model has no words for: they order accesses to device
// memory, and stores that processors collect in write-combining buffers. On ARM a device is in the
// outer shareable domain, which the fences of C++ do not reach, and nothing orders an access to
// memory and one to a register but a fence (Arm ARM, DDI 0487, B2.3; DPDK's rte_io_*mb).
#pragma once

#include "bar/load_once.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif !defined(__aarch64__)
#error "say here how this processor orders accesses to a device"
#endif

namespace sluice::bar {

/// Before a register store: stores to memory before it are visible to the device when it sees the
/// register store, and loads before it are answered: what is given back was read.
inline void RegisterFence() {
#ifdef __x86_64__
  asm volatile("" ::: "memory");  // The processor keeps the order itself.
#else
  asm volatile("dmb osh" ::: "memory");  // Not oshst, which lets loads pass.
#endif
}

/// After a register read: it is answered before memory is looked at.
inline void RegisterReadFence() {
#ifdef __x86_64__
  asm volatile("" ::: "memory");
#else
  asm volatile("dmb oshld" ::: "memory");
#endif
}

/// Stores before it, write-combined ones included, are on their way before stores after it.
inline void StoreFence() {
#ifdef __x86_64__
  _mm_sfence();
#else
  asm volatile("dsb oshst" ::: "memory");  // A dmb orders what is collected, and does not send it.
#endif
}

/// Stores before it are visible before loads after it are answered.
inline void FullFence() {
#ifdef __x86_64__
  _mm_mfence();
#else
  asm volatile("dmb osh" ::: "memory");
#endif
}

/// LoadOnce of a word that a device stores to memory: what it stored before is seen after it.
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
