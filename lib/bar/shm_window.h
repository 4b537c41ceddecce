// SPDX-License-Identifier: BSD-3-Clause
//
// A window in memory that both sides share: two lcores, or two processes. Each line
// has 128 bytes of its own, so that a processor that fetches lines in adjacent pairs
// does not couple one direction with the other.
//
// Publication: words 1 … 7 are relaxed stores, word 0 is released after them and
// acquired by the reader. A writer that keeps to window.h (the rest is stable while
// word 0 publishes it) is therefore always read whole, without a lock or a retry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bar/fence.h"
#include "bar/window.h"

namespace sluice::bar {

/// One side. Copies refer to the same side of the same window and share the ownership
/// of what Create() made or Attach() mapped. Empty after a failed Create or Attach, which
/// set errno: EINVAL for the arguments, EPROTO for memory that holds no such window, else
/// what the kernel said. Every operation is loads and stores, so nobody is interrupted.
class ShmWindow {
 public:
  ShmWindow() = default;

  /// Memory that a window of `lines` pairs takes.
  static constexpr size_t BytesNeeded(uint32_t lines) {
    return kHeaderBytes + 2 * size_t{lines} * kSlotBytes;
  }

  /// A new window of 1 … kMaxWindowLines pairs of zeroed lines in an anonymous file of
  /// its own.
  static ShmWindow Create(uint32_t lines, WindowSide side);
  /// The same in the caller's memory, which starts on a page, holds BytesNeeded(lines), and
  /// outlives all sides.
  static ShmWindow CreateIn(void* memory, size_t bytes, uint32_t lines, WindowSide side);
  /// A side of the window that is in the file `fd` (maybe another process's) from its
  /// first byte. The file stays the caller's. Its creator must not shrink it; what it
  /// writes there is not trusted.
  static ShmWindow Attach(int fd, WindowSide side);
  /// A side of the window that CreateIn() made in this memory, wherever it is mapped here.
  static ShmWindow AttachIn(void* memory, size_t bytes, WindowSide side);
  /// The other side, over the same mapping.
  ShmWindow Peer() const;

  explicit operator bool() const { return own_ != nullptr; }
  /// The file to pass to another process; -1 if the memory is the caller's. Stays owned.
  int fd() const;

  uint32_t lines() const { return lines_; }
  uint32_t capabilities() const {
    return kWindowLineAtomic | kWindowNicStoresHost | kWindowCoherent | kWindowModelled;
  }

  void Post(uint32_t index, const Line& line) {
    Slot& slot = own_[index];
    for (uint32_t i = 1; i < slot.word.size(); ++i)
      slot.word[i].store(line.word[i], std::memory_order_relaxed);
    slot.word[0].store(line.word[0], std::memory_order_release);
  }
  /// A Post of line `index` is near: takes it with the right to write it, so that the
  /// transfer between the cores and the work before the Post overlap.
  void PreparePost(uint32_t index) { __builtin_prefetch(&own_[index], 1); }
  uint64_t Peek(uint32_t index) const {
    return other_[index].word[0].load(std::memory_order_acquire);
  }
  /// False for a word 0 of all ones, which no valid line has.
  bool Poll(uint32_t index, Line& out) const {
    const Slot& slot = other_[index];
    out.word[0] = slot.word[0].load(std::memory_order_acquire);
    for (uint32_t i = 1; i < slot.word.size(); ++i)
      out.word[i] = slot.word[i].load(std::memory_order_relaxed);
    return out.word[0] != ~uint64_t{0};
  }
  uint64_t ReadUncached(uint32_t index, uint32_t word) const {
    FullFence();
    return other_[index].word[word].load(std::memory_order_acquire);
  }
  /// What is posted before it is visible before anything after it is looked at.
  void Flush() { FullFence(); }
  void Interrupt(uint32_t) {}

 private:
  static constexpr size_t kSlotBytes = 128;
  static constexpr size_t kHeaderBytes = 128;

  struct alignas(kSlotBytes) Slot {
    std::array<std::atomic<uint64_t>, 8> word;
  };
  static_assert(sizeof(Slot) == kSlotBytes && std::atomic<uint64_t>::is_always_lock_free);

  struct Header;
  struct Memory;
  static ShmWindow Format(std::shared_ptr<Memory> memory, uint32_t lines, WindowSide side);
  static ShmWindow Validate(std::shared_ptr<Memory> memory, WindowSide side);
  ShmWindow(std::shared_ptr<Memory> memory, uint32_t lines, WindowSide side);

  std::shared_ptr<Memory> memory_;
  Slot* own_ = nullptr;
  const Slot* other_ = nullptr;
  uint32_t lines_ = 0;
  WindowSide side_ = WindowSide::kHost;
};
static_assert(WindowEnd<ShmWindow>);

}  // namespace sluice::bar
