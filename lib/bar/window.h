// SPDX-License-Identifier: BSD-3-Clause
//
// A mailbox window between a host and a NIC: numbered pairs of 64-byte lines, each
// written by one side and read by the other. What carries the lines differs (shared
// memory, a PCI BAR, virtual time) and says honestly what it can do; the protocols on
// top (swaps, one-way queues) use only this.
//
// A line is a register, not a queue: it is level-triggered, may be posted again at
// will, and a reader sees the newest state. The writer keeps words 1 … 7 unchanged as
// long as the reader may look at them; word 0 publishes (swap/line.h says when).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

namespace sluice::bar {

inline constexpr uint32_t kLineBytes = 64;
/// Pairs that a window holds at most.
inline constexpr uint32_t kMaxWindowLines = 4096;

/// The unit of exchange. Little-endian words. The upper half of word 7 belongs to the
/// window: a back end that may tear lines keeps a CRC32C of the rest there.
struct alignas(kLineBytes) Line {
  std::array<uint64_t, 8> word{};

  friend bool operator==(const Line&, const Line&) = default;
};
static_assert(sizeof(Line) == kLineBytes);

/// What a back end can really do; bits of `capabilities()`.
enum WindowCapability : uint32_t {
  kWindowWriteCombining = 1u << 0,  ///< Posted lines leave as one write (WC, MOVDIR64B).
  kWindowWriteThrough = 1u << 1,    ///< Reads may be cached until flushed (Wave's WT mapping).
  kWindowLineAtomic = 1u << 2,      ///< A line arrives whole or not at all.
  kWindowNicStoresHost = 1u << 3,   ///< NIC lines lie in host memory: polling costs no round trip.
  kWindowInterrupt = 1u << 4,       ///< Interrupt() wakes the other side.
  kWindowCoherent = 1u << 5,        ///< Both sides see one coherent memory.
  kWindowStalledLoad = 1u << 6,     ///< A load may wait at the device (Lauberhorn).
  kWindowModelled = 1u << 7,        ///< Not hardware: shared memory between cores, or virtual time.
};

/// The two sides. A line of the host is posted by the host, whatever memory it lies in.
enum class WindowSide : uint8_t { kHost, kNic };
constexpr WindowSide OtherSide(WindowSide side) {
  return side == WindowSide::kHost ? WindowSide::kNic : WindowSide::kHost;
}

/// One side of a window. Each line is posted by one thread and polled by one thread
/// of the other side at a time.
template <typename W>
concept WindowEnd = requires(W window, const W& constant, uint32_t index, Line& out,
                             const Line& line) {
  /// Pairs of lines; indices are below it.
  { constant.lines() } -> std::convertible_to<uint32_t>;
  { constant.capabilities() } -> std::convertible_to<uint32_t>;
  /// Publishes this side's line `index`. Returns at once.
  {window.Post(index, line)};
  /// Word 0 of the other side's line, without the rest: the cheap look of a poll loop
  /// (acquire). All ones if the link is dead.
  { window.Peek(index) } -> std::same_as<uint64_t>;
  /// The other side's whole line. False: torn or dead; look again.
  { window.Poll(index, out) } -> std::same_as<bool>;
  /// Reads 8 bytes of the other side's line `index` past every cache: blocks for a round
  /// trip and pushes everything posted before it (PCIe ordering).
  { window.ReadUncached(index, /*word=*/index) } -> std::same_as<uint64_t>;
  /// Everything posted is on its way, and nothing cached is believed any more.
  {window.Flush()};
  /// Wakes the other side's `index`-th vector. No effect without kWindowInterrupt.
  {window.Interrupt(index)};
};

}  // namespace sluice::bar
