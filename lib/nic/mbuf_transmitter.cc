// SPDX-License-Identifier: BSD-3-Clause
#include "nic/mbuf_transmitter.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "nic/transmit.h"

namespace sluice::nic {

bool MbufTransmitter::Add(const uint8_t* frame, uint32_t length) {
  if (full() || pool_ == nullptr) return false;
  rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
  if (mbuf == nullptr) return false;
  if (length > rte_pktmbuf_tailroom(mbuf)) {
    rte_pktmbuf_free(mbuf);
    return false;
  }
  rte_memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(length)), frame, length);
  pending_[count_++] = mbuf;
  return true;
}

FrameTotals MbufTransmitter::Flush() {
  FrameTotals unsent;
  const uint32_t sent = TransmitBurst(port_, queue_, pending_.data(), count_, patience_);
  for (uint32_t i = sent; i < count_; ++i) {
    ++unsent.pkts;
    unsent.bytes += pending_[i]->pkt_len;
  }
  if (sent < count_) rte_pktmbuf_free_bulk(&pending_[sent], count_ - sent);
  count_ = 0;
  return unsent;
}

void MbufTransmitter::Drain() { rte_eth_tx_done_cleanup(port_, queue_, 0); }

}  // namespace sluice::nic
