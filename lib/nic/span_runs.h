// SPDX-License-Identifier: BSD-3-Clause
//
// Handles a span's frames after the verdict. Consecutive frames that are sent in place form a
// *run*, which is transmitted as one piece. Any other frame (dropped, consumed, rebuilt elsewhere)
// ends the run and forms a gap, which is given back together with the bytes after it:
//
//   owed            run                    cursor              end
//    v               v                      v                   v
//    | a gap: not    | a run: frames that   | not walked yet    |
//    | given back    | are sent in place    |                   |
//
// Send or Release gives back every byte of a span exactly once, in order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/exception_path.h"
#include "nic/frame_queue.h"
#include "nic/pipe_set.h"
#include "packet/frame_length.h"

namespace sluice::nic {

/// Progress of the walk through one span. owed ≤ run ≤ cursor ≤ end and cursor < stop + one frame.
/// All are on flit boundaries of the span.
struct Lane {
  uint8_t* cursor;  ///< The next frame.
  uint8_t* stop;    ///< The lockstep handles only frames that end before this address.
  uint8_t* end;     ///< End of the span.
  uint8_t* run;     ///< First byte of the run that ends at the cursor.
  uint8_t* owed;    ///< Oldest byte that has not been given back to the NIC.
  uint32_t pipe;
  uint8_t* ahead;  ///< The next frame to prepare, which may be before the cursor.
};

/// Applies verdicts to frames in one worker's pipes. Not thread-safe.
template <PipeSet Pipes>
class SpanRuns {
 public:
  /// All arguments must outlive the object.
  SpanRuns(Pipes& pipes, ExceptionPath& exception, QueueCounters& counters)
      : pipes_(pipes), exception_(exception), counters_(counters) {}

  /// Sends a copy of a frame that is not part of a run, and counts the result. May be called even
  /// while an engine handles a frame, or outside a walk. Returns true if the copy was accepted.
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

  /// Returns the value for the next frame's Frame::spare.
  uint8_t* spare() const { return pipes_.spare(); }

  /// Sends the answer to the frame of `arrived_bytes` bytes at `at` if the answer was built at
  /// spare(). The caller must count it as sent in place (Grew). Returns false if the answer is
  /// elsewhere or cannot be sent; the caller must then call Divert.
  bool SendBuilt(Lane& lane, uint8_t* at, uint32_t arrived_bytes, const uint8_t* data,
                 uint32_t length, packet::Verdict verdict) {
    // If a run ends before this frame, the run must be sent first.
    if (verdict.action != packet::Action::kForward || data != pipes_.spare() || lane.run != at ||
        !pipes_.SendBuilt(length)) {
      return false;
    }
    lane.run = at + packet::FlitSpan(arrived_bytes);
    return true;
  }

  /// Applies the verdict to a frame that is not sent in place. It arrived as `arrived_bytes` bytes
  /// at `at`; the engine's answer is `length` bytes at `data`. The parameters are passed by value,
  /// because a Frame would have to be stored in memory for every frame.
  [[gnu::noinline]] void Divert(Lane& lane, uint8_t* at, uint32_t arrived_bytes,
                                const uint8_t* data, uint32_t length, packet::Verdict verdict) {
    EndRun(lane, at, packet::FlitSpan(arrived_bytes));
    ++unforwarded_.pkts;
    unforwarded_.bytes += arrived_bytes;
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

  /// Sends the run that ends at `at`, which must be in the lane's span.
  void SendBefore(Lane& lane, uint8_t* at) { EndRun(lane, at, 0); }

  /// Skips flits that do not belong to a frame.
  [[gnu::noinline]] void SkipFlits(Lane& lane, uint32_t bytes) {
    EndRun(lane, lane.cursor, bytes);
    lane.cursor += bytes;
    QueueCounters::Add(counters_.rx_desync, bytes / packet::kFlitBytes);
  }

  /// Sends the run that ends at `upto` and gives back all bytes before `upto`.
  void GiveBack(Lane& lane, uint8_t* upto) {
    if (lane.run < upto) {
      SendRun(lane, upto);
    } else if (lane.owed < upto) {
      pipes_.Release(lane.pipe, static_cast<uint32_t>(upto - lane.owed));
      lane.owed = upto;
    }
    lane.run = upto;
  }

  /// Resets the totals to 0.
  void Begin() { unforwarded_ = {}; }
  /// Records that frames sent without Divert grew by `bytes`, modulo 2^64.
  void Grew(uint64_t bytes) { unforwarded_.bytes -= bytes; }
  /// Returns the totals walked minus those sent in place, modulo 2^64.
  const FrameTotals& unforwarded() const { return unforwarded_; }

 private:
  /// Sends the run up to `at` and starts a gap of `gap_bytes` there.
  void EndRun(Lane& lane, uint8_t* at, uint32_t gap_bytes) {
    if (lane.run < at) SendRun(lane, at);
    lane.run = at + gap_bytes;
  }

  void SendRun(Lane& lane, uint8_t* upto) {
    const FrameTotals unsent =
        pipes_.Send(lane.pipe, lane.run, static_cast<uint32_t>(upto - lane.run),
                    static_cast<uint32_t>(upto - lane.owed));
    lane.owed = upto;
    if (unsent.pkts == 0) [[likely]]
      return;
    unforwarded_ += unsent;
    QueueCounters::Add(counters_.tx_full, unsent.pkts);
  }

  Pipes& pipes_;
  ExceptionPath& exception_;
  QueueCounters& counters_;
  FrameTotals unforwarded_;
};

}  // namespace sluice::nic
