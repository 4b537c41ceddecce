// SPDX-License-Identifier: BSD-3-Clause
//
// The streaming interface: a worker's pipes, received as contiguous bytes and
// answered in place (Ensō, OSDI'23). StreamingQueue is the loop; the pipes are
// EnsoPipes (the NIC's own) or MbufPipes (any ethdev, packets copied). Built by
// the application's worker, one each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "nic/frame_queue.h"
#include "nic/span_walker.h"
#include "nic/tap.h"

namespace sluice::nic {

/// Most pipes of one worker.
inline constexpr uint32_t kMaxPipesPerWorker = 1024;
/// Most spans of one Poll; pipes for which there is no room are returned by the next.
inline constexpr uint32_t kMaxSpansOfPoll = 64;

/// FrameQueue over pipes. `Pipes` satisfies PipeSet and has besides
///   uint32_t Receive(std::span<Span>, QueueCounters&)  what arrived, ≤ 1 span a pipe;
///                        what it cannot lay out as spans it counts as rx_desync;
///   FrameTotals Flush()  sends what was accepted, shows the NIC what was sent and
///                        released; returns what could not be sent;
///   FrameTotals Emit(const FrameSource&, uint32_t count)  sends copies as FrameQueue says it;
///   bool CanEmit(const uint8_t* frame, uint32_t length) const  the same;
///   void Drain(), bool LinkUp() const, void set_tap(SpanTap), uint64_t waited_cycles() const.
template <typename Pipes>
class StreamingQueue {
 public:
  /// `pipes` and its memory become the queue's.
  explicit StreamingQueue(Pipes pipes, ExceptionPath exception = {})
      : pipes_(std::move(pipes)), exception_(std::move(exception)) {}
  StreamingQueue(const StreamingQueue&) = delete;
  StreamingQueue& operator=(const StreamingQueue&) = delete;

  /// Handles everything that the NIC has reported. Returns frames.
  template <QueueEngine Engine>
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
  /// What the outbox calls.
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

  /// Before the first Poll.
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
  bool unflushed_ = false;  ///< Send was called, and perhaps no Flush since.
};

}  // namespace sluice::nic
