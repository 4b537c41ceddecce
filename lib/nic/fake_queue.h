// SPDX-License-Identifier: BSD-3-Clause
//
// An in-memory queue that fulfils the whole contract of frame_queue.h. Tests use it to run engines
// and their layers without EAL or a NIC. It is designed to be simple rather than fast.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "nic/frame_queue.h"
#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/outbox.h"

namespace sluice::nic {

/// Used by one thread.
class FakeQueue {
 public:
  using Bytes = std::vector<uint8_t>;
  /// Maximum number of frames per poll.
  static constexpr uint32_t kBurst = 32;
  /// Headroom and tailroom of each frame in bytes.
  static constexpr uint32_t kRoomBytes = 128;

  /// Appends a frame, which a later Poll receives.
  void Receive(Bytes frame) { waiting_.push_back(std::move(frame)); }
  /// Returns the frames that were sent since the last call, in order. They include answers, frames
  /// from the outbox and emitted frames.
  std::vector<Bytes> Sent() { return std::exchange(sent_, {}); }

  /// Passes up to kBurst frames to the engine. First calls Prepare for all of them.
  template <packet::QueueEngine Engine>
  uint32_t Poll(Engine& engine, uint64_t now) {
    const auto size = static_cast<uint32_t>(std::min<size_t>(waiting_.size(), kBurst));
    if (size == 0) return 0;
    std::vector<Bytes> buffers;
    std::vector<packet::Frame> frames;
    packet::BurstTotals totals;
    for (uint32_t number = 0; number < size; ++number) {
      const auto length = static_cast<uint32_t>(waiting_.front().size());
      Bytes& buffer = buffers.emplace_back(kRoomBytes + length + kRoomBytes);
      std::ranges::copy(waiting_.front(), buffer.data() + kRoomBytes);
      waiting_.pop_front();
      frames.push_back({buffer.data() + kRoomBytes, length, kRoomBytes, kRoomBytes});
      totals.Add(length);
      engine.Prepare(frames.back().data, length);
    }
    QueueCounters::Add(counters_.rx_pkts, size);
    QueueCounters::Add(counters_.rx_bytes, totals.bytes);
    uint32_t ended = 0;
    const auto forward_until = [&](uint32_t number) {
      while (ended < number) End(frames[ended++], packet::kForward);
    };
    packet::FoundBurst burst(
        size, totals, [&](uint32_t number) { return frames[number]; },
        [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
          forward_until(number);
          End(frame, verdict);
          ++ended;
        });
    if constexpr (packet::BurstEngine<Engine>) {
      engine.ProcessBurst(burst, now);
    } else {
      packet::FrameByFrame(engine).ProcessBurst(burst, now);
    }
    forward_until(size);
    return size;
  }

  /// Returns an outbox that sends without limits.
  packet::Outbox outbox() { return packet::Outbox::To(*this); }
  /// Called by the outbox.
  bool Send(const uint8_t* frame, uint32_t length) {
    QueueCounters::Add(counters_.sent_pkts, 1);
    Transmit(frame, length);
    return true;
  }
  /// Sends all frames of the source.
  template <FrameSource Source>
  uint32_t Emit(const Source& source, uint32_t count) {
    FrameTotals emitted;
    for (; emitted.pkts < count; ++emitted.pkts) {
      const auto index = static_cast<uint32_t>(emitted.pkts);
      Bytes& frame = sent_.emplace_back(source.length(index));
      source.Write(index, frame.data());
      emitted.bytes += frame.size();
    }
    return counters_.AddEmitted(emitted);
  }
  /// Returns true, because every frame can be emitted.
  bool CanEmit(const uint8_t* /*frame*/, uint32_t /*length*/) const { return true; }
  /// Does nothing, because frames are sent at once.
  void FlushSent() {}
  /// Does nothing, because no transmission is outstanding.
  void Drain() {}
  /// Returns true.
  bool LinkUp() const { return true; }
  /// Returns 0, because Poll does not wait.
  uint64_t waited_cycles() const { return 0; }
  /// Returns the counters, which satisfy the invariant of QueueCounters.
  const QueueCounters& counters() const { return counters_; }
  QueueCounters& counters() { return counters_; }

 private:
  /// Counts the outcome of a frame, and sends the frame if it is forwarded.
  void End(const packet::Frame& frame, packet::Verdict verdict) {
    switch (verdict.action) {
      case packet::Action::kForward:
        return Transmit(frame.data, frame.length);
      case packet::Action::kConsume:
        return QueueCounters::Add(counters_.consumed_pkts, 1);
      case packet::Action::kPass:
        return QueueCounters::Add(counters_.no_exception_port, 1);
      case packet::Action::kDrop:
        return QueueCounters::Add(counters_.engine_drops[verdict.reason], 1);
    }
  }
  void Transmit(const uint8_t* frame, uint32_t length) {
    sent_.emplace_back(frame, frame + length);
    QueueCounters::Add(counters_.tx_pkts, 1);
    QueueCounters::Add(counters_.tx_bytes, length);
  }

  std::deque<Bytes> waiting_;
  std::vector<Bytes> sent_;
  QueueCounters counters_;
};
static_assert(FrameQueue<FakeQueue>);

}  // namespace sluice::nic
