// SPDX-License-Identifier: BSD-3-Clause
//
// One burst out of an ethdev queue, with bounded patience. Used wherever lib/nic
// transmits mbufs.
#pragma once

#include <rte_ethdev.h>
#include <rte_pause.h>

#include <cstdint>

namespace sluice::nic {

/// Fruitless calls of rte_eth_tx_burst in a row after which the rest of a burst
/// counts as not sent. With the pause between them a few milliseconds: longer than
/// a scheduler keeps a model's thread from its CPU, shorter than a user would call a
/// hang. While the ring is full there is nothing better to do for a worker.
inline constexpr uint32_t kTransmitRetries = 1u << 16;

/// Sends up to `count` mbufs; returns how many the port took. The rest stay the
/// caller's.
inline uint32_t TransmitBurst(uint16_t port, uint16_t queue, rte_mbuf** mbufs, uint32_t count) {
  uint32_t sent = rte_eth_tx_burst(port, queue, mbufs, static_cast<uint16_t>(count));
  for (uint32_t fruitless = 0; sent < count && fruitless < kTransmitRetries; ++fruitless) {
    rte_pause();
    const uint16_t more =
        rte_eth_tx_burst(port, queue, mbufs + sent, static_cast<uint16_t>(count - sent));
    if (more > 0) fruitless = 0;
    sent += more;
  }
  return sent;
}

}  // namespace sluice::nic
