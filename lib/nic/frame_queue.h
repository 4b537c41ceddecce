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
      const packet::Verdict verdict = engine_.Process(frame, now);
      burst.Answer(number, frame, verdict);
    }
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

/// One receive queue and its answer path, owned by one worker.
template <typename Q>
concept FrameQueue = requires(Q queue, const Q& constant, AnyEngine& engine,
                              AnyBurstEngine& burst_engine, uint64_t now) {
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
  /// Sees to it that frames sent while no Poll was running leave, though none may come.
  { queue.FlushSent() };
  /// Waits, bounded, until outstanding transmissions are complete. At shutdown.
  { queue.Drain() };
};

}  // namespace sluice::nic
