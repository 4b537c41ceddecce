// SPDX-License-Identifier: BSD-3-Clause
//
// Sends one burst to an ethdev queue with bounded patience. Used by all code in lib/nic that
// transmits mbufs.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>

#include "nic/patience.h"

namespace sluice::nic {

/// Sends up to `count` mbufs and returns the number that the port accepted. The caller keeps the
/// rest. `patience` must belong to the queue.
inline uint32_t TransmitBurst(uint16_t port, uint16_t queue, rte_mbuf** mbufs, uint32_t count,
                              Patience& patience) {
  uint32_t sent = 0;
  for (;;) {
    const uint16_t more =
        rte_eth_tx_burst(port, queue, mbufs + sent, static_cast<uint16_t>(count - sent));
    sent += more;
    if (more > 0) patience.Renew();
    if (sent == count) [[likely]]
      return sent;
    if (more == 0 && !patience.Wait()) return sent;
  }
}

}  // namespace sluice::nic
