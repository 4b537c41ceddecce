// SPDX-License-Identifier: BSD-3-Clause
//
// Runs an engine over contiguous bytes for the streaming interface. Used by StreamingQueue. It does
// not depend on the source of the spans. Assigns spans to the lanes of the lockstep (lockstep.h)
// and handles the cases that the lockstep does not cover: the end of a span, flits without a frame,
// and runs that have become long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/lockstep.h"
#include "nic/pipe_set.h"
#include "nic/span_runs.h"
#include "packet/frame_length.h"

namespace sluice::nic {

/// Walks the spans of one worker's pipes. One per worker; not thread-safe.
template <PipeSet Pipes>
class SpanWalker {
 public:
  static constexpr uint32_t kLanes = Lockstep<Pipes>::kLanes;
  /// Length at which a run is sent even if it could continue. kLanes such pieces fit into a core's
  /// second-level cache, and the NIC can send and receive while the worker continues.
  static constexpr uint32_t kRunBytes = 64 * 1024;

  /// All arguments must outlive the walker.
  SpanWalker(Pipes& pipes, ExceptionPath& exception, QueueCounters& counters)
      : lanes_(pipes, exception, counters), counters_(counters) {}
  SpanWalker(const SpanWalker&) = delete;
  SpanWalker& operator=(const SpanWalker&) = delete;

  /// Passes every frame of `spans` to the engine and returns every byte to the pipes. `spans` must
  /// not contain two spans of the same pipe. Returns the number of frames.
  template <packet::QueueEngine Engine>
  uint32_t Walk(std::span<const Span> spans, Engine& engine, uint64_t now) {
    waiting_ = spans;
    active_ = 0;
    lanes_.Begin();
    while (active_ < kLanes && StartLane(lanes_.lane(active_), engine, now)) ++active_;
    if (active_ > 0) {
      WalkLanes<8>(engine, now);
      WalkLanes<4>(engine, now);
      WalkLanes<2>(engine, now);
      WalkLanes<1>(engine, now);
    }
    const FrameTotals walked = lanes_.walked();
    const FrameTotals unforwarded = lanes_.runs().unforwarded();
    QueueCounters& counters = counters_;  // Loads the reference only once.
    QueueCounters::Add(counters.rx_pkts, walked.pkts);
    QueueCounters::Add(counters.rx_bytes, walked.bytes);
    QueueCounters::Add(counters.tx_pkts, walked.pkts - unforwarded.pkts);
    QueueCounters::Add(counters.tx_bytes, walked.bytes - unforwarded.bytes);
    return static_cast<uint32_t>(walked.pkts);
  }

  /// Sends a copy of a frame that is not part of a run, and counts the result. If an engine is
  /// handling a frame, first sends the answers to earlier frames of that lane. May also be called
  /// outside Walk. Returns whether the copy was accepted.
  bool SendCopy(const uint8_t* data, uint32_t length) {
    lanes_.SendSettled();
    return lanes_.runs().SendCopy(data, length);
  }

 private:
  static_assert(kLanes == 8, "Walk assumes eight lanes: it calls WalkLanes for 8, 4, 2 and 1");

  /// Assigns the next span to a lane. Returns false if no span is left. If the engine neither
  /// processes bursts nor prepares frames, first handles the equally long frames at the start of
  /// the span (RunRow).
  template <packet::QueueEngine Engine>
  bool StartLane(Lane& lane, Engine& engine, uint64_t now) {
    while (!waiting_.empty()) {
      const Span& span = waiting_.front();
      waiting_ = waiting_.subspan(1);
      lane = {.cursor = span.data,
              .stop = span.data + std::min(span.bytes, kRunBytes),
              .end = span.data + span.bytes,
              .run = span.data,
              .owed = span.data,
              .pipe = span.pipe,
              .ahead = span.data};
      if constexpr (packet::BurstEngine<Engine> || packet::PreparingEngine<Engine>) {
        return true;
      } else {
        do lanes_.RunRow(lane, engine, now);
        while (lane.cursor == lane.stop && Continue(lane));
        if (lane.cursor < lane.end) return true;
      }
    }
    return false;
  }

  /// Walks while at least `kCount` lanes have bytes left.
  template <uint32_t kCount, packet::QueueEngine Engine>
  void WalkLanes(Engine& engine, uint64_t now) {
    while (active_ >= kCount) {
      Lane& lane = lanes_.lane(lanes_.template Run<kCount>(engine, now));
      if (StepLane(lane, engine, now) || StartLane(lane, engine, now)) continue;
      lane = lanes_.lane(--active_);
    }
  }

  /// Handles the frame at the cursor, or skips flits that do not form a frame. Returns false when
  /// all bytes of the span have been handled and given back.
  template <packet::QueueEngine Engine>
  bool StepLane(Lane& lane, Engine& engine, uint64_t now) {
    const uint32_t left = static_cast<uint32_t>(lane.end - lane.cursor);
    const uint32_t length = packet::FrameLength(lane.cursor);
    if (!Lockstep<Pipes>::Credible(length)) {
      lanes_.runs().SkipFlits(lane, packet::kFlitBytes);
    } else if (packet::FlitSpan(length) > left) {
      lanes_.runs().SkipFlits(lane, left);
    } else {
      lanes_.Step(lane, length, engine, now);
    }
    return lane.cursor < lane.stop || Continue(lane);
  }

  /// Gives back all bytes before the cursor, which has reached the stop, and moves the stop.
  /// Returns false at the end of the span.
  bool Continue(Lane& lane) {
    lanes_.runs().GiveBack(lane, lane.cursor);
    lane.stop = lane.cursor + std::min<ptrdiff_t>(lane.end - lane.cursor, kRunBytes);
    return lane.cursor < lane.end;
  }

  Lockstep<Pipes> lanes_;  ///< Lanes 0 … active_ - 1 have bytes left to handle or to give back.
  QueueCounters& counters_;
  std::span<const Span> waiting_;  ///< Spans not yet assigned to a lane.
  uint32_t active_ = 0;
};

}  // namespace sluice::nic
