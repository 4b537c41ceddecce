// SPDX-License-Identifier: BSD-3-Clause
//
// How a host and its scheduling agent are connected: the stages of Wave's optimisations
// (docs/wave.md, "Stages"), swaps, or an agent on the host.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/counter_rows.h"
#include "fabric/window.h"

namespace sluice::simulation {

enum class Mode : uint8_t {
  kUncached,   ///< Wave: every access is 8 bytes, uncached on both sides.
  kNicCached,  ///< Wave: the NIC maps its memory write-back.
  kMapped,     ///< Wave: the host writes through write-combining buffers and reads write-through.
  kPrestaged,  ///< Wave: in addition, decisions are prestaged at each CPU and prefetched.
  kSwap,       ///< One swap per decision.
  kStanding,   ///< Prestaged: conditional swaps are offered in advance.
  kHost,       ///< The agent runs on a host core, with prestaging in coherent memory.
};

struct ModeTraits {
  Mode id;
  std::string_view name;
  fabric::HostStores host_stores;
  fabric::NicLines nic_lines;
  fabric::NicMapping nic_mapping;
  bool swaps;
  bool prestages;
  bool prefetches;
};

inline constexpr std::array<ModeTraits, 7> kModes = {{
    {Mode::kUncached, "uc", fabric::HostStores::kUncached, fabric::NicLines::kUncached,
     fabric::NicMapping::kUncached, false, false, false},
    {Mode::kNicCached, "nic-wb", fabric::HostStores::kUncached, fabric::NicLines::kUncached,
     fabric::NicMapping::kCached, false, false, false},
    {Mode::kMapped, "wc+wt", fabric::HostStores::kWriteCombining, fabric::NicLines::kWriteThrough,
     fabric::NicMapping::kCached, false, false, false},
    {Mode::kPrestaged, "prestage+prefetch", fabric::HostStores::kWriteCombining,
     fabric::NicLines::kWriteThrough, fabric::NicMapping::kCached, false, true, true},
    {Mode::kSwap, "swap", fabric::HostStores::kWholeLine, fabric::NicLines::kPushed,
     fabric::NicMapping::kCached, true, false, false},
    {Mode::kStanding, "standing offer", fabric::HostStores::kWholeLine, fabric::NicLines::kPushed,
     fabric::NicMapping::kCached, true, true, false},
    {Mode::kHost, "on-host", fabric::HostStores::kWholeLine, fabric::NicLines::kPushed,
     fabric::NicMapping::kCached, false, true, false},
}};
static_assert(base::InOrder(kModes));

constexpr const ModeTraits& TraitsOf(Mode mode) { return kModes[static_cast<size_t>(mode)]; }

/// Returns the costs of `mode`. An agent on the host crosses no link. It uses lines of coherent
/// memory and inter-processor interrupts.
constexpr fabric::Costs CostsOf(Mode mode, fabric::Costs costs) {
  if (mode != Mode::kHost) return costs;
  costs.pcie_oneway = costs.coherent_line;
  costs.mmio_write_line = costs.coherent_line;
  costs.nic_write_line = costs.coherent_line;
  costs.decision_to_msix_sent = costs.msix_send;
  // Sending, transit, receipt and dispatch must add up to the host's interrupt cost.
  const fabric::Picoseconds known = costs.msix_send + costs.pcie_oneway + costs.msix_receive;
  costs.msix_dispatch = costs.host_interrupt > known ? costs.host_interrupt - known : 0;
  return costs;
}

}  // namespace sluice::simulation
