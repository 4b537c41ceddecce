// SPDX-License-Identifier: BSD-3-Clause
//
// Hides the differences between the supported DPDK releases: 22.11, 24.11 and 25.11
// (docs/dpdk-releases.md). All other code uses their common API, so that `#if RTE_VERSION` occurs
// only here.
#pragma once

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_net_crc.h>
#include <rte_pcapng.h>
#include <rte_telemetry.h>
#include <rte_thread.h>
#include <rte_version.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#define SLUICE_DPDK_SINCE(year, month) (RTE_VERSION >= RTE_VERSION_NUM(year, month, 0, 0))

namespace sluice::dpdk {

// ------------------------------------------------------------- for all users

/// Adds an unsigned number to a telemetry dictionary. Returns 0 or a negative errno.
inline int AddToDict(rte_tel_data* dict, const char* name, uint64_t value) {
#if SLUICE_DPDK_SINCE(24, 11)
  return rte_tel_data_add_dict_uint(dict, name, value);
#else
  return rte_tel_data_add_dict_u64(dict, name, value);
#endif
}

/// Runs `function` on a new EAL control thread and waits for it to return. Returns false if the
/// thread cannot be created.
template <typename Function>
bool CallOnControlThread(Function function) {
#if SLUICE_DPDK_SINCE(24, 11)
  const rte_thread_func call = [](void* argument) -> uint32_t {
    (*static_cast<Function*>(argument))();
    return 0;
  };
  rte_thread_t thread;
  return rte_thread_create_control(&thread, "sluice-control", call, &function) == 0 &&
         rte_thread_join(thread, nullptr) == 0;
#else
  const auto call = [](void* argument) -> void* {
    (*static_cast<Function*>(argument))();
    return nullptr;
  };
  pthread_t thread;
  return rte_ctrl_thread_create(&thread, "sluice-control", nullptr, call, &function) == 0 &&
         pthread_join(thread, nullptr) == 0;
#endif
}

/// Adds a port to a capture file. Must be called before the port's first frame is written. Returns
/// false if the file cannot be written. Has no effect in 22.11, which lists all ports when it opens
/// the file.
inline bool AddToCapture([[maybe_unused]] rte_pcapng* file, [[maybe_unused]] uint16_t port) {
#if SLUICE_DPDK_SINCE(25, 11)
  constexpr uint16_t kLinkTypeEthernet = 1;
  return rte_pcapng_add_interface(file, port, kLinkTypeEthernet, nullptr, nullptr, nullptr) >= 0;
#elif SLUICE_DPDK_SINCE(24, 11)
  return rte_pcapng_add_interface(file, port, nullptr, nullptr, nullptr) >= 0;
#else
  return true;
#endif
}

/// Returns a copy of a frame for a capture file, with the current time; null if memory cannot be
/// allocated.
inline rte_mbuf* CopyForCapture(uint16_t port, uint32_t queue, const rte_mbuf* frame,
                                rte_mempool* pool, uint32_t most_bytes,
                                rte_pcapng_direction direction) {
#if SLUICE_DPDK_SINCE(24, 11)
  return rte_pcapng_copy(port, queue, frame, pool, most_bytes, direction, nullptr);
#else
  return rte_pcapng_copy(port, queue, frame, pool, most_bytes, rte_get_tsc_cycles(), direction);
#endif
}

/// Computes the CRC-32 that Ethernet and gzip use.
inline uint32_t Crc32(const void* bytes, uint32_t length) {
#if SLUICE_DPDK_SINCE(25, 11)
  static const rte_net_crc* const crc = rte_net_crc_set_alg(RTE_NET_CRC_AVX512, RTE_NET_CRC32_ETH);
  return rte_net_crc_calc(crc, bytes, length);
#else
  return rte_net_crc_calc(bytes, length, RTE_NET_CRC32_ETH);
#endif
}

/// Returns whether EAL has a long option of this name that 22.11 does not have.
inline bool IsNewerEalOption(std::string_view name) {
  const std::initializer_list<std::string_view> options = {
#if SLUICE_DPDK_SINCE(24, 11)
    "log-color",
    "log-timestamp",
#endif
#if SLUICE_DPDK_SINCE(25, 11)
    "coremask",
    "driver-path",
    "memory-channels",
    "memory-ranks",
    "memory-size",
    "numa-limit",
    "numa-mem",
    "remap-lcore-ids",
    "service-corelist",
    "service-coremask"
#endif
  };
  return std::find(options.begin(), options.end(), name) != options.end();
}

/// Name of the bonding driver's argument that names a member port.
inline constexpr const char* kBondMember = SLUICE_DPDK_SINCE(24, 11) ? "member" : "slave";

// ---------------------------------------------------------------- for drivers

/// Result type of a driver function that counts received descriptors: unsigned; int since 25.11.
using QueueCount = std::invoke_result_t<eth_rx_queue_count_t, void*>;

/// Report Toeplitz as both the supported and the active RSS hash function. 22.11 has no such
/// fields.
inline void OfferToeplitz([[maybe_unused]] rte_eth_dev_info* info) {
#if SLUICE_DPDK_SINCE(24, 11)
  info->rss_algo_capa |= RTE_ETH_HASH_ALGO_CAPA_MASK(TOEPLITZ);
#endif
}
inline void ReportToeplitz([[maybe_unused]] rte_eth_rss_conf* conf) {
#if SLUICE_DPDK_SINCE(24, 11)
  conf->algorithm = RTE_ETH_HASH_FUNCTION_TOEPLITZ;
#endif
}

}  // namespace sluice::dpdk

