// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's counters. Each has one row, from which the port's extended statistics, the counters
// in rte_pmd_ipu.h and the table of drops in reports are derived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counter_rows.h"
#include "coherent/frame_host.h"
#include "net_ipu/rte_pmd_ipu.h"
#include "swap/host_link.h"

namespace sluice::net_ipu {

/// Ring counters.
enum DriverStat : uint32_t {
  kRxBadWriteback,
  kRxStopDiscards,
  kRxNoMbuf,
  kTxBadPacket,
  kTxStopDiscards,
  kDriverStats
};
inline constexpr auto kDriverRows = base::CounterRows<DriverStat, kDriverStats>(
    {{kRxBadWriteback, "rx_bad_writeback", base::Dropped::kHost},
     {kRxStopDiscards, "rx_stop_discards", base::Dropped::kHost},
     {kRxNoMbuf, "rx_no_mbuf"},
     {kTxBadPacket, "tx_bad_packet", base::Dropped::kHost},
     {kTxStopDiscards, "tx_stop_discards", base::Dropped::kHost}});

/// A counter of links or endpoints. `Host` contains the counters of the host's end; `Native`
/// contains those in rte_pmd_ipu.h.
template <typename Host, typename Native>
struct EndCounter {
  const char* name;          ///< Extended statistic: the sum over open and closed ends.
  uint64_t Host::*host;      ///< Null if the driver does the counting.
  uint64_t Native::*native;  ///< Null if only the extended statistics contain the counter.
  base::Dropped at = base::Dropped::kNowhere;
};

/// The last rows count frames that were lost when a link was closed: frames received but not
/// fetched, and frames given but not sent.
inline constexpr auto kLinkCounters = [] {
  using Host = swap::HostLinkCounters;
  using Native = rte_pmd_ipu_link_stats;
  return std::to_array<EndCounter<Host, Native>>(
      {{"link_swaps", &Host::swaps, &Native::swaps},
       {"link_rejected", &Host::rejected, &Native::rejected},
       {"link_too_late", &Host::too_late, &Native::too_late},
       {"link_suspects", &Host::suspects, &Native::suspects},
       {"link_resets", &Host::resets, &Native::resets},
       {"link_in_doubt", &Host::in_doubt, &Native::in_doubt},
       {"link_discarded_pkts", &Host::discarded_pkts, &Native::discarded_pkts,
        base::Dropped::kHost},
       {"link_faults_host", &Host::faults, &Native::faults},
       {"link_rx_stop_discards", nullptr, nullptr, base::Dropped::kHost},
       {"link_tx_stop_discards", nullptr, nullptr, base::Dropped::kHost}});
}();
inline constexpr size_t kLinkRxStopDiscards = kLinkCounters.size() - 2;
inline constexpr size_t kLinkTxStopDiscards = kLinkCounters.size() - 1;

/// The last rows count power-ons of the device, and frames that were lost when an endpoint was
/// closed: frames received but not read by the application, and frames handed over but not read by
/// the device.
inline constexpr auto kLineCounters = [] {
  using Host = coherent::FrameHostCounters;
  using Native = rte_pmd_ipu_endpoint_stats;
  return std::to_array<EndCounter<Host, Native>>(
      {{"line_requests", &Host::requests, &Native::requests},
       {"line_tryagains", &Host::try_agains, &Native::tryagains},
       {"line_grants", &Host::grants, &Native::grants},
       {"line_faults_host", &Host::faults, &Native::faults},
       {"line_resets", nullptr, &Native::resets},
       {"line_rx_stop_discards", nullptr, nullptr, base::Dropped::kHost},
       {"line_tx_stop_discards", nullptr, nullptr, base::Dropped::kHost}});
}();
inline constexpr size_t kLineResets = kLineCounters.size() - 3;
inline constexpr size_t kLineRxStopDiscards = kLineCounters.size() - 2;
inline constexpr size_t kLineTxStopDiscards = kLineCounters.size() - 1;

static_assert(sizeof(swap::HostLinkCounters) == kLinkRxStopDiscards * sizeof(uint64_t) &&
                  sizeof(rte_pmd_ipu_link_stats) == kLinkRxStopDiscards * sizeof(uint64_t) &&
                  sizeof(coherent::FrameHostCounters) == kLineResets * sizeof(uint64_t) &&
                  sizeof(rte_pmd_ipu_endpoint_stats) == kLineRxStopDiscards * sizeof(uint64_t),
              "each counter needs a row");

/// Values in the order of the rows.
using LinkTotals = std::array<uint64_t, kLinkCounters.size()>;
using LineTotals = std::array<uint64_t, kLineCounters.size()>;

/// Reads the counters of the host's end. May be called by any thread. The driver's counters are 0.
template <typename Host, typename Native, size_t kRows>
std::array<uint64_t, kRows> ReadCounters(const std::array<EndCounter<Host, Native>, kRows>& rows,
                                         const Host& host) {
  std::array<uint64_t, kRows> totals{};
  for (size_t i = 0; i < kRows; ++i) {
    if (rows[i].host != nullptr) {
      totals[i] = __atomic_load_n(&(host.*rows[i].host), __ATOMIC_RELAXED);
    }
  }
  return totals;
}

/// Stores the totals in a structure defined in rte_pmd_ipu.h.
template <typename Host, typename Native, size_t kRows>
void StoreCounters(const std::array<EndCounter<Host, Native>, kRows>& rows,
                   const std::array<uint64_t, kRows>& totals, Native* stats) {
  for (size_t i = 0; i < kRows; ++i) {
    if (rows[i].native != nullptr) stats->*rows[i].native = totals[i];
  }
}

template <size_t kRows>
void Add(std::array<uint64_t, kRows>& to, const std::array<uint64_t, kRows>& more) {
  for (size_t i = 0; i < kRows; ++i) to[i] += more[i];
}

}  // namespace sluice::net_ipu
