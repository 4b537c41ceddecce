// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that the port or its wire dropped, by name. The workers' counters do not include most of
// them. The drops are computed only from the port's statistics.
//
// Every frame that enters a model NIC is counted exactly once:
//
//   frames from the wire + sent_pkts
//       = wire_returned + consumed_pkts + Σ drops of the workers + Σ NIC drops + lost.
//
// NIC drops named "wire_…" are not part of this sum: the wire dropped those frames outside the NIC.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/port_stats.h"

namespace sluice::runtime {

struct NicDrops {
  /// Dropped frames by reason. Every run on this kind of port reports the same names.
  std::vector<std::pair<std::string_view, uint64_t>> by_name;
  /// The part of `by_name` that the host had received or was about to send. Workers have counted
  /// these frames, too.
  uint64_t in_host = 0;
  /// The part of `by_name` that was on its way to the host and was not dropped by a filter or flow
  /// rule.
  uint64_t on_the_way = 0;
  /// Failed allocations of receive buffers. They are not drops: the frame waits or is counted as
  /// missed.
  uint64_t no_mbuf = 0;

  uint64_t Sum() const;
};

/// Returns the drops between two readings of a port's statistics. A model port reports each drop
/// reason under a separate name. For any other port, the result consists of ethdev's imissed,
/// ierrors and oerrors (struct rte_eth_stats), because drivers must not let these overlap, whereas
/// extended statistics may overlap.
NicDrops NicDropsSince(const PortStats& begin, const PortStats& now);

}  // namespace sluice::runtime
