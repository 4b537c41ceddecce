// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a frame engine over contiguous bytes: the heart of the streaming
// interface (Ensō, OSDI'23, section 4). Used by StreamingQueue; independent of
// where the spans come from.
//
// Only a frame's own header says where the next frame begins, so a walk is a
// chain "load the length → address of the next frame": some seven cycles a frame
// out of the cache, and a whole transfer between cores where the NIC has just
// written the header, which no work on the frames can hide. Up to kLanes spans are
// therefore walked in lockstep: their chains overlap.
//
// Frames that stay in place and leave form a *run*, transmitted as one piece.
// A frame that does not (dropped, consumed, rebuilt elsewhere) ends the run and
// leaves a gap, which is given back together with what follows it. Every byte of
// a span is given back exactly once, in order, by Send or by Release.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "packet/frame_length.h"

namespace sluice::nic {

/// Bytes that arrived on one pipe, contiguous, from the start of a frame.
struct Span {
  uint32_t pipe;   ///< Index among the pipes of one worker.
  uint8_t* data;
  uint32_t bytes;  ///< > 0, a multiple of 64; the NIC says that a frame ends here.
};

/// How the copy of a frame fared.
enum class SendResult : uint8_t {
  kSent,
  kFull,         ///< No room in time.
  kUnframeable,  ///< This NIC would cut the frame wrongly, and there is no other way out.
};

/// What a walk needs from the pipes whose bytes it walks.
template <typename P>
concept PipeSet = requires(P pipes, uint32_t pipe, const uint8_t* data, uint32_t bytes) {
  /// Longest frame that the NIC delivers; a longer claim is a lie.
  { P::kMaxFrameBytes } -> std::convertible_to<uint32_t>;
  /// Transmits a run in place and gives back the oldest `release_bytes` of the
  /// pipe, which end with the run. Gives back in any case; returns what could not
  /// be sent, of this run and of earlier copies.
  { pipes.Send(pipe, data, bytes, /*release_bytes=*/bytes) } -> std::same_as<FrameTotals>;
  /// Gives back the oldest `bytes` of the pipe unsent.
  { pipes.Release(pipe, bytes) };
  /// Accepts a copy of one frame for transmission, behind all earlier sends and
  /// before all later ones.
  { pipes.SendCopy(data, /*length=*/bytes) } -> std::same_as<SendResult>;
};

/// Frames in a run, as the transmitter cuts it.
inline FrameTotals CountFrames(const uint8_t* data, uint32_t bytes) {
  FrameTotals totals;
  for (uint32_t at = 0; at < bytes;) {
    const uint32_t length = packet::FrameLength(data + at);
    ++totals.pkts;
    totals.bytes += length;
    at += packet::FlitSpan(std::max(length, 1u));
  }
  return totals;
}

/// Walks spans of one worker's pipes. One per worker; not thread-safe.
template <PipeSet Pipes>
class SpanWalker {
 public:
  /// Chains in flight. Four hide the cycles of a chain out of the cache; eight
  /// halve what four leave of the transfers between cores (a core has ten to twelve
  /// of them in flight at most), and cost nothing else: sixteen cost more than they hide.
  static constexpr uint32_t kLanes = 8;
  /// A run is sent when it reaches this length although it could go on: kLanes
  /// such pieces fit into a core's second-level cache, and the NIC gets space
  /// back, and work, while the worker goes on.
  static constexpr uint32_t kRunBytes = 64 * 1024;

  /// All must outlive the walker.
  SpanWalker(Pipes& pipes, ExceptionPath& exception, QueueCounters& counters)
      : pipes_(pipes), exception_(exception), counters_(counters) {}

  /// Gives every frame of `spans` to the engine and every byte back to the
  /// pipes. Two spans of one pipe must not be in one call. Returns frames.
  template <FrameEngine Engine>
  uint32_t Walk(std::span<const Span> spans, Engine& engine, uint64_t now) {
    waiting_ = spans;
    active_ = 0;
    walked_ = {};
    kept_back_ = {};
    while (active_ < kLanes && !waiting_.empty()) lanes_[active_++] = NextLane();
    WalkLanes<8>(engine, now);
    WalkLanes<4>(engine, now);
    WalkLanes<2>(engine, now);
    WalkLanes<1>(engine, now);
    QueueCounters::Add(counters_.rx_pkts, walked_.pkts);
    QueueCounters::Add(counters_.rx_bytes, walked_.bytes);
    QueueCounters::Add(counters_.tx_pkts, walked_.pkts - kept_back_.pkts);
    QueueCounters::Add(counters_.tx_bytes, walked_.bytes - kept_back_.bytes);
    return static_cast<uint32_t>(walked_.pkts);
  }

