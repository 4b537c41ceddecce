// SPDX-License-Identifier: BSD-3-Clause
//
// A window in memory that two lcores or two processes share. Each line occupies 128 bytes, so that
// a processor that prefetches adjacent lines does not couple the two directions.
//
// Lines are published as in shared_line.h: if the writer follows window.h (words 1 … 7 do not
// change while word 0 publishes them), its lines are always read untorn, without a lock or a retry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bar/fence.h"
#include "bar/shared_line.h"
#include "bar/window.h"

namespace sluice::bar {

/// One side of a window. Copies refer to the same side of the same window and share the ownership
/// of the memory that Create() made or Attach() mapped. Empty after a failed Create or Attach,
/// which sets errno: EINVAL if an argument is invalid, EPROTO if the memory does not contain such a
/// window, else the kernel's error. All operations are loads and stores; interrupts are not used.
class ShmWindow {
 public:
  ShmWindow() = default;

  /// Returns the number of bytes that a window of `lines` pairs needs.
  static constexpr size_t BytesNeeded(uint32_t lines) {
    return kHeaderBytes + 2 * size_t{lines} * kSlotBytes;
  }

  /// Creates a window of 1 … kMaxWindowLines pairs of zeroed lines in a new anonymous file.
  static ShmWindow Create(uint32_t lines, WindowSide side);
  /// Like Create, in the caller's memory, which must be aligned to 128 bytes, contain
  /// BytesNeeded(lines) bytes, and outlive all sides.
  static ShmWindow CreateIn(void* memory, size_t bytes, uint32_t lines, WindowSide side);
  /// Returns a side of the window at the start of the file `fd`, which another process may have
  /// created. The caller owns `fd`. The file's creator must not shrink it; its contents are not
  /// trusted.
  static ShmWindow Attach(int fd, WindowSide side);
  /// Returns a side of a window that CreateIn() made; the memory may be mapped at another address.
  static ShmWindow AttachIn(void* memory, size_t bytes, WindowSide side);
  /// Returns the opposite side, over the same mapping.
  ShmWindow Peer() const;

  explicit operator bool() const { return own_ != nullptr; }
  /// Returns the file to pass to another process, or -1 if the caller owns the memory. This object
  /// owns the file.
  int fd() const;

  uint32_t lines() const { return lines_; }
  uint32_t capabilities() const {
    return kWindowLineAtomic | kWindowNicStoresHost | kWindowCoherent | kWindowModelled;
  }

  void Post(uint32_t index, const Line& line) { PublishLine(own_[index].line, line); }
  /// Prefetches line `index` for writing, ahead of a Post to it. The transfer between the cores
  /// then overlaps with the work before the Post.
  void PreparePost(uint32_t index) { __builtin_prefetch(&own_[index], 1); }
  uint64_t Peek(uint32_t index) const { return PeekLine(other_[index].line); }
  /// Reads the peer's line (window.h). Also returns false if word 0 is all ones, which is not valid
  /// in any line.
  bool Poll(uint32_t index, Line& out) const {
    return ReadLine(other_[index].line, out) && out.word[0] != ~uint64_t{0};
  }
  uint64_t ReadUncached(uint32_t index, uint32_t word) const {
    FullFence();
    return ReadWord(other_[index].line, word);
  }
  /// Makes earlier posts visible before later reads.
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
