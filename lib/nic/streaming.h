// SPDX-License-Identifier: BSD-3-Clause
//
// The streaming interface: a worker receives its pipes as contiguous bytes and answers in place
// (Ensō, OSDI'23). StreamingQueue is the loop. The pipes are EnsoPipes (native to the NIC) or
// MbufPipes (any ethdev, with packets copied). Each of the application's workers builds one queue.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "nic/frame_queue.h"
#include "nic/span_walker.h"
#include "nic/tap.h"

namespace sluice::nic {

inline constexpr uint32_t kMaxPipesPerWorker = 1024;
/// Maximum number of spans that one Poll handles, at most one per pipe. The next Poll continues
/// with the other pipes.
inline constexpr uint32_t kMaxSpansOfPoll = 64;

/// FrameQueue over pipes. `Pipes` satisfies PipeSet and also has
///   uint32_t Receive(std::span<Span>, QueueCounters&)  stores the bytes that arrived as spans, at
///                        most one per pipe, and returns the number of spans; counts bytes that do
///                        not form spans as rx_desync;
///   FrameTotals Flush()  sends accepted frames and notifies the NIC of sent and released bytes;
///                        returns the frames that could not be sent;
///   FrameTotals Emit(const FrameSource&, uint32_t count)  sends copies, as FrameQueue defines;
///   bool CanEmit(const uint8_t* frame, uint32_t length) const  as FrameQueue defines;
///   void Drain(), bool LinkUp() const, void set_tap(SpanTap), uint64_t waited_cycles() const.
template <typename Pipes>
class StreamingQueue {
 public:
  /// Moves `pipes` and its memory into the queue.
  explicit StreamingQueue(Pipes pipes, ExceptionPath exception = {})
      : pipes_(std::move(pipes)), exception_(std::move(exception)) {}
  StreamingQueue(const StreamingQueue&) = delete;
  StreamingQueue& operator=(const StreamingQueue&) = delete;

  /// Handles the bytes that the NIC has reported, up to kMaxSpansOfPoll spans. Returns the number
  /// of frames.
  template <packet::QueueEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    std::array<Span, kMaxSpansOfPoll> spans;
    const uint32_t count = pipes_.Receive(spans, counters_);
    if (count == 0) return 0;
    if (tap_.see != nullptr) [[unlikely]] {
      for (const Span& span : std::span(spans).first(count)) {
        tap_.see(tap_.context, TapDirection::kReceived, span.data, span.bytes);
      }
    }
    const uint32_t frames = walker_.Walk(std::span<const Span>(spans).first(count), engine, now);
    exception_.Flush(counters_);
    Flush();
    return frames;
  }

  packet::Outbox outbox() { return packet::Outbox::To(*this); }
  /// Called by the outbox.
  bool Send(const uint8_t* frame, uint32_t length) {
    QueueCounters::Add(counters_.sent_pkts, 1);
    unflushed_ = true;
    return walker_.SendCopy(frame, length);
  }
  template <FrameSource Source>
  uint32_t Emit(const Source& source, uint32_t count) {
    FlushSent();
    return counters_.AddEmitted(pipes_.Emit(source, count));
  }
  bool CanEmit(const uint8_t* frame, uint32_t length) const {
    return pipes_.CanEmit(frame, length);
  }
  void FlushSent() {
    if (!unflushed_) return;
    unflushed_ = false;
    Flush();
  }

  /// Must be called before the first Poll.
  void set_tap(SpanTap tap) {
    tap_ = tap;
    pipes_.set_tap(tap);
  }
  void Drain() { pipes_.Drain(); }
  bool LinkUp() const { return pipes_.LinkUp(); }
  uint64_t waited_cycles() const { return pipes_.waited_cycles(); }
  const QueueCounters& counters() const { return counters_; }
  QueueCounters& counters() { return counters_; }

 private:
  void Flush() {
    const FrameTotals unsent = pipes_.Flush();
    if (unsent.pkts > 0) [[unlikely]] {
      QueueCounters::Add(counters_.tx_pkts, -unsent.pkts);
      QueueCounters::Add(counters_.tx_bytes, -unsent.bytes);
      QueueCounters::Add(counters_.tx_full, unsent.pkts);
    }
  }

  QueueCounters counters_;
  Pipes pipes_;
  ExceptionPath exception_;
  SpanTap tap_;
  SpanWalker<Pipes> walker_{pipes_, exception_, counters_};
  bool unflushed_ = false;  ///< Whether Send was called since the last Flush.
};

}  // namespace sluice::nic
