// SPDX-License-Identifier: BSD-3-Clause
//
// The threads of one block. A block's code is a sequence of phases separated by barriers: all
// threads execute a phase, then wait for each other. Between phases every thread runs the same code
// on the same values. clang compiles a phase to code that each thread on the card executes; g++
// compiles it to loops in one thread.
#pragma once

#include <cstdint>

#include "device/grid/memory.h"

namespace sluice::device::grid {

/// Number of threads in a block on the card.
inline constexpr uint32_t kTeamThreads = 1024;
inline constexpr uint32_t kWarpThreads = 32;

/// Scratch space for Team, in the block's shared memory.
struct TeamMemory {
  uint64_t words[kTeamThreads / kWarpThreads + 1];
};

/// All threads of the block must call each method, with the same arguments. All methods except Lead
/// and Aside end with a barrier.
class Team {
 public:
  explicit Team(TeamMemory* memory) : memory_(memory) {}

#ifdef __CUDA_ARCH__
  void Sync() const { __syncthreads(); }

  /// Calls f(i) for each i below `count`, on any thread and in any order.
  template <typename F>
  void ForEach(uint32_t count, F f) const {
    for (uint32_t i = Thread(); i < count; i += kTeamThreads) f(i);
    Sync();
  }

  /// Calls store(i, load(i)) for each i below `count`. Each thread issues up to four loads before
  /// it waits for the first.
  template <typename LoadFn, typename StoreFn>
  void Copy(uint32_t count, LoadFn load, StoreFn store) const {
    uint32_t i = Thread();
    for (; i + 3 * kTeamThreads < count; i += 4 * kTeamThreads) {
      const Quad a = load(i), b = load(i + kTeamThreads), c = load(i + 2 * kTeamThreads),
                 d = load(i + 3 * kTeamThreads);
      store(i, a);
      store(i + kTeamThreads, b);
      store(i + 2 * kTeamThreads, c);
      store(i + 3 * kTeamThreads, d);
    }
    for (; i + kTeamThreads < count; i += 2 * kTeamThreads) {
      const Quad a = load(i), b = load(i + kTeamThreads);
      store(i, a);
      store(i + kTeamThreads, b);
    }
    if (i < count) store(i, load(i));
    Sync();
  }

  /// Calls f on one thread.
  template <typename F>
  void One(F f) const {
    if (Thread() == 0) f();
    Sync();
  }

  /// Calls f on one thread, without a barrier: no other thread may read the data that f writes.
  template <typename F>
  void Lead(F f) const {
    if (Thread() == 0) f();
  }

  /// Like Lead, but uses the last thread, which has the smallest share of the next ForEach or Copy.
  template <typename F>
  void Aside(F f) const {
    if (Thread() == kTeamThreads - 1) f();
  }

  /// Calls f on one thread and returns its value to all threads.
  template <typename F>
  uint64_t Agree(F f) const {
    if (Thread() == 0) memory_->words[0] = f();
    Sync();
    const uint64_t value = memory_->words[0];
    Sync();
    return value;
  }

  /// Returns f(0) + … + f(count - 1).
  template <typename F>
  uint64_t Sum(uint32_t count, F f) const {
    uint64_t own = 0;
    for (uint32_t i = Thread(); i < count; i += kTeamThreads) own += f(i);
    own = AllLanes(own);
    if (Thread() % kWarpThreads == 0) memory_->words[Thread() / kWarpThreads] = own;
    Sync();
    const uint64_t sum = AllLanes(memory_->words[Thread() % kWarpThreads]);
    Sync();
    return sum;
  }

