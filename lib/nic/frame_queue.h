// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of a queue, which connects an application's loop to an interface: receive → view →
// answer → release, in one inlined call. packet/engine.h contains the contract of an engine, and
// fake_queue.h an in-memory queue. Each interface implements its loop according to the unit that it
// receives (packets, spans, regions or lines). An engine runs on all of them, whether it handles
// single frames or bursts.
#pragma once

#include <concepts>
#include <cstdint>

#include "nic/queue_counters.h"
#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/outbox.h"

namespace sluice::nic {

/// Placeholder engines for concepts that must name a type.
struct AnyEngine final : packet::Engine {
  packet::Verdict Process(packet::Frame& frame, uint64_t now);
};
struct AnyBurstEngine final : packet::Engine {
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now);
};

/// Frames that a generator is ready to send. A queue that emits them passes the address at which to
/// write each frame. `index` counts from 0.
template <typename S>
concept FrameSource = requires(const S& source, uint32_t index, uint8_t* to) {
  /// Returns the frame's length in bytes, without FCS.
  { source.length(index) } -> std::same_as<uint32_t>;
  /// Writes length(index) bytes at `to`, which may be unaligned.
  {source.Write(index, to)};
};
struct AnySource {
  uint32_t length(uint32_t index) const;
  void Write(uint32_t index, uint8_t* to) const;
};

/// One receive queue and its transmit path, owned by one worker.
template <typename Q>
concept FrameQueue = requires(Q queue, const Q& constant, AnyEngine& engine,
                              AnyBurstEngine& burst_engine, const AnySource& source,
                              const uint8_t* frame, uint32_t count, uint64_t now) {
  /// Passes arrived frames to any packet::QueueEngine: one burst, region or line, or up to
  /// kMaxSpansOfPoll spans. Returns the number of frames.
  { queue.Poll(engine, now) } -> std::same_as<uint32_t>;
  { queue.Poll(burst_engine, now) } -> std::same_as<uint32_t>;
  /// Returns whether the link is up, for the run report.
  { constant.LinkUp() } -> std::same_as<bool>;
  { constant.counters() } -> std::same_as<const QueueCounters&>;
  /// Returns the counters for writing, for layers that also count frames of this worker
  /// (reassembling.h).
  { queue.counters() } -> std::same_as<QueueCounters&>;
  /// Returns the total TSC cycles that Poll has waited for room to transmit.
  { constant.waited_cycles() } -> std::same_as<uint64_t>;
  /// Returns the outbox through which the engine sends frames by itself. The queue must not be
  /// moved afterwards.
  { queue.outbox() } -> std::same_as<packet::Outbox>;
  /// Sends frames 0, 1, … of a source, at most `count`, without waiting for room. Returns the
  /// number of frames sent; the rest are not counted. May be called from Generate.
  { queue.Emit(source, count) } -> std::same_as<uint32_t>;
  /// Returns whether `frame`, of `count` bytes, can be emitted. Called before the run, with one of
  /// the generator's frames.
  { constant.CanEmit(frame, count) } -> std::same_as<bool>;
  /// Flushes frames that were sent outside Poll, in case no more frames arrive.
  {queue.FlushSent()};
  /// Waits, for a bounded time, for outstanding transmissions. A queue over ethdev only frees
  /// transmitted mbufs. Called at shutdown.
  {queue.Drain()};
};

}  // namespace sluice::nic
