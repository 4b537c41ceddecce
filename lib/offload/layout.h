// SPDX-License-Identifier: BSD-3-Clause
//
// Assigns a window's pairs of lines to the purposes of a channel. Both ends must use the same
// layout.
#pragma once

#include <cstdint>
#include <optional>

#include "bar/line_queue.h"
#include "offload/item.h"

namespace sluice::offload {

/// Wave: a control pair, a pair for each slot (NIC line: the transaction; host line: its outcome),
/// and the event ring.
struct WaveLayout {
  uint32_t first = 0;         ///< First pair.
  Slot slots = 1;             ///< Number of slots; at least 1.
  uint32_t queue_depth = 64;  ///< Maximum number of pending events; at least 1.

  constexpr uint32_t ControlLine() const { return first; }
  constexpr uint32_t LineOf(Slot slot) const { return first + 1 + slot; }
  constexpr bar::LineQueuePlace Queue() const { return {first + 1 + slots, queue_depth}; }
  /// Returns the slot that the NIC line of pair `line` belongs to, or nullopt if it belongs to
  /// none.
  constexpr std::optional<Slot> SlotOf(uint32_t line) const {
    const uint32_t slot = line - LineOf(0);
    return slot < slots ? std::optional<Slot>(slot) : std::nullopt;
  }
  /// Returns the number of pairs that the window needs.
  constexpr uint32_t LinesNeeded() const { return LineOf(slots) + queue_depth; }
};

/// Swaps: a control pair, two half-links for each slot (one for the agent's offers, one for the
/// host's asks), and half-links for events that need no decision.
struct SwapLayout {
  uint32_t first = 0;         ///< First pair.
  Slot slots = 1;             ///< Number of slots; at least 1.
  uint32_t queue_depth = 16;  ///< Number of event links, which limits pending events; at least 1.
  /// If true, Ask() starts a swap. If false, Ask() is the same as Send(), and every decision is an
  /// offer by the agent.
  bool asks = true;

  constexpr uint32_t ControlLine() const { return first; }
  constexpr uint32_t OfferLine(Slot slot) const { return first + 1 + slot; }
  constexpr uint32_t AskLine(Slot slot) const { return OfferLine(slots) + slot; }
  constexpr uint32_t EventLine(uint32_t link) const { return AskLine(asks ? slots : 0) + link; }
  /// Returns the slot that the NIC line of pair `line` belongs to, or nullopt if it belongs to
  /// none.
  constexpr std::optional<Slot> SlotOf(uint32_t line) const {
    const uint32_t at = line - OfferLine(0);
    return at < EventLine(0) - OfferLine(0) ? std::optional<Slot>(at % slots) : std::nullopt;
  }
  /// Returns the number of pairs that the window needs.
  constexpr uint32_t LinesNeeded() const { return EventLine(queue_depth); }
};

}  // namespace sluice::offload
