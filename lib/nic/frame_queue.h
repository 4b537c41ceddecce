// SPDX-License-Identifier: BSD-3-Clause
//
// The contract between an application's loop and an interface: receive → view → answer → release,
// in one inlined call. Each interface implements its loop according to the unit that it receives
// (packets, spans, regions or lines). An engine runs on all of them, whether it handles single
// frames or bursts.
#pragma once

#include <concepts>
#include <cstdint>

#include "nic/queue_counters.h"
#include "packet/burst.h"
#include "packet/frame.h"
#include "packet/outbox.h"

namespace sluice::nic {

/// An engine that processes one frame at a time, in place. `now` is in TSC cycles and equal for all
/// frames of a burst.
template <typename E>
concept FrameEngine = requires(E engine, packet::Frame& frame, uint64_t now) {
  { engine.Process(frame, now) } -> std::same_as<packet::Verdict>;
};

/// An engine that can prefetch data for a later frame. Prepare is called some frames before
/// Process. It is a hint: the bytes may be invalid, and Process may not be called for them.
template <typename E>
concept PreparingEngine = FrameEngine<E> &&
    requires(E engine, const uint8_t* frame, uint32_t length) {
  engine.Prepare(frame, length);
};

/// An engine that processes all frames of a burst in one call (packet/burst.h). A queue prefers
/// ProcessBurst if an engine has both. ProcessBurst must accept any packet::Burst; the concept
/// checks one type.
template <typename E>
concept BurstEngine = requires(E engine, packet::OneFrame& burst, uint64_t now) {
  { engine.ProcessBurst(burst, now) } -> std::same_as<void>;
};

/// An engine of either kind; queues accept both.
template <typename E>
concept QueueEngine = FrameEngine<E> || BurstEngine<E>;

/// Adapts a FrameEngine to a BurstEngine by processing each frame in order. The engine must outlive
/// the adapter; its owner makes all other calls to it. packet::ProcessFrame is the opposite
/// adapter.
template <FrameEngine Engine>
class FrameByFrame {
 public:
  explicit FrameByFrame(Engine& engine) : engine_(engine) {}

  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) {
    for (uint32_t number = 0; number < burst.size(); ++number) {
      packet::Frame frame = burst.At(number);
      frame.spare = burst.spare();
      const packet::Verdict verdict = engine_.Process(frame, now);
      burst.Answer(number, frame, verdict);
    }
  }
  void set_outbox(packet::Outbox outbox) requires packet::Sender<Engine> {
    engine_.set_outbox(outbox);
  }

 private:
  Engine& engine_;
};

/// Placeholder engines for concepts that must name a type.
struct AnyEngine {
  packet::Verdict Process(packet::Frame& frame, uint64_t now);
};
struct AnyBurstEngine {
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now);
};

/// Frames that a generator is ready to send. A queue that emits them passes the address to which
/// each frame is written. `index` counts from 0.
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

/// An engine that sends at times of its choice. The worker calls Generate before every poll; a
/// queue may also call it where sending is cheapest. Generate returns the number of frames sent.
template <typename E, typename Queue>
concept GeneratingEngine = requires(E engine, Queue& queue, uint64_t now) {
  { engine.Generate(queue, now) } -> std::same_as<uint32_t>;
};

/// One receive queue and its answer path, owned by one worker.
template <typename Q>
concept FrameQueue = requires(Q queue, const Q& constant, AnyEngine& engine,
                              AnyBurstEngine& burst_engine, const AnySource& source,
                              const uint8_t* frame, uint32_t count, uint64_t now) {
  /// Handles frames that have arrived, with any QueueEngine: one burst, region or line, or up to
  /// kMaxSpansOfPoll spans. Returns the number of frames.
  { queue.Poll(engine, now) } -> std::same_as<uint32_t>;
  { queue.Poll(burst_engine, now) } -> std::same_as<uint32_t>;
  /// Returns whether the link is up, for the report of the run.
  { constant.LinkUp() } -> std::same_as<bool>;
  { constant.counters() } -> std::same_as<const QueueCounters&>;
  /// Returns the counters for writing, for layers that also count frames of this worker
  /// (reassembling.h).
  { queue.counters() } -> std::same_as<QueueCounters&>;
  /// Returns the total TSC cycles that Poll has waited for room to transmit.
  { constant.waited_cycles() } -> std::same_as<uint64_t>;
  /// Returns the outbox through which the engine sends by itself. The queue must not move
  /// afterwards.
  { queue.outbox() } -> std::same_as<packet::Outbox>;
  /// Sends frames 0, 1, … of a source, at most `count`, without waiting for room. Returns the
  /// number of frames sent; the rest are not counted. May be called from Generate.
  { queue.Emit(source, count) } -> std::same_as<uint32_t>;
  /// Returns whether `frame`, of `count` bytes, can be emitted. Called before the run, with one of
  /// its frames.
  { constant.CanEmit(frame, count) } -> std::same_as<bool>;
  /// Flushes frames that were sent outside Poll, even if no more frames arrive.
  {queue.FlushSent()};
  /// Waits, for a bounded time, for outstanding transmissions; a queue over ethdev only frees
  /// transmitted mbufs. Called at shutdown.
  {queue.Drain()};
};

}  // namespace sluice::nic
