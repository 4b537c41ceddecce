// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/nic_drops.h"

#include <array>
#include <span>

namespace sluice::runtime {

namespace {

/// Location at which a frame was dropped.
enum class At {
  kNic,   ///< Dropped before it reached the host, for a reason other than kRule.
  kRule,  ///< Dropped before it reached the host, by a filter or a flow rule.
  kHost,  ///< Dropped in the driver or, on transmit, in the NIC; the host's workers counted it.
  kWire,  ///< Dropped before it entered the NIC, or after it left the NIC.
};

struct Ending {
  std::string_view xstat;
  std::string_view name;
  At at;
};

/// Drop statistics of models, their drivers and their wires. Each statistic that counts a final
/// drop is listed once. Sums of other statistics, retries, and frames that a driver returns to its
/// caller are absent.
constexpr std::array kModelEndings{
    // Counters of net_ipu, in the order of regs/ipu.h, then of ipu_stats.cc.
    Ending{"model_rx_no_descriptor", "rx_no_descriptor", At::kNic},
    Ending{"model_rx_no_region", "rx_no_region", At::kNic},
    Ending{"model_rx_no_line", "rx_no_line", At::kNic},
    Ending{"model_rx_undersize", "rx_undersize", At::kNic},
    Ending{"model_rx_filtered", "rx_filtered", At::kRule},
    Ending{"model_rx_flow_drop", "rx_flow_drop", At::kRule},
    Ending{"model_rx_disabled", "rx_disabled", At::kNic},
    Ending{"model_rx_dma_faults", "rx_dma_faults", At::kNic},
    Ending{"model_tx_bad_descriptor", "tx_bad_descriptor", At::kHost},
    Ending{"model_tx_dma_faults", "tx_dma_faults", At::kHost},
    Ending{"model_link_bad_entries", "link_bad_entries", At::kHost},
    Ending{"model_line_bad_records", "line_bad_records", At::kHost},
    Ending{"model_line_rx_discards", "line_rx_discards", At::kHost},
    Ending{"model_line_tx_discards", "line_tx_discards", At::kHost},
    Ending{"model_line_lost", "line_lost", At::kHost},
    Ending{"model_line_orphans", "line_orphans", At::kHost},
    Ending{"rx_bad_writeback", "rx_bad_writeback", At::kHost},
    Ending{"rx_stop_discards", "rx_stop_discards", At::kHost},
    Ending{"tx_bad_packet", "tx_bad_packet", At::kHost},
    Ending{"tx_stop_discards", "tx_stop_discards", At::kHost},
    Ending{"link_discarded_pkts", "link_discarded_pkts", At::kHost},
    Ending{"link_rx_stop_discards", "link_rx_stop_discards", At::kHost},
    Ending{"link_tx_stop_discards", "link_tx_stop_discards", At::kHost},
    Ending{"line_rx_stop_discards", "line_rx_stop_discards", At::kHost},
    Ending{"line_tx_stop_discards", "line_tx_stop_discards", At::kHost},
    // A counter of both net_ipu and net_enso.
    Ending{"model_rx_oversize", "rx_oversize", At::kNic},
    // Counters of net_enso, in the order of device/enso/counters.h, then of enso_stats.cc.
    Ending{"model_rx_pipe_full", "rx_pipe_full", At::kNic},
    Ending{"model_rx_pipe_disabled", "rx_pipe_disabled", At::kNic},
    Ending{"model_rx_nb_disabled", "rx_nb_disabled", At::kNic},
    Ending{"model_rx_no_fallback", "rx_no_fallback", At::kNic},
    Ending{"model_rx_empty", "rx_empty", At::kNic},
    Ending{"model_rx_no_packet_buffer", "rx_no_packet_buffer", At::kNic},
    Ending{"model_rx_stuck", "rx_stuck", At::kNic},
    Ending{"model_tx_oversize", "tx_oversize", At::kHost},
    Ending{"rx_too_long", "rx_too_long", At::kHost},
    Ending{"rx_stop_drops", "rx_stop_drops", At::kHost},
    Ending{"tx_unframeable", "tx_unframeable", At::kHost},
    // Wires: emulator/faults.cc, port.h, loopback.h, cable.h.
    Ending{"wire_fault_drop", "wire_fault_drop", At::kWire},
    Ending{"wire_fault_linkdown", "wire_fault_linkdown", At::kWire},
    Ending{"wire_fault_police", "wire_fault_police", At::kWire},
    Ending{"wire_port_rx_unusable", "wire_port_rx_unusable", At::kWire},
    Ending{"wire_port_tx_full", "wire_port_tx_full", At::kWire},
    Ending{"wire_port_tx_oversize", "wire_port_tx_oversize", At::kWire},
    Ending{"wire_port_tx_no_mbuf", "wire_port_tx_no_mbuf", At::kWire},
    Ending{"wire_loopback_full", "wire_loopback_full", At::kWire},
    Ending{"wire_cable_full", "wire_cable_full", At::kWire},
    Ending{"wire_cable_down", "wire_cable_down", At::kWire},
    Ending{"wire_cable_oversize", "wire_cable_oversize", At::kWire},
    Ending{"wire_cable_cut_tx", "wire_cable_cut_tx", At::kWire},
    Ending{"wire_cable_cut_rx", "wire_cable_cut_rx", At::kWire},
};

/// Drop statistics of any port: the names of rte_eth_stats members in rte_eth_xstats_get.
constexpr std::array kPlainEndings{
    Ending{"rx_missed_errors", "imissed", At::kNic},
    Ending{"rx_errors", "ierrors", At::kNic},
    Ending{"tx_errors", "oerrors", At::kHost},
};
constexpr std::string_view kNoMbuf = "rx_mbuf_allocation_errors";

}  // namespace

uint64_t NicDrops::Sum() const {
  uint64_t sum = 0;
  for (const auto& [name, frames] : by_name) sum += frames;
  return sum;
}

NicDrops NicDropsSince(const PortStats& begin, const PortStats& now) {
  const auto grown = [&](std::string_view xstat) {
    const uint64_t before = begin.Get(xstat);
    const uint64_t after = now.Get(xstat);
    return after > before ? after - before : 0;
  };
  std::span<const Ending> endings = kPlainEndings;
  if (now.IsModel()) endings = kModelEndings;
  NicDrops drops;
  for (const Ending& ending : endings) {
    if (!now.values().contains(std::string(ending.xstat))) continue;
    const uint64_t frames = grown(ending.xstat);
    drops.by_name.emplace_back(ending.name, frames);
    if (ending.at == At::kHost) drops.in_host += frames;
    if (ending.at == At::kNic) drops.on_the_way += frames;
  }
  drops.no_mbuf = grown(kNoMbuf);
  return drops;
}

}  // namespace sluice::runtime
