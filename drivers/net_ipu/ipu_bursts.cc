// SPDX-License-Identifier: BSD-3-Clause
//
// Which burst functions a port runs, and what they are called.
#include <ethdev_driver.h>
#include <rte_errno.h>
#include <rte_net.h>
#include <rte_vect.h>

#include <cerrno>
#include <cstdio>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

namespace {

struct BurstName {
  eth_rx_burst_t rx;
  eth_tx_burst_t tx;
  const char* name;
};
constexpr BurstName kBurstNames[] = {
    {RxBurstVector, nullptr, "Vector SSE"},          {RxBurstScalar, nullptr, "Scalar"},
    {RxBurstScattered, nullptr, "Scalar Scattered"}, {nullptr, TxBurstSimple, "Simple"},
    {nullptr, TxBurstFull, "Full Featured"},
};

/// ThreadSanitizer takes the vector path's 16-byte loads for a race.
#ifdef __SANITIZE_THREAD__
constexpr bool kVectorAllowed = false;
#else
constexpr bool kVectorAllowed = true;
#endif

}  // namespace

void ChooseBursts(rte_eth_dev* dev) {
  const bool vector = kVectorAllowed && rte_vect_get_max_simd_bitwidth() >= RTE_VECT_SIMD_128;
  dev->rx_pkt_burst = dev->data->scattered_rx ? RxBurstScattered
                      : vector                ? RxBurstVector
                                              : RxBurstScalar;
  constexpr uint64_t kChecksums =
      RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
  uint64_t offloads = 0;
  for (uint32_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    const auto* const queue = static_cast<const TxQueue*>(dev->data->tx_queues[i]);
    if (queue != nullptr) offloads |= queue->offloads;
  }
  const bool full = (offloads & (kChecksums | RTE_ETH_TX_OFFLOAD_MULTI_SEGS)) != 0;
  dev->tx_pkt_burst = full ? TxBurstFull : TxBurstSimple;
  dev->tx_pkt_prepare = nullptr;
  if (offloads & kChecksums) {
    dev->tx_pkt_prepare = [](void*, rte_mbuf** packets, uint16_t count) {
      uint16_t i = 0;
      while (i < count && rte_net_intel_cksum_prepare(packets[i]) == 0) ++i;
      if (i < count) rte_errno = EINVAL;
      return i;
    };
  }
}

int RxBurstMode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) {
  for (const BurstName& burst : kBurstNames) {
    if (burst.rx == dev->rx_pkt_burst && burst.rx != nullptr) {
      std::snprintf(mode->info, sizeof(mode->info), "%s", burst.name);
      return 0;
    }
  }
  return -EINVAL;
}
int TxBurstMode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode) {
  for (const BurstName& burst : kBurstNames) {
    if (burst.tx == dev->tx_pkt_burst && burst.tx != nullptr) {
      std::snprintf(mode->info, sizeof(mode->info), "%s", burst.name);
      return 0;
    }
  }
  return -EINVAL;
}

}  // namespace sluice::net_ipu
