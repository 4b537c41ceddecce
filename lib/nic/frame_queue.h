// SPDX-License-Identifier: BSD-3-Clause
//
// The contract between an application's loop and an interface: receive → view →
// answer → release, in one inlined call. Each interface implements it with the
// loop that suits what it truly receives; an engine that works frame by frame
// runs on all of them.
//
// Conservation. Whenever no Poll is running,
//
//   rx_pkts + sent_pkts = tx_pkts + consumed_pkts + Σ engine_drops
//             + rx_scattered + rx_bad_entry + tx_full + tx_unframeable + no_exception_port.
//
// A frame that waits to be transmitted counts as transmitted, until it is clear that it will
// not be.
//
// `rx_desync` stands outside this law, because flits that belong to no
// recognisable frame cannot be counted in frames. On a streaming interface the
// bytes that the NIC reported obey their own law,
//
//   notified bytes = 64 · (Σ over received frames of ⌈length / 64⌉ + rx_desync).
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "packet/frame.h"
#include "packet/outbox.h"

namespace sluice::nic {

/// What an engine is to an interface: decides about one frame, in place.
/// `now` is in TSC cycles and the same for all frames of a burst.
template <typename E>
concept FrameEngine = requires(E engine, packet::Frame& frame, uint64_t now) {
  { engine.Process(frame, now) } -> std::same_as<packet::Verdict>;
};

/// Frames and their bytes.
struct FrameTotals {
  uint64_t pkts = 0;
  uint64_t bytes = 0;

  FrameTotals& operator+=(const FrameTotals& more) {
    pkts += more.pkts;
    bytes += more.bytes;
    return *this;
  }
};

/// An engine that can fetch what it will want of a frame some frames ahead. A hint: the bytes
/// may be anything, and Process may never come.
template <typename E>
concept PreparingEngine = FrameEngine<E> &&
                          requires(E engine, const uint8_t* frame, uint32_t length) {
  engine.Prepare(frame, length);
};

/// Totals of one queue. Written by the owning worker only, through Add; other
/// threads read through Load and see values that were true recently.
struct QueueCounters {
  static constexpr uint32_t kMaxReasons = 32;

  uint64_t rx_pkts = 0;
  uint64_t rx_bytes = 0;  ///< Without FCS; streaming: also without Ethernet padding.
  uint64_t sent_pkts = 0;  ///< That the engine sent of its own accord, or tried to (Outbox).
  uint64_t tx_pkts = 0;    ///< Answers, and what the engine sent.
  uint64_t tx_bytes = 0;
  uint64_t consumed_pkts = 0;
  uint64_t passed_pkts = 0;  ///< Of consumed_pkts: left through the exception port.
  uint64_t engine_drops[kMaxReasons] = {};  ///< By the engine's reason.
  uint64_t rx_scattered = 0;    ///< Packetized: in several buffers that do not fit into one.
  uint64_t rx_bad_entry = 0;    ///< Bilateral: entries of a region that describe no frame in it.
  uint64_t tx_full = 0;         ///< Not sent: the transmit side had no room, or gave it back.
  uint64_t tx_unframeable = 0;  ///< Not sent: this NIC cannot be told where the frame ends.
  uint64_t no_exception_port = 0;  ///< Passed on by the engine, and there is no way.
  uint64_t rx_desync = 0;       ///< Streaming: 64-byte flits that belong to no recognisable frame.

  /// Adds to one of the totals. Owner only. Wraps like any unsigned sum, so a
  /// correction may be added as its two's complement.
  static void Add(uint64_t& total, uint64_t amount) {
    std::atomic_ref<uint64_t>(total).store(total + amount, std::memory_order_relaxed);
  }
  /// Reads one of the totals from any thread.
  static uint64_t Load(const uint64_t& total) {
    return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(total)).load(std::memory_order_relaxed);
  }
  /// A copy that any thread may take while the owner works.
  QueueCounters Snapshot() const;
  QueueCounters& operator+=(const QueueCounters& other);

  /// Frames that ended in a named drop: everything but tx and consumed.
  uint64_t DroppedPkts() const;
  /// The law above. Exact only after the last Poll.
  bool Conserved() const { return rx_pkts + sent_pkts == tx_pkts + consumed_pkts + DroppedPkts(); }
};

/// One receive queue and its answer path, owned by one worker.
template <typename Q>
concept FrameQueue = requires(Q queue, const Q& constant) {
  /// Link state, for the run's verdict.
  { constant.LinkUp() } -> std::same_as<bool>;
  { constant.counters() } -> std::same_as<const QueueCounters&>;
  /// TSC cycles that Poll has spent waiting for room to transmit, in total.
  { constant.waited_cycles() } -> std::same_as<uint64_t>;
  /// The way out for what the engine sends of its own accord. The queue stays where it is.
  { queue.outbox() } -> std::same_as<packet::Outbox>;
  /// Sees to it that frames sent while no Poll was running leave, though none may come.
  { queue.FlushSent() };
  /// Waits, bounded, until outstanding transmissions are complete. At shutdown.
  { queue.Drain() };
};
// … and `template <FrameEngine E> uint32_t Poll(E& engine, uint64_t now)`, which
// returns the number of frames handled. Templates cannot stand in a concept.

}  // namespace sluice::nic
