// SPDX-License-Identifier: BSD-3-Clause
//
// Accesses to memory that the blocks of a grid share, or that the card and its host share. The
// functions support two compilers: g++ compiles them to atomic builtins, clang to PTX (PTX ISA 7.5,
// "Memory Consistency Model").
//
// FenceCard orders accesses to card memory, FenceSystem accesses to host memory across PCIe. A
// 16-byte access is one read or write on the bus; four of them by adjacent threads of a warp are
// merged into one of 64 bytes.
#pragma once

#include <cstdint>

namespace sluice::device::grid {

/// 16 bytes: the unit of accesses to host memory.
struct alignas(16) Quad {
  uint64_t low;
  uint64_t high;
};

/// Clears the bytes of a quad, starting at byte `bytes`.
constexpr Quad Truncate(Quad quad, uint32_t bytes) {
  if (bytes < sizeof(Quad)) {
    if (bytes <= 8) quad.high = 0;
    if (bytes > 8) quad.high &= (uint64_t{1} << 8 * (bytes - 8)) - 1;
    if (bytes < 8) quad.low &= (uint64_t{1} << 8 * bytes) - 1;
  }
  return quad;
}

/// Returns the smaller of two numbers.
constexpr uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }

#ifdef __CUDA_ARCH__

template <typename T>
inline T Load(const T* from) {
  return *static_cast<const volatile T*>(from);
}
template <typename T>
inline void Store(T* to, T value) {
  *static_cast<volatile T*>(to) = value;
}
inline Quad LoadQuad(const void* from) {
  Quad quad;
  asm volatile("ld.volatile.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(quad.low), "=l"(quad.high)
               : "l"(from)
               : "memory");
  return quad;
}
inline void StoreQuad(void* to, Quad quad) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1,%2};" ::"l"(to), "l"(quad.low), "l"(quad.high)
               : "memory");
}
/// Loads a quad in host memory that announces other data. Like LoadAcquire for card memory, but its
/// scope includes the host. The order of the host's stores, this load, a barrier and the accesses
/// of the block's other threads is transitive ("Causality Order").
inline Quad LoadQuadAcquire(const void* from) {
  Quad quad;
  asm volatile("ld.acquire.sys.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(quad.low), "=l"(quad.high)
               : "l"(from)
               : "memory");
  return quad;
}
/// Stores a quad that announces data. Each thread that stored some of the data must have executed a
/// fence after it. Equivalent to StoreQuad, but distinct in PTX, so that a test can detect a
/// missing fence.
inline void PublishQuad(void* to, Quad quad) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1,%2};" ::"l"(to), "l"(quad.low),
               "l"(quad.high)
               : "memory");
}
/// Like PublishQuad, for a quad whose high half contains the word that marks it valid.
inline void PublishQuadHighLast(void* to, Quad quad) { PublishQuad(to, quad); }
/// Loads card memory that no other thread writes concurrently.
inline Quad LoadPlain(const void* from) { return *static_cast<const Quad*>(from); }

