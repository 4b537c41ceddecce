// SPDX-License-Identifier: BSD-3-Clause
//
// The contract between an application's loop and an interface: receive → view →
// answer → release, in one inlined call. Each interface implements it with the
// loop that suits what it truly receives; an engine runs on all of them, whether it
// works frame by frame or sees bursts.
#pragma once

#include <concepts>
#include <cstdint>

#include "nic/queue_counters.h"
#include "packet/burst.h"
#include "packet/frame.h"
#include "packet/outbox.h"

namespace sluice::nic {

/// What an engine is to an interface: decides about one frame, in place.
/// `now` is in TSC cycles and the same for all frames of a burst.
template <typename E>
concept FrameEngine = requires(E engine, packet::Frame& frame, uint64_t now) {
  { engine.Process(frame, now) } -> std::same_as<packet::Verdict>;
};

/// An engine that can fetch what it will want of a frame some frames ahead. A hint: the bytes
/// may be anything, and Process may never come.
template <typename E>
concept PreparingEngine = FrameEngine<E> &&
    requires(E engine, const uint8_t* frame, uint32_t length) {
  engine.Prepare(frame, length);
};

/// The same for an engine that sees all frames of a burst at once (packet/burst.h). Preferred to
/// Process, if an engine has both. For any packet::Burst; the concept has to name one.
template <typename E>
concept BurstEngine = requires(E engine, packet::OneFrame& burst, uint64_t now) {
  { engine.ProcessBurst(burst, now) } -> std::same_as<void>;
};

/// What a queue takes: an engine of either kind.
template <typename E>
concept QueueEngine = FrameEngine<E> || BurstEngine<E>;

/// A FrameEngine as a BurstEngine: each frame in its turn. The engine outlives it; what else the
/// engine has is its owner's to call. The other way round is packet::ProcessFrame.
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

/// These stand for every engine where a concept has to name one.
struct AnyEngine {
  packet::Verdict Process(packet::Frame& frame, uint64_t now);
};
struct AnyBurstEngine {
  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now);
};

/// Frames that a generator has ready: a queue that emits them says where each is to be written.
/// `index` counts from 0.
template <typename S>
concept FrameSource = requires(const S& source, uint32_t index, uint8_t* to) {
  /// Bytes of a frame, without FCS.
  { source.length(index) } -> std::same_as<uint32_t>;
  /// Writes so many at `to`, which is aligned to nothing.
  {source.Write(index, to)};
};
struct AnySource {
  uint32_t length(uint32_t index) const;
  void Write(uint32_t index, uint8_t* to) const;
};

/// An engine that sends at its own times. The worker calls it before every poll; a queue may call
/// it besides, while frames cost least. Returns frames sent.
template <typename E, typename Queue>
concept GeneratingEngine = requires(E engine, Queue& queue, uint64_t now) {
  { engine.Generate(queue, now) } -> std::same_as<uint32_t>;
};

/// One receive queue and its answer path, owned by one worker.
template <typename Q>
concept FrameQueue = requires(Q queue, const Q& constant, AnyEngine& engine,
                              AnyBurstEngine& burst_engine, const AnySource& source,
                              const uint8_t* frame, uint32_t count, uint64_t now) {
  /// Handles what has arrived: for any QueueEngine. Returns frames.
  { queue.Poll(engine, now) } -> std::same_as<uint32_t>;
  { queue.Poll(burst_engine, now) } -> std::same_as<uint32_t>;
  /// Link state, for the run's verdict.
  { constant.LinkUp() } -> std::same_as<bool>;
  { constant.counters() } -> std::same_as<const QueueCounters&>;
  /// The same for what counts on the queue's worker besides: reassembling.h.
  { queue.counters() } -> std::same_as<QueueCounters&>;
  /// TSC cycles that Poll has spent waiting for room to transmit, in total.
  { constant.waited_cycles() } -> std::same_as<uint64_t>;
  /// The way out for what the engine sends by itself. The queue stays where it is.
  { queue.outbox() } -> std::same_as<packet::Outbox>;
  /// Sends frames 0, 1, … of a source, at most `count`, without waiting for room. Returns how
  /// many left; the others were not sent, and are not counted. Where GeneratingEngine is called.
  { queue.Emit(source, count) } -> std::same_as<uint32_t>;
  /// Whether a frame of `count` bytes could be emitted at all. Before the run; any frame.
  { constant.CanEmit(frame, count) } -> std::same_as<bool>;
  /// Sees to it that frames sent while no Poll was running leave, though none may come.
  {queue.FlushSent()};
  /// Waits, bounded, until outstanding transmissions are complete. At shutdown.
  {queue.Drain()};
};

}  // namespace sluice::nic