#ifdef ALLOW_INTERNAL_API
#include <ethdev_driver.h>

namespace sluice::dpdk {

/// Per-queue statistics with fields such as q_ipackets. Up to 25.07, they are part of
/// rte_eth_stats.
#if SLUICE_DPDK_SINCE(25, 11)
using QueueStats = eth_queue_stats;
#else
using QueueStats = rte_eth_stats;
#endif

/// A driver's statistics function. Its outputs are zeroed before the call. If per-queue statistics
/// are not requested, `queues` is null.
using GetStats = int(rte_eth_dev* dev, rte_eth_stats* stats, QueueStats* queues);

/// Adapts a statistics function to the operation `stats_get`.
template <GetStats* kGet>
inline constexpr eth_stats_get_t kStatsGet =
#if SLUICE_DPDK_SINCE(25, 11)
    kGet;
#else
    [](rte_eth_dev* dev, rte_eth_stats* stats) { return kGet(dev, stats, stats); };
#endif

/// Calls the operation `stats_get`, which the port must have.
inline int CallStatsGet(rte_eth_dev* dev, rte_eth_stats* stats, QueueStats* queues) {
#if SLUICE_DPDK_SINCE(25, 11)
  return dev->dev_ops->stats_get(dev, stats, queues);
#else
  const int result = dev->dev_ops->stats_get(dev, stats);
  if (queues != nullptr && queues != stats) *queues = *stats;
  return result;
#endif
}

/// A driver's function that returns packet types, terminated by RTE_PTYPE_UNKNOWN.
using ListPacketTypes = const uint32_t*(rte_eth_dev* dev);

/// Adapts a function of this type to the operation `dev_supported_ptypes_get`, which also returns
/// the count since 24.11.
template <ListPacketTypes* kList>
inline constexpr eth_dev_supported_ptypes_get_t kSupportedPtypesGet =
#if SLUICE_DPDK_SINCE(24, 11)
    [](rte_eth_dev* dev, size_t* count) {
      const uint32_t* const list = kList(dev);
      *count = 0;
      while (list[*count] != RTE_PTYPE_UNKNOWN) ++*count;
      return list;
    };
#else
    kList;
#endif

}  // namespace sluice::dpdk
#endif  // ALLOW_INTERNAL_API

#undef SLUICE_DPDK_SINCE
