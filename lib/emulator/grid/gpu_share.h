// SPDX-License-Identifier: BSD-3-Clause
//
// The GPU resources that the NICs of a process share: registered host memory and multiprocessors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace sluice::emulator {

/// Host memory that is registered with GPUs. The driver rejects a second registration of a page,
/// even for another GPU, and one registration is valid for all GPUs of a process. Therefore each
/// page is registered once and stays registered until its last user releases it. Thread-safe.
class PinnedMemory {
 public:
  /// Undoes a registration.
  using Undo = std::function<void()>;
  /// Registers pages. On failure, returns null and sets `error` to a one-line message.
  using Pin = std::function<Undo(void* begin, size_t bytes, std::string* error)>;
  /// Returns whether the caller's GPU can access the registered pages that start at `begin`; if
  /// not, sets `error` to a one-line message.
  using Check = std::function<bool(void* begin, std::string* error)>;

  /// No registration crosses a multiple of this size. DPDK frees memory in hugepages of at least
  /// this size, so freed memory can be unregistered even if other NICs use adjacent memory.
  static constexpr uintptr_t kUnitBytes = 2u << 20;

  /// Registers the pages of a range that are not registered yet. On failure, returns false and sets
  /// `error` to a one-line message; the range then has no effect. Rejects pages that were released
  /// but are still registered together with pages in use, because they may now be different memory.
  bool Acquire(void* begin, size_t bytes, const Pin& pin, const Check& check, std::string* error);
  /// Releases an acquired range. Unregisters the pages that have no users left.
  void Release(void* begin, size_t bytes);

 private:
  struct Piece {
    uintptr_t end;
    uint32_t users;
    Undo undo;
  };
  using Pieces = std::map<uintptr_t, Piece>;

  /// Returns the piece that contains `at`, or the first piece after it.
  Pieces::iterator At(uintptr_t at);
  bool Take(uintptr_t begin, uintptr_t end, const Pin& pin, const Check& check, uintptr_t* taken,
            std::string* error);
  void Drop(uintptr_t begin, uintptr_t end);
  bool IsUsed(uintptr_t begin, uintptr_t end) const;

  std::mutex mutex_;
  Pieces pieces_;  ///< Registrations, by their start. They do not overlap.
  std::multimap<uintptr_t, uintptr_t> ranges_;  ///< Maps starts of acquired ranges to their ends.
};

/// Counts the blocks that run on each GPU. Blocks wait for each other, so all of them must run
/// concurrently, each on its own multiprocessor. Thread-safe.
class GpuBlocks {
 public:
  /// Reserves `blocks` of the `processors` multiprocessors of GPU `device`. If too few are free,
  /// returns false and sets `error` to a one-line message with the numbers and the fix.
  bool Reserve(int device, uint32_t blocks, uint32_t processors, std::string* error);
  void Return(int device, uint32_t blocks);

 private:
  std::mutex mutex_;
  std::map<int, uint32_t> reserved_;
};

struct GpuShare {
  PinnedMemory memory;
  GpuBlocks blocks;

  /// Returns this process's only instance.
  static GpuShare& OfProcess();
};

}  // namespace sluice::emulator