/// Loads card memory. The block's accesses after this load and a barrier are ordered after the
/// StoreRelease whose value it returns. Cheaper than FenceCard.
inline uint32_t LoadAcquire(const uint32_t* from) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
inline uint64_t LoadAcquire(const uint64_t* from) {
  uint64_t value;
  asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
/// Stores to card memory. The store is ordered after all of the block's accesses before the last
/// barrier.
inline void StoreRelease(uint32_t* to, uint32_t value) {
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
inline void StoreRelease(uint64_t* to, uint64_t value) {
  asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

/// Tries to acquire a lock in card memory. Called by one thread. The block's accesses after a
/// subsequent barrier are ordered after the acquisition.
inline bool TryLock(uint32_t* lock) {
  uint32_t old;
  asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(lock) : "memory");
  return old == 0;
}

/// Orders all accesses, including a store before a later load.
inline void FenceCard() { __nvvm_membar_gl(); }
inline void FenceSystem() { __nvvm_membar_sys(); }

inline uint32_t Add(uint32_t* to, uint32_t amount) {
  return static_cast<uint32_t>(
      __nvvm_atom_add_gen_i(reinterpret_cast<volatile int*>(to), static_cast<int>(amount)));
}
inline uint64_t Add(uint64_t* to, uint64_t amount) {
  return static_cast<uint64_t>(__nvvm_atom_add_gen_ll(reinterpret_cast<volatile long long*>(to),
                                                      static_cast<long long>(amount)));
}
inline uint32_t Exchange(uint32_t* to, uint32_t value) {
  return static_cast<uint32_t>(
      __nvvm_atom_xchg_gen_i(reinterpret_cast<volatile int*>(to), static_cast<int>(value)));
}
/// Stores `value` if the current value is `expected`. Returns the previous value.
inline uint32_t CompareExchange(uint32_t* to, uint32_t expected, uint32_t value) {
  return static_cast<uint32_t>(__nvvm_atom_cas_gen_i(
      reinterpret_cast<volatile int*>(to), static_cast<int>(expected), static_cast<int>(value)));
}
inline void Max(uint64_t* to, uint64_t value) {
  __nvvm_atom_max_gen_ull(reinterpret_cast<volatile unsigned long long*>(to), value);
}
/// Returns the previous value.
inline uint32_t Max(uint32_t* to, uint32_t value) {
  return __nvvm_atom_max_gen_ui(reinterpret_cast<volatile unsigned*>(to), value);
}

/// Returns the card's time. Only one thread of a block should read the time and share it: if all
/// threads read it, the block stalls for more than 10 µs.
inline uint64_t NowNs() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
/// Returns the cycle counter of the processor that executes the block. Cheap, unlike NowNs.
inline uint64_t Cycles() {
  uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  return cycles;
}
/// Pauses between two attempts to acquire a lock, for which the threads of one warp may compete.
inline void Relax() { asm volatile("nanosleep.u32 20;"); }
/// Called between two loads of a word that only one thread of the block polls. No pause is needed,
/// because a load of card memory takes long enough.
inline void RelaxPoll() {}

#else

template <typename T>
inline T Load(const T* from) {
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}
template <typename T>
inline void Store(T* to, T value) {
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}
/// Loads the low half first, because StoreQuad stores that half last: it is the word that marks the
/// quad as valid.
inline Quad LoadQuad(const void* from) {
  const auto* const words = static_cast<const uint64_t*>(from);
  const uint64_t low = Load(words);
  return {low, Load(words + 1)};
}
inline void StoreQuad(void* to, Quad quad) {
  auto* const words = static_cast<uint64_t*>(to);
  Store(words + 1, quad.high);
  Store(words, quad.low);
}
inline Quad LoadQuadAcquire(const void* from) { return LoadQuad(from); }
inline void PublishQuad(void* to, Quad quad) { StoreQuad(to, quad); }
inline void PublishQuadHighLast(void* to, Quad quad) {
  auto* const words = static_cast<uint64_t*>(to);
  Store(words, quad.low);
  Store(words + 1, quad.high);
}
inline Quad LoadPlain(const void* from) { return *static_cast<const Quad*>(from); }

template <typename T>
inline T LoadAcquire(const T* from) {
  return Load(from);
}
template <typename T>
inline void StoreRelease(T* to, T value) {
  Store(to, value);
}

/// Orders a store before a later load. The accesses above provide all other ordering.
inline void FenceCard() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void FenceSystem() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

template <typename T>
inline T Add(T* to, T amount) {
  return __atomic_fetch_add(to, amount, __ATOMIC_SEQ_CST);
}
inline uint32_t Exchange(uint32_t* to, uint32_t value) {
  return __atomic_exchange_n(to, value, __ATOMIC_SEQ_CST);
}
inline uint32_t CompareExchange(uint32_t* to, uint32_t expected, uint32_t value) {
  __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
inline bool TryLock(uint32_t* lock) { return CompareExchange(lock, 0, 1) == 0; }
template <typename T>
T Max(T* to, T value) {
  T old = Load(to);
  while (old < value &&
         !__atomic_compare_exchange_n(to, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

uint64_t NowNs();
uint64_t Cycles();
void Relax();
inline void RelaxPoll() { Relax(); }

#endif

}  // namespace sluice::device::grid
