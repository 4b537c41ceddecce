// SPDX-License-Identifier: BSD-3-Clause
//
// Transmits copies of frames on an ethdev queue, for streaming interfaces that cannot send bytes in
// place. MbufPipes uses it for all frames, and EnsoPipes for its exception port.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "nic/frame_queue.h"
#include "nic/patience.h"

namespace sluice::nic {

/// Collects copies and sends them in bursts. One worker owns the transmitter and the queue.
class MbufTransmitter {
 public:
  /// Allocates mbufs from `pool`; their buffer size limits the frame length. A null pool makes
  /// every Add fail.
  MbufTransmitter(uint16_t port, uint16_t queue, rte_mempool* pool)
      : port_(port), queue_(queue), pool_(pool) {}

  /// Copies one frame. Returns false if the transmitter is full, no mbuf is free or the mbuf is too
  /// small.
  bool Add(const uint8_t* frame, uint32_t length);
  /// Sends the added frames. Frees frames that the port does not accept in time, and returns their
  /// totals.
  FrameTotals Flush();
  /// Sends up to `count` frames of `source`, starting with frame 0, ahead of the added frames. Does
  /// not wait: frames that the port does not accept at once are not sent. Returns the totals sent,
  /// which are 0 if too few mbufs are free. CanEmit must be true for each frame.
  template <FrameSource Source>
  FrameTotals Emit(const Source& source, uint32_t count);
  bool CanEmit(uint32_t length) const {
    return pool_ != nullptr && length + RTE_PKTMBUF_HEADROOM <= rte_pktmbuf_data_room_size(pool_);
  }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == pending_.size(); }

  uint16_t port() const { return port_; }
  uint64_t waited_cycles() const { return patience_.waited_cycles(); }
  /// Returns the limit for waits on this queue, for other code that transmits on it.
  Patience& patience() { return patience_; }
  /// Frees the mbufs of transmitted frames, if the driver supports that. Does not wait.
  void Drain();

 private:
  uint16_t port_;
  uint16_t queue_;
  rte_mempool* pool_;
  Patience patience_;  ///< Limits waits for the transmit queue.
  uint32_t count_ = 0;
  /// Maximum number of frames that Emit writes before the port accepts any. Adapts to the port.
  uint32_t emit_ = kMost;
  static constexpr uint32_t kMost = 64;
  static constexpr uint32_t kPrefetchAhead = 16;  ///< Prefetch distance in buffers.
  static void PrefetchAhead(rte_mbuf* mbuf) {
    __builtin_prefetch(rte_pktmbuf_mtod(mbuf, void*), 1);
  }
  std::array<rte_mbuf*, kMost> pending_;
};

template <FrameSource Source>
FrameTotals MbufTransmitter::Emit(const Source& source, uint32_t count) {
  constexpr uint32_t kFewest = 4;
  std::array<rte_mbuf*, kMost> mbufs;
  count = std::min(count, emit_);
  if (pool_ == nullptr || rte_pktmbuf_alloc_bulk(pool_, mbufs.data(), count) != 0) return {};
  // Prefetch for writing, because these buffers were last accessed by other cores or the NIC.
  for (uint32_t i = 0; i < std::min(count, kPrefetchAhead); ++i) PrefetchAhead(mbufs[i]);
  for (uint32_t i = 0; i < count; ++i) {
    if (i + kPrefetchAhead < count) PrefetchAhead(mbufs[i + kPrefetchAhead]);
    const uint32_t length = source.length(i);
    rte_mbuf* const mbuf = mbufs[i];
    mbuf->data_len = static_cast<uint16_t>(length);
    mbuf->pkt_len = length;
    source.Write(i, rte_pktmbuf_mtod(mbuf, uint8_t*));
  }
  FrameTotals left;
  left.pkts = rte_eth_tx_burst(port_, queue_, mbufs.data(), static_cast<uint16_t>(count));
  for (uint32_t i = 0; i < left.pkts; ++i) left.bytes += source.length(i);
  const auto unsent = static_cast<uint32_t>(count - left.pkts);
  if (unsent > 0) {
    rte_pktmbuf_free_bulk(&mbufs[left.pkts], unsent);
    emit_ = std::max(static_cast<uint32_t>(left.pkts), kFewest);
  } else {
    emit_ = std::min(2 * emit_, kMost);
  }
  return left;
}

}  // namespace sluice::nic
