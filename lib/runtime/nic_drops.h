// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that the port or the wire behind it dropped, by name: what no worker's counters know.
// Pure: takes the port's statistics.
//
// Every frame that enters a model NIC has one ending:
//
//   frames from the wire + sent_pkts
//       = wire_returned + consumed_pkts + Σ drops of the workers + Σ NIC drops + lost.
//
// NIC drops named "wire_…" stand outside this sum: the wire dropped those before or behind the NIC.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/port_stats.h"

namespace sluice::runtime {

struct NicDrops {
  /// Frames by what happened to them; the same names in every run on such a port.
  std::vector<std::pair<std::string_view, uint64_t>> by_name;
  /// Of them those that the host had received, or was to send: workers counted them, too.
  uint64_t in_host = 0;
  /// Of them those that were to reach the host and that no filter and no flow rule dropped.
  uint64_t on_the_way = 0;
  /// Failed allocations of receive buffers. Not an ending: the frame waits, or is missed and
  /// counted as such.
  uint64_t no_mbuf = 0;

  uint64_t Sum() const;
};

/// What was dropped between two readings of one port. A port with a model behind it tells every
/// ending by its own name; of any other count ethdev's imissed, ierrors and oerrors (struct
/// rte_eth_stats), which no driver may let overlap, whereas its further statistics may.
NicDrops NicDropsSince(const PortStats& begin, const PortStats& now);

}  // namespace sluice::runtime
