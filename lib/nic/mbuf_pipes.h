// SPDX-License-Identifier: BSD-3-Clause
//
// Pipes over any ethdev: packets are copied into one contiguous buffer and
// answers back into mbufs, so that a streaming application runs on every NIC. It
// pays two copies for that; the native pipes are EnsoPipes. PipeSet of
// StreamingQueue.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "nic/mbuf_transmitter.h"
#include "nic/pipe_set.h"
#include "nic/tap.h"

namespace sluice::nic {

/// One receive queue as one pipe. Used by one worker. The port knows where
/// packets end, so a lying header cannot take others with it here: a packet that
/// claims to be longer than it is, or whose length cannot be recovered, is
/// counted as rx_desync and not laid out.
class MbufPipes {
 public:
  /// A jumbo frame with room to spare.
  static constexpr uint32_t kMaxFrameBytes = 9728;

  /// The port is started; answers leave through the transmit queue of the same
  /// number, in mbufs from `pool`.
  MbufPipes(uint16_t port, uint16_t queue, rte_mempool* pool);

  uint32_t Receive(std::span<Span> spans, QueueCounters& counters);
  FrameTotals Send(uint32_t pipe, const uint8_t* data, uint32_t bytes, uint32_t release_bytes);
  void Release(uint32_t /*pipe*/, uint32_t /*bytes*/) {}  // Receive overwrites what it returned.
  SendResult SendCopy(const uint8_t* frame, uint32_t length);
  uint8_t* spare() const { return nullptr; }  // Copies lie in mbufs.
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
  std::unique_ptr<uint8_t, Unmap> buffer_;  ///< One burst of the longest frames.
  FrameTotals unsent_;                      ///< Since the last Send or Flush.
  MbufTransmitter transmitter_;
  SpanTap tap_;
};

}  // namespace sluice::nic