  /// Sends a copy of a frame that is no part of a run, and counts how it fared. Also while an
  /// engine handles a frame, and outside Walk. True: accepted.
  bool SendCopy(const uint8_t* data, uint32_t length) {
    const SendResult result = pipes_.SendCopy(data, length);
    switch (result) {
      case SendResult::kSent:
        QueueCounters::Add(counters_.tx_pkts, 1);
        QueueCounters::Add(counters_.tx_bytes, length);
        break;
      case SendResult::kFull:
        QueueCounters::Add(counters_.tx_full, 1);
        break;
      case SendResult::kUnframeable:
        QueueCounters::Add(counters_.tx_unframeable, 1);
        break;
    }
    return result == SendResult::kSent;
  }

 private:
  /// A walk under way. owed ≤ run ≤ cursor ≤ end and cursor < stop + one frame;
  /// all on flit boundaries of the span.
  struct Lane {
    uint8_t* cursor;  ///< The next frame.
    uint8_t* stop;    ///< The lockstep handles only frames that end before it.
    uint8_t* end;     ///< Of the span.
    uint8_t* run;     ///< First byte of the run that ends at the cursor.
    uint8_t* owed;    ///< Oldest byte not given back.
    uint32_t pipe;
    uint8_t* ahead;   ///< The next frame to prepare; perhaps behind the cursor.
  };
  static_assert(kLanes == 8, "Walk names the lane counts");

  Lane NextLane() {
    const Span span = waiting_.front();
    waiting_ = waiting_.subspan(1);
    uint8_t* const end = span.data + span.bytes;
    return {span.data, span.data + std::min(span.bytes, kRunBytes), end, span.data, span.data,
            span.pipe, span.data};
  }

  /// Walks while at least `kCount` lanes have bytes.
  template <uint32_t kCount, FrameEngine Engine>
  void WalkLanes(Engine& engine, uint64_t now) {
    while (active_ >= kCount) {
      Lane& lane = lanes_[Lockstep<kCount>(engine, now)];
      if (StepLane(lane, engine, now)) continue;
      lane = waiting_.empty() ? lanes_[--active_] : NextLane();
    }
  }

