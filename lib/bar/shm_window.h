// SPDX-License-Identifier: BSD-3-Clause
//
// A window in memory that both sides share: two lcores, or two processes. Each line
// has 128 bytes of its own, so that a processor that fetches lines in adjacent pairs
// does not couple one direction with the other.
//
// Publication is that of shared_line.h: a writer that keeps to window.h (the rest is stable
// while word 0 publishes it) is always read whole, without a lock or a retry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bar/fence.h"
#include "bar/shared_line.h"
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

  void Post(uint32_t index, const Line& line) { PublishLine(own_[index].line, line); }
  /// A Post of line `index` is near: takes it with the right to write it, so that the
  /// transfer between the cores and the work before the Post overlap.
  void PreparePost(uint32_t index) { __builtin_prefetch(&own_[index], 1); }
  uint64_t Peek(uint32_t index) const { return PeekLine(other_[index].line); }
  /// False as well for a word 0 of all ones, which no valid line has.
  bool Poll(uint32_t index, Line& out) const {
    return ReadLine(other_[index].line, out) && out.word[0] != ~uint64_t{0};
  }
  uint64_t ReadUncached(uint32_t index, uint32_t word) const {
    FullFence();
    return ReadWord(other_[index].line, word);
  }
  /// What is posted before it is visible before anything after it is looked at.
  void Flush() { FullFence(); }
  void Interrupt(uint32_t) {}

 private:
  static constexpr size_t kSlotBytes = 128;
  static constexpr size_t kHeaderBytes = 128;

  struct alignas(kSlotBytes) Slot {
    Line line;
  };
  static_assert(sizeof(Slot) == kSlotBytes && std::atomic_ref<uint64_t>::is_always_lock_free);

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
