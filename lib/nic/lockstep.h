// SPDX-License-Identifier: BSD-3-Clause
//
// The hot loop of the streaming interface (Ensō, OSDI'23, section 4).
//
// Only a frame's header gives the position of the next frame. A walk is therefore a chain "load the
// length → address of the next frame". Each step takes about seven cycles if the header is cached,
// and a transfer between cores if the NIC has just written it. Work on the frames of one chain
// cannot hide that latency. The loop therefore walks up to kLanes spans in lockstep, one frame of
// each per turn, so that their chains overlap.
//
//            turn 1          turn 2          turn 3
//   lane 0   [A0]----------->[A1]----------->[A2]--        A0, A1, ...: frames of one span
//   lane 1     [B0]----------->[B1]----------->[B2]--      [A0]  the engine handles a frame
//   lane 2       [C0]----------->[C1]----------->[C2]--    --->  load of the length, from which
//   lane 3         [D0]----------->[D1]----------->[D2]--        the next address is computed
//   time   ------------------------------------------->
//
// While the load of one lane's next header is outstanding, the frames of the other lanes are
// handled.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nic/frame_queue.h"
#include "nic/span_runs.h"
#include "packet/frame_length.h"

namespace sluice::nic {

/// The lanes of one worker. The walker (span_walker.h) assigns spans to lanes and handles the cases
/// that the lockstep does not cover. Not thread-safe.
template <PipeSet Pipes>
class Lockstep {
 public:
  /// Number of chains in flight. Four hide the latency of chains with cached headers. Eight also
  /// halve the remaining stalls on transfers between cores, at no other cost; a core supports ten
  /// to twelve transfers in flight. Sixteen cost more time than they save.
  static constexpr uint32_t kLanes = 8;

  /// All arguments must outlive the object.
  Lockstep(Pipes& pipes, ExceptionPath& exception, QueueCounters& counters)
      : runs_(pipes, exception, counters) {}

  SpanRuns<Pipes>& runs() { return runs_; }
  Lane& lane(uint32_t index) { return lanes_[index]; }

  /// Returns the number and bytes of frames passed to the engine since Begin().
  const FrameTotals& walked() const { return walked_; }
  void Begin() {
    walked_ = {};
    runs_.Begin();
  }

  /// Handles frames of the first `kCount` lanes until a lane needs the walker. Returns that lane's
  /// index.
  template <uint32_t kCount, packet::QueueEngine Engine>
  uint32_t Run(Engine& engine, uint64_t now) {
    if constexpr (packet::BurstEngine<Engine>) {
      uint32_t careful;
      do careful = RunBurst<kCount>(engine, now);
      while (careful == kCount);
      return careful;
    } else {
      return RunFrames<kCount>(engine, now);
    }
  }

  /// Handles plain IPv4 frames from the lane's cursor on, as long as they have the same length as
  /// the first one and do not extend beyond `lane.stop`. Their addresses do not depend on loads, so
  /// one chain is enough. Engines that prepare frames need the exact positions of the frames ahead,
  /// so the walker calls Run for them.
  template <packet::FrameEngine Engine>
  requires(!packet::PreparingEngine<Engine>)
      [[gnu::noinline]] void RunRow(Lane& lane, Engine& engine, uint64_t now) {
    uint8_t* const first = lane.cursor;
    const packet::LeadingWord shape = packet::LeadingWord::Of(first);
    if (!shape.IsPlainIpv4Within(kMinTotalLength, kMaxTotalLength)) return;
    const uint32_t length = shape.TotalLength() + packet::kEthernetHeaderBytes;
    const uint64_t step = packet::FlitSpan(length);
    const uint8_t* const last = lane.stop - step;
    uint64_t resized_bytes = 0;
    uint8_t* at = first;
    for (; at <= last; at += step) {
      // Loaded only once, because another process may write to the frame.
      const packet::LeadingWord word = packet::LeadingWord::Of(at);
      if (!word.HasShapeOf(shape)) break;
      if (!word.IsPlainIpv4Within(kMinTotalLength, kMaxTotalLength)) __builtin_unreachable();
      PrefetchForWriting(at + 2 * step);
      packet::Frame frame = View(at, length, runs_.spare());
      if constexpr (packet::Sender<Engine>) at_work_ = at;
      const packet::Verdict verdict = engine.Process(frame, now);
      resized_bytes += Settle(lane, at, length, shape, frame, verdict);
    }
    if constexpr (packet::Sender<Engine>) at_work_ = nullptr;
    lane.cursor = at;
    const uint64_t bytes = static_cast<uint64_t>(at - first);
    const uint64_t frames = bytes / step;
    walked_.pkts += frames;
    walked_.bytes += frames * length;
    runs_.Grew(resized_bytes);
  }

