// SPDX-License-Identifier: BSD-3-Clause
//
// What differs between the releases of DPDK that the tree is built on: 22.11, 24.11 and 25.11
// (docs/dpdk-releases.md). All else uses what they share, so that `#if RTE_VERSION` stands here
// alone.
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

// ------------------------------------------------------------- for everybody

/// Adds an unsigned number to a dictionary of telemetry; 0 or a negative errno.
inline int AddToDict(rte_tel_data* dict, const char* name, uint64_t value) {
#if SLUICE_DPDK_SINCE(24, 11)
  return rte_tel_data_add_dict_uint(dict, name, value);
#else
  return rte_tel_data_add_dict_u64(dict, name, value);
#endif
}

/// Calls `function` once on a thread that is made as EAL's control threads are, and waits for it.
/// False if there is no such thread.
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

/// Makes a port known to a capture file, before the first frame of it. False: the file cannot be
/// written. 22.11 lists all ports when it opens the file.
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

/// A copy of a frame for a capture file, with the present time; null without memory.
inline rte_mbuf* CopyForCapture(uint16_t port, uint32_t queue, const rte_mbuf* frame,
                                rte_mempool* pool, uint32_t most_bytes,
                                rte_pcapng_direction direction) {
#if SLUICE_DPDK_SINCE(24, 11)
  return rte_pcapng_copy(port, queue, frame, pool, most_bytes, direction, nullptr);
#else
  return rte_pcapng_copy(port, queue, frame, pool, most_bytes, rte_get_tsc_cycles(), direction);
#endif
}

/// CRC-32 as Ethernet and gzip have it.
inline uint32_t Crc32(const void* bytes, uint32_t length) {
#if SLUICE_DPDK_SINCE(25, 11)
  static const rte_net_crc* const crc = rte_net_crc_set_alg(RTE_NET_CRC_AVX512, RTE_NET_CRC32_ETH);
  return rte_net_crc_calc(crc, bytes, length);
#else
  return rte_net_crc_calc(bytes, length, RTE_NET_CRC32_ETH);
#endif
}

/// Whether EAL has a long option of this name that 22.11's does not have.
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

/// What DPDK's bonding driver calls an argument that names one of its ports.
inline constexpr const char* kBondMember = SLUICE_DPDK_SINCE(24, 11) ? "member" : "slave";

// ---------------------------------------------------------------- for drivers

/// Of a driver's count of received descriptors: unsigned, and int since 25.11.
using QueueCount = std::invoke_result_t<eth_rx_queue_count_t, void*>;

/// A port whose RSS hashes with Toeplitz's function offers it by name, and says that it is in use.
/// 22.11 asks neither.
inline void OfferToeplitz([[maybe_unused]] rte_eth_dev_info* info) {
#if SLUICE_DPDK_SINCE(24, 11)
  info->rss_algo_capa |= RTE_ETH_HASH_ALGO_CAPA_MASK(TOEPLITZ);
#endif
}
inline void TellToeplitz([[maybe_unused]] rte_eth_rss_conf* conf) {
#if SLUICE_DPDK_SINCE(24, 11)
  conf->algorithm = RTE_ETH_HASH_FUNCTION_TOEPLITZ;
#endif
}

}  // namespace sluice::dpdk

#ifdef ALLOW_INTERNAL_API
#include <ethdev_driver.h>

namespace sluice::dpdk {

/// Statistics of queues, with the fields q_ipackets and its like. Until 25.07 they are a part of
/// rte_eth_stats.
#if SLUICE_DPDK_SINCE(25, 11)
using QueueStats = eth_queue_stats;
#else
using QueueStats = rte_eth_stats;
#endif

/// A driver's own function of statistics; what it gets is zero. `queues`: null if nobody asks.
using GetStats = int(rte_eth_dev* dev, rte_eth_stats* stats, QueueStats* queues);

/// Such a function as operation `stats_get`.
template <GetStats* kGet>
inline constexpr eth_stats_get_t kStatsGet =
#if SLUICE_DPDK_SINCE(25, 11)
    kGet;
#else
    [](rte_eth_dev* dev, rte_eth_stats* stats) { return kGet(dev, stats, stats); };
#endif

/// Calls operation `stats_get`, which the port has.
inline int CallStatsGet(rte_eth_dev* dev, rte_eth_stats* stats, QueueStats* queues) {
#if SLUICE_DPDK_SINCE(25, 11)
  return dev->dev_ops->stats_get(dev, stats, queues);
#else
  const int result = dev->dev_ops->stats_get(dev, stats);
  if (queues != nullptr && queues != stats) *queues = *stats;
  return result;
#endif
}

/// A driver's list of packet types, which ends with RTE_PTYPE_UNKNOWN.
using ListPacketTypes = const uint32_t*(rte_eth_dev* dev);

/// Such a list as operation `dev_supported_ptypes_get`. Since 24.11 that is counted.
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
