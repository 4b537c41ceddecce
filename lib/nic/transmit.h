// SPDX-License-Identifier: BSD-3-Clause
//
// One burst out of an ethdev queue, with bounded patience. Used wherever lib/nic
// transmits mbufs.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>

#include "nic/patience.h"

namespace sluice::nic {

/// Sends up to `count` mbufs; returns how many the port took. The rest stay the
/// caller's. `patience` is the queue's.
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
