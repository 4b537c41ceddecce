// SPDX-License-Identifier: BSD-3-Clause
//
// The contract between an application's loop and an interface: receive → view →
// answer → release, in one inlined call. Each interface implements it with the
// loop that suits what it truly receives; an engine that works frame by frame
// runs on all of them.
#pragma once

#include <concepts>
#include <cstdint>

#include "packet/frame.h"

namespace sluice::nic {

/// What an engine is to an interface: decides about one frame, in place.
/// `now` is in TSC cycles and the same for all frames of a burst.
template <typename E>
concept FrameEngine = requires(E engine, packet::Frame& frame, uint64_t now) {
  { engine.Process(frame, now) } -> std::same_as<packet::Verdict>;
};

/// Totals of one queue. `rx_pkts = tx_pkts + consumed_pkts + Σ drops` holds
/// whenever no Poll is running. Written by the owning worker only; other threads
/// read them through relaxed loads and see values that were true recently.
struct QueueCounters {
  static constexpr uint32_t kMaxReasons = 32;

  uint64_t rx_pkts = 0;
  uint64_t rx_bytes = 0;  ///< Without FCS.
  uint64_t tx_pkts = 0;
  uint64_t tx_bytes = 0;
  uint64_t consumed_pkts = 0;
  uint64_t engine_drops[kMaxReasons] = {};  ///< By the engine's reason.
  uint64_t tx_full = 0;         ///< Not sent: the transmit side stayed full.
  uint64_t tx_unframeable = 0;  ///< Not sent: this NIC would cut the frame wrongly (streaming, not IPv4).
  uint64_t rx_desync = 0;       ///< Streaming: 64-byte flits that belong to no recognisable frame.
};

/// One receive queue and its answer path, owned by one worker.
template <typename Q>
concept FrameQueue = requires(Q queue, const Q& constant) {
  /// Link state, for the run's verdict.
  { constant.LinkUp() } -> std::same_as<bool>;
  { constant.counters() } -> std::same_as<const QueueCounters&>;
};
// … and `template <FrameEngine E> uint32_t Poll(E& engine, uint64_t now)`, which
// returns the number of frames handled, and `void Drain()`, which waits, bounded,
// for outstanding transmissions at shutdown. Templates cannot stand in a concept.

}  // namespace sluice::nic
