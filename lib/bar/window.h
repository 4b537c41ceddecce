// SPDX-License-Identifier: BSD-3-Clause
//
// A mailbox window between a host and a NIC: numbered pairs of 64-byte lines, each written by one
// side and read by the other. The carrier of the lines (shared memory, a PCI BAR, virtual time)
// reports its capabilities; protocols on top of it (swaps, one-way queues) use only this interface.
//
// A line is a register, not a queue: it is level-triggered and may be posted again at any time, and
// a reader sees the newest state. The writer must not change words 1 … 7 while the reader may read
// them; word 0 publishes them (swap/message.h).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

namespace sluice::bar {

inline constexpr uint32_t kLineBytes = 64;
/// Maximum number of pairs in a window.
inline constexpr uint32_t kMaxWindowLines = 4096;

/// The unit of exchange, in little-endian words. The upper half of word 7 belongs to the window: a
/// carrier that can tear lines stores there a CRC32C of all other bytes.
struct alignas(kLineBytes) Line {
  std::array<uint64_t, 8> word{};

  friend bool operator==(const Line&, const Line&) = default;
};
static_assert(sizeof(Line) == kLineBytes);

/// Capabilities of a carrier; bits of `capabilities()`.
enum WindowCapability : uint32_t {
  kWindowWriteCombining = 1u << 0,  ///< Each posted line is one write (WC, MOVDIR64B).
  kWindowWriteThrough = 1u << 1,    ///< Reads may be cached until flushed (Wave's WT mapping).
  kWindowLineAtomic = 1u << 2,      ///< A line is never torn.
  kWindowNicStoresHost = 1u << 3,   ///< NIC lines are in host memory: polling needs no round trip.
  kWindowInterrupt = 1u << 4,       ///< Interrupt() wakes the other side.
  kWindowCoherent = 1u << 5,        ///< Both sides share coherent memory.
  kWindowStalledLoad = 1u << 6,     ///< The device may delay a load (Lauberhorn).
  kWindowModelled =
      1u << 7,  ///< The carrier is a model: shared memory between cores, or virtual time.
};

/// The two sides. Host lines are those that the host posts, no matter where they are stored.
enum class WindowSide : uint8_t { kHost, kNic };
constexpr WindowSide OtherSide(WindowSide side) {
  return side == WindowSide::kHost ? WindowSide::kNic : WindowSide::kHost;
}

/// One side of a window. At any time, each line is posted by one thread and polled by one thread of
/// the opposite side.
template <typename W>
concept WindowEnd = requires(W window, const W& constant, uint32_t index, Line& out,
                             const Line& line) {
  /// Returns the number of pairs. Indices must be below it.
  { constant.lines() } -> std::convertible_to<uint32_t>;
  { constant.capabilities() } -> std::convertible_to<uint32_t>;
  /// Publishes this side's line `index`. Returns at once.
  {window.Post(index, line)};
  /// Returns word 0 of the peer's line, for cheap polling (acquire); all ones if the link is dead.
  { window.Peek(index) } -> std::same_as<uint64_t>;
  /// Reads the peer's whole line. Returns false if the line is torn, so that the caller reads it
  /// again, or if the link is dead.
  { window.Poll(index, out) } -> std::same_as<bool>;
  /// Reads 8 bytes of the peer's line `index`, bypassing all caches. Blocks for a round trip and
  /// flushes earlier posts (PCIe ordering).
  { window.ReadUncached(index, /*word=*/index) } -> std::same_as<uint64_t>;
  /// Sends all posted lines and invalidates cached ones.
  {window.Flush()};
  /// Triggers interrupt vector `index` of the peer. No effect without kWindowInterrupt.
  {window.Interrupt(index)};
};

}  // namespace sluice::bar