  /// The hot loop: one frame of each of the first `kCount` lanes per turn, until
  /// a lane needs the care of StepLane; returns its index. Cursors stay in
  /// registers: nothing here takes their address, so stores to frames cannot
  /// force them to be loaded again.
  template <uint32_t kCount, FrameEngine Engine>
  uint32_t Lockstep(Engine& engine, uint64_t now) {
    // Fewer lanes hide less: frames are prepared further ahead.
    constexpr uint32_t kAhead = kLanes / kCount;
    uint8_t* cursor[kCount];
    uint8_t* stop[kCount];
    [[maybe_unused]] uint8_t* ahead[kCount];
    uint64_t turns = 0;
    uint64_t bytes = 0;
    uint64_t resized_bytes = 0;  // Folds away for engines that keep the length.
    for (uint32_t i = 0; i < kCount; ++i) {
      cursor[i] = lanes_[i].cursor;
      stop[i] = lanes_[i].stop;
      if constexpr (PreparingEngine<Engine> && kAhead > 1) {
        ahead[i] = std::max(cursor[i], lanes_[i].ahead);
        if (ahead[i] > cursor[i]) continue;
        for (uint32_t j = 0; j < kAhead; ++j) ahead[i] = PrepareNext(ahead[i], stop[i], engine);
      }
    }
    const uint32_t careful = [&] {
      for (;; ++turns) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < kCount; ++i) {
          uint8_t* const at = cursor[i];
          const packet::LeadingWord word = packet::LeadingWord::Of(at);
          if (!word.IsPlainIpv4Within(kMinTotalLength, kMaxTotalLength)) [[unlikely]] {
            cursor[i] = StepOther(lanes_[i], at, stop[i], engine, now);
            if (cursor[i] == at) return i;
            continue;
          }
          const uint32_t length = word.TotalLength() + packet::kEthernetHeaderBytes;
          uint8_t* const next = at + packet::FlitSpan(length);
          if (next >= stop[i]) [[unlikely]] return i;
          PrefetchForWriting(next + (next - at));  // Where sizes repeat: the one after next.
          if constexpr (PreparingEngine<Engine>) {
            if constexpr (kAhead == 1) {
              // How long it is would have to be loaded.
              engine.Prepare(next, static_cast<uint32_t>(stop[i] - next));
            } else {
              ahead[i] = PrepareNext(ahead[i], stop[i], engine);
            }
          }
          packet::Frame frame = View(at, length);
          const packet::Verdict verdict = engine.Process(frame, now);
          if (StaysInPlace(at, length, word, frame, verdict)) [[likely]] {
            resized_bytes += static_cast<uint64_t>(frame.length) - length;
          } else {
            Divert(lanes_[i], at, length, frame.data, frame.length, verdict);
          }
          bytes += length;
          cursor[i] = next;
        }
      }
    }();
    for (uint32_t i = 0; i < kCount; ++i) {
      lanes_[i].cursor = cursor[i];
      if constexpr (PreparingEngine<Engine> && kAhead > 1) lanes_[i].ahead = ahead[i];
    }
    walked_.pkts += turns * kCount + careful;
    walked_.bytes += bytes;
    kept_back_.bytes -= resized_bytes;
    return careful;
  }

  /// Prepares the frame at `at`, if all of it lies before `stop`. Returns where the next one
  /// begins, or `at` if it was not prepared.
  template <FrameEngine Engine>
  static uint8_t* PrepareNext(uint8_t* at, const uint8_t* stop, Engine& engine) {
    if (at >= stop) return at;
    const uint32_t length = packet::FrameLength(at);
    uint8_t* const next = at + packet::FlitSpan(length);
    if (!Credible(length) || next > stop) return at;
    PrefetchForWriting(next + (next - at));
    engine.Prepare(at, length);
    return next;
  }

  /// One frame that is not plain IPv4, within the lockstep. Returns where the next
  /// one begins, or `at` if it takes the care of StepLane.
  template <FrameEngine Engine>
  [[gnu::noinline]] uint8_t* StepOther(Lane& lane, uint8_t* at, const uint8_t* stop,
                                       Engine& engine, uint64_t now) {
    const uint32_t length = packet::FrameLength(at);
    uint8_t* const next = at + packet::FlitSpan(length);
    if (!Credible(length) || next >= stop) return at;
    HandleFrame(lane, at, length, engine, now);
    return next;
  }

  /// Gives one frame to the engine and sees to its ending. Counts its bytes.
  template <FrameEngine Engine>
  void HandleFrame(Lane& lane, uint8_t* at, uint32_t length, Engine& engine, uint64_t now) {
    const packet::LeadingWord word = packet::LeadingWord::Of(at);
    packet::Frame frame = View(at, length);
    const packet::Verdict verdict = engine.Process(frame, now);
    if (StaysInPlace(at, length, word, frame, verdict)) {
      kept_back_.bytes -= static_cast<uint64_t>(frame.length) - length;
    } else {
      Divert(lane, at, length, frame.data, frame.length, verdict);
    }
    walked_.bytes += length;
  }

  /// Handles whatever is at the cursor: a frame, or flits that are none. False
  /// when the span is done and all of it given back.
  template <FrameEngine Engine>
  bool StepLane(Lane& lane, Engine& engine, uint64_t now) {
    const uint32_t left = static_cast<uint32_t>(lane.end - lane.cursor);
    const uint32_t length = packet::FrameLength(lane.cursor);
    const uint32_t step = packet::FlitSpan(length);
    if (!Credible(length)) {
      SkipFlits(lane, packet::kFlitBytes);
    } else if (step > left) {
      SkipFlits(lane, left);
    } else {
      HandleFrame(lane, lane.cursor, length, engine, now);
      ++walked_.pkts;
      lane.cursor += step;
    }
    if (lane.cursor >= lane.stop) {
      GiveBack(lane, lane.cursor);
      lane.stop = lane.cursor + std::min<ptrdiff_t>(lane.end - lane.cursor, kRunBytes);
    }
    return lane.cursor < lane.end;
  }

  /// Fetches a header together with the right to write it: a fetch for reading
  /// would cost a second transfer between cores when the engine stores.
  static void PrefetchForWriting(const uint8_t* at) { __builtin_prefetch(at, 1); }

  /// Long enough for the headers that name its length, no longer than the NIC delivers.
  static bool Credible(uint32_t length) {
    return length - kMinFrameBytes <= Pipes::kMaxFrameBytes - kMinFrameBytes;
  }

  static packet::Frame View(uint8_t* data, uint32_t length) {
    return {data, length, 0, packet::FlitSpan(length) - length};
  }

  /// True if the frame leaves as part of the run that it lies in. `word` is what
  /// it arrived with: where an engine is seen not to touch it, nothing is left to check.
  static bool StaysInPlace(const uint8_t* at, uint32_t length, packet::LeadingWord word,
                           const packet::Frame& frame, packet::Verdict verdict) {
    if (verdict.action != packet::Action::kForward || frame.data != at ||
        packet::FlitSpan(frame.length) != packet::FlitSpan(length)) {
      return false;
    }
    const bool untouched = packet::LeadingWord::Of(at).bits == word.bits;
    return (untouched && word.IsPlainIpv4()) || CutsWell(at, frame.length);
  }

  [[gnu::noinline]] static bool CutsWell(const uint8_t* at, uint32_t length) {
    return packet::TotalLengthCutsWell(at, length);
  }

  /// Ends a frame that does not stay in place: `arrived_bytes` at `at` became
  /// `length` at `data`. Values, not a Frame: that would live in memory, for every frame.
  [[gnu::noinline]] void Divert(Lane& lane, uint8_t* at, uint32_t arrived_bytes,
                                const uint8_t* data, uint32_t length, packet::Verdict verdict) {
    EndRun(lane, at, packet::FlitSpan(arrived_bytes));
    ++kept_back_.pkts;
    kept_back_.bytes += arrived_bytes;
    switch (verdict.action) {
      case packet::Action::kConsume:
        QueueCounters::Add(counters_.consumed_pkts, 1);
        break;
      case packet::Action::kForward:
        SendCopy(data, length);
        break;
      case packet::Action::kPass:
        exception_.Pass(data, length, counters_);
        break;
      case packet::Action::kDrop:
        const uint32_t reason = std::min<uint32_t>(verdict.reason, QueueCounters::kMaxReasons - 1);
        QueueCounters::Add(counters_.engine_drops[reason], 1);
        break;
    }
  }

  /// Passes over flits that are no frame.
  [[gnu::noinline]] void SkipFlits(Lane& lane, uint32_t bytes) {
    EndRun(lane, lane.cursor, bytes);
    lane.cursor += bytes;
    QueueCounters::Add(counters_.rx_desync, bytes / packet::kFlitBytes);
  }

  /// Sends the run up to `at` and leaves a gap of `gap_bytes` behind it.
  void EndRun(Lane& lane, uint8_t* at, uint32_t gap_bytes) {
    if (lane.run < at) SendRun(lane, at);
    lane.run = at + gap_bytes;
  }

  /// Gives back everything before `upto`, the run that ends there sent.
  void GiveBack(Lane& lane, uint8_t* upto) {
    if (lane.run < upto) {
      SendRun(lane, upto);
    } else if (lane.owed < upto) {
      pipes_.Release(lane.pipe, static_cast<uint32_t>(upto - lane.owed));
      lane.owed = upto;
    }
    lane.run = upto;
  }

  void SendRun(Lane& lane, uint8_t* upto) {
    const FrameTotals unsent = pipes_.Send(lane.pipe, lane.run,
                                           static_cast<uint32_t>(upto - lane.run),
                                           static_cast<uint32_t>(upto - lane.owed));
    lane.owed = upto;
    kept_back_.pkts += unsent.pkts;
    kept_back_.bytes += unsent.bytes;
    QueueCounters::Add(counters_.tx_full, unsent.pkts);
  }

  static constexpr uint32_t kMinFrameBytes =
      packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes;
  /// Total lengths that the lockstep handles itself; the lower is FrameLength's.
  static constexpr uint32_t kMinTotalLength =
      packet::kIpv4MinHeaderBytes + packet::kUdpHeaderBytes + 1;
  static constexpr uint32_t kMaxTotalLength = Pipes::kMaxFrameBytes - packet::kEthernetHeaderBytes;

  Pipes& pipes_;
  ExceptionPath& exception_;
  QueueCounters& counters_;
  std::span<const Span> waiting_;  ///< Not on a lane yet.
  std::array<Lane, kLanes> lanes_;
  uint32_t active_ = 0;            ///< lanes_[0 … active_) have bytes or something to give back.
  FrameTotals walked_;             ///< In this Walk: frames given to the engine.
  FrameTotals kept_back_;          ///< walked_ minus what leaves in place; modulo 2^64.
};

}  // namespace sluice::nic