  /// Passes the frame of `length` bytes at the lane's cursor to the engine and advances the cursor.
  template <packet::QueueEngine Engine>
  void Step(Lane& lane, uint32_t length, Engine& engine, uint64_t now) {
    HandleFrame(lane, lane.cursor, length, engine, now);
    ++walked_.pkts;
    lane.cursor += packet::FlitSpan(length);
  }

  /// Sends the answers to earlier frames in the lane of the frame being handled.
  void SendSettled() {
    if (at_work_ == nullptr) return;
    // WalkLanes copies the last lane over a lane that has ended. The first match is the valid copy.
    for (Lane& lane : lanes_) {
      if (lane.run <= at_work_ && at_work_ < lane.end) return runs_.SendBefore(lane, at_work_);
    }
  }

  /// Returns whether a frame of this length is long enough to include the headers that contain the
  /// length, and does not exceed the NIC's maximum.
  static bool Credible(uint32_t length) {
    return length - kMinFrameBytes <= Pipes::kMaxFrameBytes - kMinFrameBytes;
  }

 private:
  /// Number of frames, over all lanes, that an engine processes in one burst. The first flits of
  /// these frames occupy 8 KiB of the first-level cache.
  static constexpr uint32_t kBurstFrames = 128;
  static_assert(kBurstFrames % kLanes == 0);

  /// Handles one frame of each of the first `kCount` lanes per turn until a lane needs the walker.
  /// Returns that lane's index. Cursors stay in registers: their addresses are never taken, so
  /// stores to frames do not force reloads.
  template <uint32_t kCount, packet::FrameEngine Engine>
  [[gnu::noinline]] uint32_t RunFrames(Engine& engine, uint64_t now) {
    // Fewer lanes hide less latency, so frames must be prepared further ahead.
    constexpr uint32_t kAhead = kLanes / kCount;
    uint8_t* cursor[kCount];
    uint8_t* stop[kCount];
    [[maybe_unused]] uint8_t* ahead[kCount];
    uint64_t turns = 0;
    uint64_t bytes = 0;
    uint64_t resized_bytes = 0;  // Optimized out for engines that keep the length.
    for (uint32_t i = 0; i < kCount; ++i) {
      cursor[i] = lanes_[i].cursor;
      stop[i] = lanes_[i].stop;
      if constexpr (packet::PreparingEngine<Engine> && kAhead > 1) {
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
          if (next >= stop[i]) [[unlikely]]
            return i;
          PrefetchForWriting(next + (next - at));  // The frame after next if all sizes are equal.
          if constexpr (packet::PreparingEngine<Engine>) {
            if constexpr (kAhead == 1) {
              // The exact length has not been loaded yet, so this passes an upper bound.
              engine.Prepare(next, static_cast<uint32_t>(stop[i] - next));
            } else {
              ahead[i] = PrepareNext(ahead[i], stop[i], engine);
            }
          }
          packet::Frame frame = View(at, length, runs_.spare());
          if constexpr (packet::Sender<Engine>) at_work_ = at;
          const packet::Verdict verdict = engine.Process(frame, now);
          resized_bytes += Settle(lanes_[i], at, length, word, frame, verdict);
          bytes += length;
          cursor[i] = next;
        }
      }
    }();
    for (uint32_t i = 0; i < kCount; ++i) {
      lanes_[i].cursor = cursor[i];
      if constexpr (packet::PreparingEngine<Engine> && kAhead > 1) lanes_[i].ahead = ahead[i];
    }
    if constexpr (packet::Sender<Engine>) at_work_ = nullptr;
    walked_.pkts += turns * kCount + careful;
    walked_.bytes += bytes;
    runs_.Grew(resized_bytes);
    return careful;
  }