  /// Replaces each of `count` values by the sum of all values before it. Returns the total.
  uint32_t ScanExclusive(uint32_t* values, uint32_t count) const {
    const uint32_t each = (count + kTeamThreads - 1) / kTeamThreads;
    const uint32_t first = Thread() * each, last = Least(first + each, count);
    uint32_t own = 0;
    for (uint32_t i = first; i < last; ++i) own += values[i];
    uint32_t upto = own;  // Sum of the values of this warp's threads up to and including this one.
    for (uint32_t step = 1; step < kWarpThreads; step *= 2) {
      const uint32_t other = ShuffleUp(upto, step);
      if (Thread() % kWarpThreads >= step) upto += other;
    }
    if (Thread() % kWarpThreads == kWarpThreads - 1) {
      memory_->words[Thread() / kWarpThreads] = upto;
    }
    Sync();
    // The low half is the sum over all warps, the high half the sum over the warps before this one.
    const auto words = static_cast<uint32_t>(memory_->words[Thread() % kWarpThreads]);
    const bool earlier = Thread() % kWarpThreads < Thread() / kWarpThreads;
    const uint64_t both = AllLanes(words | (earlier ? uint64_t{words} << 32 : 0));
    const auto sum = static_cast<uint32_t>(both);
    uint32_t before = upto - own + static_cast<uint32_t>(both >> 32);
    for (uint32_t i = first; i < last; ++i) {
      const uint32_t value = values[i];
      values[i] = before;
      before += value;
    }
    Sync();
    return sum;
  }

 private:
  static uint32_t Thread() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_tid_x()); }
  /// Returns the sum of `value` over all threads of the warp. Callers may pack two 32-bit sums into
  /// one value if neither overflows.
  static uint64_t AllLanes(uint64_t value) {
    for (uint32_t step = kWarpThreads / 2; step != 0; step /= 2) {
      const uint32_t low = ShuffleAcross(static_cast<uint32_t>(value), step);
      const uint32_t high = ShuffleAcross(static_cast<uint32_t>(value >> 32), step);
      value += low | uint64_t{high} << 32;
    }
    return value;
  }
  static uint32_t ShuffleAcross(uint32_t value, uint32_t mask) {
    return static_cast<uint32_t>(
        __nvvm_shfl_sync_bfly_i32(~0u, static_cast<int>(value), static_cast<int>(mask), 31));
  }
  static uint32_t ShuffleUp(uint32_t value, uint32_t lanes) {
    return static_cast<uint32_t>(
        __nvvm_shfl_sync_up_i32(~0u, static_cast<int>(value), static_cast<int>(lanes), 0));
  }
#else
  void Sync() const {}

  template <typename F>
  void ForEach(uint32_t count, F f) const {
    for (uint32_t i = 0; i < count; ++i) f(i);
  }
  template <typename LoadFn, typename StoreFn>
  void Copy(uint32_t count, LoadFn load, StoreFn store) const {
    for (uint32_t i = 0; i < count; ++i) store(i, load(i));
  }
  template <typename F>
  void One(F f) const {
    f();
  }
  template <typename F>
  void Lead(F f) const {
    f();
  }
  template <typename F>
  void Aside(F f) const {
    f();
  }
  template <typename F>
  uint64_t Agree(F f) const {
    return f();
  }
  template <typename F>
  uint64_t Sum(uint32_t count, F f) const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += f(i);
    return sum;
  }
  uint32_t ScanExclusive(uint32_t* values, uint32_t count) const {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t value = values[i];
      values[i] = sum;
      sum += value;
    }
    return sum;
  }

 private:
#endif

 public:
  /// Orders the stores to host memory that the threads made in ForEach or Copy with the same count.
  void FenceStores(uint32_t count) const {
    ForEach(count < kTeamThreads ? count : kTeamThreads, [](uint32_t) { FenceSystem(); });
  }

  /// Sorts `count` keys in ascending order with Batcher's bitonic network. `count` must be a power
  /// of two.
  void Sort(uint32_t* keys, uint32_t count) const {
    for (uint32_t run = 2; run <= count; run *= 2) {
      for (uint32_t step = run / 2; step != 0; step /= 2) {
        ForEach(count / 2, [&](uint32_t pair) {
          const uint32_t low = (pair & ~(step - 1)) * 2 | (pair & (step - 1));
          const uint32_t high = low + step;
          const uint32_t a = keys[low], b = keys[high];
          if ((a > b) == ((low & run) == 0)) {
            keys[low] = b;
            keys[high] = a;
          }
        });
      }
    }
  }

 private:
  [[maybe_unused]] TeamMemory* memory_;
};

}  // namespace sluice::device::grid
