// SPDX-License-Identifier: BSD-3-Clause
//
// The latencies of the model, each with its source:
//   [B26] Borrill's critique of Wave, 2026, quoting Wave (Humphries et al., ASPLOS'25) [H24] Hou et
//   al., NSDI'24, as quoted by the Nagare proposal: one-way PCIe latency [N18] Neugebauer et al.,
//   SIGCOMM'18 (pcie-bench) [est] an estimate, taken from the literature or derived here; a
//   starting value, not a result
// Every value can be changed in a Costs object. None was measured on this host.
#pragma once

#include "fabric/picoseconds.h"

namespace sluice::fabric {

struct Costs {
  // The link:
  Picoseconds pcie_oneway = 379_ns;        ///< [H24] From sending a small TLP to its arrival.
  Picoseconds completion_timeout = 50_us;  ///< [est] Minimum of the default PCIe range.

  // Accesses of the host processor to a BAR:
  Picoseconds mmio_read_uncached = 750_ns;  ///< [B26] 8 bytes; also the first read of a WT line.
  Picoseconds mmio_read_cached = 2_ns;      ///< [est] A read of a cached WT line.
  Picoseconds mmio_write_uncached = 50_ns;  ///< [est] Processor time of an 8-byte store.
  Picoseconds mmio_write_line = 80_ns;      ///< [est] Processor time, 64 bytes WC and sfence:
                                            ///< 60-100.

  // Interrupts: the sum of send, oneway, receive and dispatch is the 1600 ns of [B26].
  Picoseconds msix_send = 70_ns;               ///< [est] Register write at the NIC.
  Picoseconds msix_receive = 350_ns;           ///< [est]
  Picoseconds msix_dispatch = 801_ns;          ///< [est] The remainder of 1600.
  Picoseconds decision_to_msix_sent = 426_ns;  ///< [B26] Wave's send path, software included.

  // Memory:
  Picoseconds host_cached_line = 40_ns;  ///< [est] Read of a line put into the LLC by DDIO: 20-70.
  Picoseconds nic_memory = 100_ns;       ///< [est] A NIC core's DRAM.
  Picoseconds nic_cached_line = 30_ns;   ///< [est] A NIC core's LLC.
  Picoseconds nic_write_line = 80_ns;    ///< [est] NIC core time to push a line across the link.
  Picoseconds device_read_service = 0;  ///< [est] Device time of a BAR read in ReadTime::kComposed.

  // Scheduling on a NIC:
  Picoseconds context_switch = 3300_ns;  ///< [B26] With all of Wave's optimisations.
  /// [est] The part of context_switch before the host needs the decision. A prefetch overlaps with
  /// it.
  Picoseconds context_switch_before = 1650_ns;
  Picoseconds agent_decision = 1117_ns;  ///< [est] 1 / 895k requests per second of [B26].

  // The same agent on a host core, over coherent memory:
  Picoseconds coherent_line = 50_ns;     ///< [est] A line between cores on one die: 40-60.
  Picoseconds host_interrupt = 1104_ns;  ///< [est] ghOSt, SOSP'21: 1772 minus the agent's 668.

  constexpr Picoseconds MsixEndToEnd() const {
    return msix_send + pcie_oneway + msix_receive + msix_dispatch;
  }
};

}  // namespace sluice::fabric
