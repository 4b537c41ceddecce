// SPDX-License-Identifier: BSD-3-Clause
//
// Records the operations on a window, their bytes on a PCIe link, and their start times, so that
// tests and tables compare protocols independently of this machine's speed. Recording needs a
// wrapper type, so an unwrapped window has no overhead.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>

#include "bar/tlp.h"
#include "bar/window.h"

namespace sluice::bar {

enum class WindowOperation : uint8_t {
  kPost,
  kPeek,
  kPoll,
  kReadUncached,
  kFlush,
  kInterrupt,
  /// Prefetch(), which window.h does not require; recorded only for windows that implement it.
  kPrefetch,
};
inline constexpr size_t kWindowOperations = 7;

/// One operation.
struct WindowEvent {
  WindowOperation operation = WindowOperation::kFlush;
  WindowSide side = WindowSide::kHost;
  uint32_t index = 0;  ///< Index of the line or the vector.
  LinkBytes bytes;  ///< Bytes on the link, including framing; for a maximum payload of at least 128
                    ///< bytes.
  uint64_t time_ps = 0;  ///< Start time on the clock of this side; 0 if the window has no clock.

  friend bool operator==(const WindowEvent&, const WindowEvent&) = default;
};

/// Returns the link bytes of one operation by `side` on a window with these capabilities. Reads of
/// local memory use none. Each read of a write-through line counts as a transfer, because cache
/// hits are known only to the window; a window that tracks them counts link bytes itself
/// (CountsLinkBytes).
constexpr LinkBytes WindowBytes(WindowOperation operation, uint32_t capabilities, WindowSide side) {
  constexpr uint32_t kMps = 128;
  constexpr uint64_t kWords = kLineBytes / sizeof(uint64_t);
  constexpr TlpRead kWord = TlpReadBytes(sizeof(uint64_t), kMps, kMps, kMps);
  constexpr TlpRead kLine = TlpReadBytes(kLineBytes, kMps, kMps, kMps);
  constexpr uint64_t kInterruptBytes = 4;
  const bool nic_stores_host = (capabilities & kWindowNicStoresHost) != 0;
  const bool write_through = (capabilities & kWindowWriteThrough) != 0;
  if (side == WindowSide::kNic) {
    if (operation == WindowOperation::kPost && nic_stores_host)
      return {0, TlpWriteBytes(kLineBytes, kMps)};
    if (operation == WindowOperation::kInterrupt && (capabilities & kWindowInterrupt) != 0)
      return {0, TlpWriteBytes(kInterruptBytes, kMps)};
    return {};
  }
  switch (operation) {
    case WindowOperation::kPost:
      if ((capabilities & (kWindowWriteCombining | kWindowLineAtomic)) != 0)
        return {TlpWriteBytes(kLineBytes, kMps), 0};
      return {kWords * TlpWriteBytes(sizeof(uint64_t), kMps), 0};
    case WindowOperation::kPeek:
      if (nic_stores_host) return {};
      return write_through ? LinkBytes{kLine.request, kLine.completion}
                           : LinkBytes{kWord.request, kWord.completion};
    case WindowOperation::kPoll:
    case WindowOperation::kPrefetch:
      if (nic_stores_host) return {};
      return write_through ? LinkBytes{kLine.request, kLine.completion}
                           : LinkBytes{kWords * kWord.request, kWords * kWord.completion};
    case WindowOperation::kReadUncached:
      return {kWord.request, kWord.completion};
    default:
      return {};
  }
}

/// Stores the newest events, and totals for all events. Used by one thread. The caller owns the
/// storage.
class WindowTrace {
 public:
  /// Stores at most `storage.size()` events, which may be 0.
  explicit WindowTrace(std::span<WindowEvent> storage) : storage_(storage) {}

  void Record(const WindowEvent& event) {
    if (!storage_.empty()) storage_[recorded_ % storage_.size()] = event;
    ++recorded_;
    ++counts_[static_cast<size_t>(event.operation)];
    bytes_ += event.bytes;
  }

  /// Returns the number of events so far, including overwritten ones.
  uint64_t recorded() const { return recorded_; }
  /// Returns the number of stored events.
  uint64_t size() const { return recorded_ < storage_.size() ? recorded_ : storage_.size(); }
  /// Returns the i-th stored event, oldest first; i < size().
  const WindowEvent& operator[](uint64_t i) const {
    return storage_[(recorded_ - size() + i) % storage_.size()];
  }
  uint64_t count(WindowOperation operation) const {
    return counts_[static_cast<size_t>(operation)];
  }
  LinkBytes bytes() const { return bytes_; }

 private:
  std::span<WindowEvent> storage_;
  uint64_t recorded_ = 0;
  std::array<uint64_t, kWindowOperations> counts_{};
  LinkBytes bytes_;
};

/// A window that counts its link bytes.
template <typename W>
concept CountsLinkBytes = requires(const W& window) {
  { window.link_bytes() } -> std::same_as<LinkBytes>;
};
/// A window with a clock.
template <typename W>
concept HasClock = requires(const W& window) {
  { window.now_ps() } -> std::convertible_to<uint64_t>;
};

/// A window that records its operations. `window` and `trace` must outlive this object.
template <WindowEnd W>
class TracedWindow {
 public:
  TracedWindow(W& window, WindowTrace& trace, WindowSide side)
      : window_(&window), trace_(&trace), side_(side) {}

  uint32_t lines() const { return window_->lines(); }
  uint32_t capabilities() const { return window_->capabilities(); }

  void Post(uint32_t index, const Line& line) {
    Traced(WindowOperation::kPost, index, [&] { window_->Post(index, line); });
  }
  uint64_t Peek(uint32_t index) {
    uint64_t word = 0;
    Traced(WindowOperation::kPeek, index, [&] { word = window_->Peek(index); });
    return word;
  }
  bool Poll(uint32_t index, Line& out) {
    bool whole = false;
    Traced(WindowOperation::kPoll, index, [&] { whole = window_->Poll(index, out); });
    return whole;
  }
  uint64_t ReadUncached(uint32_t index, uint32_t word) {
    uint64_t value = 0;
    Traced(WindowOperation::kReadUncached, index,
           [&] { value = window_->ReadUncached(index, word); });
    return value;
  }
  void Flush() {
    Traced(WindowOperation::kFlush, 0, [&] { window_->Flush(); });
  }
  void Interrupt(uint32_t vector) {
    Traced(WindowOperation::kInterrupt, vector, [&] { window_->Interrupt(vector); });
  }
  void Prefetch(uint32_t index) requires requires(W& window) { window.Prefetch(index); }
  {
    Traced(WindowOperation::kPrefetch, index, [&] { window_->Prefetch(index); });
  }

 private:
  template <typename Operation>
  void Traced(WindowOperation operation, uint32_t index, Operation&& run) {
    WindowEvent event;
    event.operation = operation;
    event.side = side_;
    event.index = index;
    if constexpr (HasClock<W>) event.time_ps = window_->now_ps();
    if constexpr (CountsLinkBytes<W>) {
      const LinkBytes before = window_->link_bytes();
      run();
      event.bytes = window_->link_bytes() - before;
    } else {
      run();
      event.bytes = WindowBytes(operation, window_->capabilities(), side_);
    }
    trace_->Record(event);
  }

  W* window_;
  WindowTrace* trace_;
  WindowSide side_;
};

}  // namespace sluice::bar
