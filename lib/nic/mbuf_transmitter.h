// SPDX-License-Identifier: BSD-3-Clause
//
// Transmits copies of frames through an ethdev queue: the way out for streaming
// interfaces whose bytes cannot leave in place. Used by MbufPipes for
// everything, by EnsoPipes for its exception port.
#pragma once

#include <array>
#include <cstdint>

#include "nic/frame_queue.h"
#include "nic/patience.h"

struct rte_mbuf;
struct rte_mempool;

namespace sluice::nic {

/// Collects copies and sends them in bursts. Owned by one worker, as is the queue.
class MbufTransmitter {
 public:
  /// Mbufs come from `pool`, whose buffers bound the length of a frame. Null: there are none.
  MbufTransmitter(uint16_t port, uint16_t queue, rte_mempool* pool)
      : port_(port), queue_(queue), pool_(pool) {}

  /// Copies one frame. False if there is no mbuf or it is too small.
  bool Add(const uint8_t* frame, uint32_t length);
  /// Sends what was added; frames that the port does not take in time are freed
  /// and returned.
  FrameTotals Flush();
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == pending_.size(); }

  uint16_t port() const { return port_; }
  uint64_t waited_cycles() const { return patience_.waited_cycles(); }
  /// For whatever else transmits through this queue.
  Patience& patience() { return patience_; }
  /// Waits, bounded, until the port gave the mbufs back where it can say so.
  void Drain();

 private:
  uint16_t port_;
  uint16_t queue_;
  rte_mempool* pool_;
  Patience patience_;  ///< With the transmit queue.
  uint32_t count_ = 0;
  std::array<rte_mbuf*, 64> pending_;
};

}  // namespace sluice::nic
