// SPDX-License-Identifier: BSD-3-Clause
//
// Pipes over any ethdev. Packets are copied into one contiguous buffer and answers are copied back
// into mbufs, so that a streaming application runs on every NIC at the cost of two copies.
// EnsoPipes are the native pipes. Implements the concept PipeSet (pipe_set.h), which StreamingQueue
// uses.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "nic/mbuf_transmitter.h"
#include "nic/pipe_set.h"
#include "nic/tap.h"

namespace sluice::nic {

/// One receive queue as one pipe. Used by one worker. The port reports the length of each packet,
/// so a wrong length in a header does not affect other packets. A packet is dropped and counted in
/// rx_desync if it exceeds kMaxFrameBytes, or if its header gives no length or a length beyond the
/// packet.
class MbufPipes {
 public:
  /// Maximum frame length: larger than any jumbo frame.
  static constexpr uint32_t kMaxFrameBytes = 9728;

  /// The port must be started. Answers are sent on transmit queue `queue`, in mbufs from `pool`.
  MbufPipes(uint16_t port, uint16_t queue, rte_mempool* pool);

  uint32_t Receive(std::span<Span> spans, QueueCounters& counters);
  FrameTotals Send(uint32_t pipe, const uint8_t* data, uint32_t bytes, uint32_t release_bytes);
  // No effect: Receive overwrites earlier frames.
  void Release(uint32_t /*pipe*/, uint32_t /*bytes*/) {}
  SendResult SendCopy(const uint8_t* frame, uint32_t length);
  uint8_t* spare() const { return nullptr; }  // Null, because answers are copied to mbufs anyway.
  bool SendBuilt(uint32_t /*length*/) { return false; }
  template <FrameSource Source>
  FrameTotals Emit(const Source& source, uint32_t count) {
    const FrameTotals left = transmitter_.Emit(source, count);
    if (tap_.see != nullptr) [[unlikely]]
      TapEmitted(source, static_cast<uint32_t>(left.pkts));
    return left;
  }
  bool CanEmit(const uint8_t* /*frame*/, uint32_t length) const {
    return transmitter_.CanEmit(length);
  }
  FrameTotals Flush();
  void Drain() { transmitter_.Drain(); }
  uint64_t waited_cycles() const { return transmitter_.waited_cycles(); }
  bool LinkUp() const;
  void set_tap(SpanTap tap) { tap_ = tap; }

 private:
  struct Unmap {
    void operator()(uint8_t* buffer) const;
  };

  bool AddOrFlush(const uint8_t* frame, uint32_t length);
  template <FrameSource Source>
  void TapEmitted(const Source& source, uint32_t count) {
    alignas(packet::kFlitBytes) std::array<uint8_t, packet::FlitSpan(kMaxFrameBytes)> copy{};
    for (uint32_t i = 0; i < count; ++i) {
      source.Write(i, copy.data());
      tap_.see(tap_.context, TapDirection::kSent, copy.data(), packet::FlitSpan(source.length(i)));
    }
  }

  uint16_t port_;
  uint16_t queue_;
  std::unique_ptr<uint8_t, Unmap> buffer_;  ///< Has room for one burst of the longest frames.
  FrameTotals unsent_;                      ///< Frames not sent since the last Send or Flush.
  MbufTransmitter transmitter_;
  SpanTap tap_;
};

}  // namespace sluice::nic