  /// Collects frames in the order of RunFrames for one engine call, until a lane needs the walker
  /// or kBurstFrames are found. Returns the index of that lane, or kCount if no lane needs the
  /// walker. Prefetches only headers, and for writing only if the engine declares that it writes to
  /// most frames.
  template <uint32_t kCount, packet::BurstEngine Engine>
  [[gnu::always_inline]] uint32_t RunBurst(Engine& engine, uint64_t now) {
    constexpr int kForWriting = Engine::kWritesFrames;
    std::array<uint8_t*, kBurstFrames + 1> starts;
    std::array<uint32_t, kBurstFrames> lengths;
    uint8_t* cursor[kCount];
    uint8_t* stop[kCount];
    for (uint32_t i = 0; i < kCount; ++i) {
      cursor[i] = lanes_[i].cursor;
      stop[i] = lanes_[i].stop;
    }
    uint32_t turn = 0;  // Number of frames in complete turns.
    const uint32_t careful = [&] {
      for (; turn < kBurstFrames; turn += kCount) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < kCount; ++i) {
          uint8_t* const at = cursor[i];
          const packet::LeadingWord word = packet::LeadingWord::Of(at);
          if (!word.IsPlainIpv4Within(kMinTotalLength, kMaxTotalLength)) [[unlikely]]
            return i;
          const uint32_t length = word.TotalLength() + packet::kEthernetHeaderBytes;
          uint8_t* const next = at + packet::FlitSpan(length);
          if (next >= stop[i]) [[unlikely]]
            return i;
          // The frame after next, if all frames have the same size.
          __builtin_prefetch(next + (next - at), kForWriting);
          starts[turn + i] = at;
          lengths[turn + i] = length;
          cursor[i] = next;
        }
      }
      return kCount;
    }();
    const uint32_t frames = turn + careful % kCount;
    if (frames == 0) return careful;
    for (uint32_t i = 0; i < kCount; ++i) lanes_[i].cursor = cursor[i];
    uint32_t bytes = 0, longest = 0;
    for (uint32_t i = 0; i < frames; ++i) {
      bytes += lengths[i];
      longest = std::max(longest, lengths[i]);
    }
    walked_.pkts += frames;
    walked_.bytes += bytes;
    packet::FoundBurst burst(
        frames, packet::BurstTotals{bytes, longest},
        [&](uint32_t number) { return View(starts[number], lengths[number]); },
        [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
          Lane& lane = lanes_[number % kCount];
          const uint32_t length = lengths[number];
          if constexpr (packet::Sender<Engine>) at_work_ = starts[number + 1];
          const bool stays = StaysWhereItWas(starts[number], length, frame, verdict) &&
                             LeavesWhole(starts[number], frame.length);
          Finish(stays, lane, starts[number], length, frame, verdict);
        },
        [this] { return runs_.spare(); });
    if constexpr (packet::Sender<Engine>) {
      starts[frames] = nullptr;
      at_work_ = starts[0];
    }
    engine.ProcessBurst(burst, now);
    if constexpr (packet::Sender<Engine>) at_work_ = nullptr;
    return careful;
  }

  /// Passes one frame to the engine and applies the verdict. Counts bytes; the callers count
  /// frames.
  template <packet::QueueEngine Engine>
  void HandleFrame(Lane& lane, uint8_t* at, uint32_t length, Engine& engine, uint64_t now) {
    const packet::LeadingWord word = packet::LeadingWord::Of(at);
    packet::Frame frame = View(at, length, runs_.spare());
    if constexpr (packet::Sender<Engine>) at_work_ = at;
    const packet::Verdict verdict = packet::ProcessFrame(engine, frame, now);
    if constexpr (packet::Sender<Engine>) at_work_ = nullptr;
    Finish(StaysInPlace(at, length, word, frame, verdict), lane, at, length, frame, verdict);
    walked_.bytes += length;
  }

  /// Applies the verdict for a frame that arrived as `length` bytes at `at` with the shape of
  /// `word`. Returns the number of bytes by which the frame grew, modulo 2^64, for SpanRuns::Grew.
  /// Returns 0 if the frame was diverted.
  uint64_t Settle(Lane& lane, uint8_t* at, uint32_t length, packet::LeadingWord word,
                  const packet::Frame& frame, packet::Verdict verdict) {
    // An answer outside the frame's memory may have been built at spare().
    const bool leaves = StaysWhereItWas(at, length, frame, verdict)
                            ? StaysWhole(at, word, frame.length)
                            : runs_.SendBuilt(lane, at, length, frame.data, frame.length, verdict);
    if (leaves) [[likely]]
      return static_cast<uint64_t>(frame.length) - length;
    runs_.Divert(lane, at, length, frame.data, frame.length, verdict);
    return 0;
  }

  /// Applies the verdict for a frame that arrived as `length` bytes at `at`. `stays` means that the
  /// frame is sent in place.
  void Finish(bool stays, Lane& lane, uint8_t* at, uint32_t length, const packet::Frame& frame,
              packet::Verdict verdict) {
    if (stays || runs_.SendBuilt(lane, at, length, frame.data, frame.length, verdict)) {
      runs_.Grew(static_cast<uint64_t>(frame.length) - length);
    } else {
      runs_.Divert(lane, at, length, frame.data, frame.length, verdict);
    }
  }

  /// Prepares the frame at `at`, unless it extends beyond `stop`. Returns the address of the next
  /// frame, or `at` if the frame was not prepared.
  template <packet::FrameEngine Engine>
  static uint8_t* PrepareNext(uint8_t* at, const uint8_t* stop, Engine& engine) {
    if (at >= stop) return at;
    const uint32_t length = packet::FrameLength(at);
    uint8_t* const next = at + packet::FlitSpan(length);
    if (!Credible(length) || next > stop) return at;
    PrefetchForWriting(next + (next - at));
    engine.Prepare(at, length);
    return next;
  }

  /// Handles one frame that is not plain IPv4, without leaving the lockstep. Returns the address of
  /// the next frame, or `at` if the frame needs the walker.
  template <packet::FrameEngine Engine>
  [[gnu::noinline]] uint8_t* StepOther(Lane& lane, uint8_t* at, const uint8_t* stop, Engine& engine,
                                       uint64_t now) {
    const uint32_t length = packet::FrameLength(at);
    uint8_t* const next = at + packet::FlitSpan(length);
    if (!Credible(length) || next >= stop) return at;
    HandleFrame(lane, at, length, engine, now);
    return next;
  }

  /// Prefetches a header for writing. After a prefetch for reading, the engine's stores would cost
  /// a second transfer between cores.
  static void PrefetchForWriting(const uint8_t* at) { __builtin_prefetch(at, 1); }

  static packet::Frame View(uint8_t* data, uint32_t length, uint8_t* spare = nullptr) {
    return {data, length, 0, packet::FlitSpan(length) - length, spare};
  }

  /// Returns true if the frame is sent in place as part of its run. `word` has the shape of the
  /// frame's leading word on arrival. CutsWell() is not called if this shape is plain IPv4 and the
  /// engine has not changed it.
  static bool StaysInPlace(const uint8_t* at, uint32_t length, packet::LeadingWord word,
                           const packet::Frame& frame, packet::Verdict verdict) {
    return StaysWhereItWas(at, length, frame, verdict) && StaysWhole(at, word, frame.length);
  }
  static bool StaysWhole(const uint8_t* at, packet::LeadingWord word, uint32_t length) {
    const bool untouched = packet::LeadingWord::Of(at).HasShapeOf(word);
    return (untouched && word.IsPlainIpv4()) || CutsWell(at, length);
  }
  static bool StaysWhereItWas(const uint8_t* at, uint32_t length, const packet::Frame& frame,
                              packet::Verdict verdict) {
    return verdict.action == packet::Action::kForward && frame.data == at &&
           packet::FlitSpan(frame.length) == packet::FlitSpan(length);
  }

  /// Returns true if the leading word at `at` gives exactly `length`, otherwise the result of
  /// CutsWell(). For callers that have not kept the leading word of the received frame.
  static bool LeavesWhole(const uint8_t* at, uint32_t length) {
    const packet::LeadingWord word = packet::LeadingWord::Of(at);
    const bool as_it_says = word.IsPlainIpv4Within(kMinTotalLength, kMaxTotalLength) &&
                            word.TotalLength() + packet::kEthernetHeaderBytes == length;
    return as_it_says || CutsWell(at, length);
  }

  [[gnu::noinline]] static bool CutsWell(const uint8_t* at, uint32_t length) {
    return packet::TotalLengthCutsWell(at, length);
  }

  static constexpr uint32_t kMinFrameBytes =
      packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes;
  /// Range of total lengths that the lockstep handles itself. FrameLength has the same minimum.
  static constexpr uint32_t kMinTotalLength =
      packet::kIpv4MinHeaderBytes + packet::kUdpHeaderBytes + 1;
  static constexpr uint32_t kMaxTotalLength = Pipes::kMaxFrameBytes - packet::kEthernetHeaderBytes;

  SpanRuns<Pipes> runs_;
  std::array<Lane, kLanes> lanes_;
  FrameTotals walked_;
  /// The frame being handled, if the engine is a Sender; otherwise null.
  uint8_t* at_work_ = nullptr;
};

}  // namespace sluice::nic
