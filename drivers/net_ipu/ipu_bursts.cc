// SPDX-License-Identifier: BSD-3-Clause
//
// Selects a port's burst functions, and names them.
#include <ethdev_driver.h>
#include <rte_errno.h>
#include <rte_net.h>

#include <cerrno>
#include <cstdio>

#include "net_ipu/ipu_adapter.h"

// DPDK's header for ARM (22.11) lacks extern "C", so the includer must add it.
extern "C" {
#include <rte_vect.h>
}

namespace sluice::net_ipu {

namespace {

struct BurstName {
  eth_rx_burst_t rx;
  eth_tx_burst_t tx;
  const char* name;
};
#ifdef __aarch64__
#define SLUICE_VECTORS "Vector Neon"
#else
#define SLUICE_VECTORS "Vector SSE"
#endif
constexpr BurstName kBurstNames[] = {
    {RxBurstVector, nullptr, SLUICE_VECTORS},
    {RxBurstScalar, nullptr, "Scalar"},
    {RxBurstScattered, nullptr, "Scalar Scattered"},
    {RxBurstVectorStamped, nullptr, SLUICE_VECTORS " Timestamps"},
    {RxBurstScalarStamped, nullptr, "Scalar Timestamps"},
    {RxBurstScatteredStamped, nullptr, "Scalar Scattered Timestamps"},
    {nullptr, TxBurstSimple, "Simple"},
    {nullptr, TxBurstFull, "Full Featured"},
};
#undef SLUICE_VECTORS

/// ThreadSanitizer reports the 16-byte loads of the vector path as a race.
#ifdef __SANITIZE_THREAD__
constexpr bool kVectorAllowed = false;
#else
constexpr bool kVectorAllowed = true;
#endif

/// Implements rte_eth_tx_prepare: writes pseudo-header checksums in place.
uint16_t PrepareSums(void*, rte_mbuf** packets, uint16_t count) {
  uint16_t i = 0;
  while (i < count && rte_net_intel_cksum_prepare(packets[i]) == 0) ++i;
  if (i < count) rte_errno = EINVAL;
  return i;
}

}  // namespace

void ChooseBursts(rte_eth_dev* dev) {
  const bool vector = kVectorAllowed && rte_vect_get_max_simd_bitwidth() >= RTE_VECT_SIMD_128;
  const bool stamped = (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
  dev->rx_pkt_burst = dev->data->scattered_rx ? stamped ? RxBurstScatteredStamped : RxBurstScattered
                      : vector                ? stamped ? RxBurstVectorStamped : RxBurstVector
                      : stamped               ? RxBurstScalarStamped
                                              : RxBurstScalar;
  constexpr uint64_t kChecksums =
      RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
  uint64_t offloads = 0;
  for (uint32_t i = 0; i < dev->data->nb_tx_queues; ++i) {
    const auto* const queue = static_cast<const TxQueue*>(dev->data->tx_queues[i]);
    if (queue != nullptr) offloads |= queue->offloads;
  }
  constexpr uint64_t kPerFrame = kChecksums | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
                                 RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_TCP_TSO;
  const bool full = (offloads & kPerFrame) != 0 || AdapterOf(dev).timesync;
  dev->tx_pkt_burst = full ? TxBurstFull : TxBurstSimple;
  // Uses a single store, because another thread of a secondary process may load the pointer
  // concurrently.
  dev->tx_pkt_prepare =
      (offloads & (kChecksums | RTE_ETH_TX_OFFLOAD_TCP_TSO)) != 0 ? PrepareSums : nullptr;
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
