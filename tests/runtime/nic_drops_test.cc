// SPDX-License-Identifier: BSD-3-Clause
//
// Tests which of a port's statistics count as drops. Each drop must be counted once, and no other
// event may be counted. The meanings of the statistics are in regs/ipu.h, device/enso/counters.h
// and, for any port, rte_eth_stats.
#include "runtime/nic_drops.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "device/enso/counters.h"
#include "regs/ipu.h"

namespace sluice::runtime {
namespace {

using Values = std::map<std::string, uint64_t>;

// Returns how the drops change when the statistic `xstat` increases by 3.
NicDrops When(const std::string& xstat, bool model = true) {
  Values before{{xstat, 2}}, after{{xstat, 5}};
  if (model) before["wire_offered"] = after["wire_offered"] = 0;
  return NicDropsSince(PortStats(before), PortStats(after));
}

TEST(NicDrops, EveryCounterOfAModelIsAnEndingOrIsNot) {
  const std::set<std::string_view> passed_on_or_no_frames{"rx_frames",
                                                          "rx_bytes",
                                                          "tx_frames",
                                                          "tx_bytes",
                                                          "bad_doorbell",
                                                          "link_swaps",
                                                          "link_faults",
                                                          "line_answers",
                                                          "line_tryagains",
                                                          "line_faults",
                                                          "rx_notifications",
                                                          "rx_notifications_lost",
                                                          "rx_notifications_unclaimed",
                                                          "rx_notification_holes",
                                                          "rx_head_triggers",
                                                          "rx_head_triggers_lost",
                                                          "tx_slots",
                                                          "tx_configs",
                                                          "tx_configs_unknown",
                                                          "tx_zero_length",
                                                          "flow_inserts_lost",
                                                          "dma_faults",
                                                          "wedged"};
  std::set<std::string_view> names(device::enso::kEventNames.begin(),
                                   device::enso::kEventNames.end());
  names.insert(std::begin(regs::ipu::kStatisticNames), std::end(regs::ipu::kStatisticNames));
  for (const std::string_view name : names) {
    const NicDrops drops = When("model_" + std::string(name));
    if (passed_on_or_no_frames.contains(name)) {
      EXPECT_TRUE(drops.by_name.empty()) << name;
      continue;
    }
    ASSERT_EQ(drops.by_name.size(), 1u) << name;
    EXPECT_EQ(drops.by_name[0], std::pair(name, uint64_t{3}));
    EXPECT_EQ(drops.Sum(), 3u) << name;
    // If the NIC drops frames that are being sent, the workers have already counted these frames.
    // The workers have not counted received frames that the NIC drops.
    EXPECT_EQ(drops.in_host, name.starts_with("rx_") ? 0u : 3u) << name;
    const bool rule = name == "rx_filtered" || name == "rx_flow_drop";
    EXPECT_EQ(drops.on_the_way, name.starts_with("rx_") && !rule ? 3u : 0u) << name;
  }
}

TEST(NicDrops, OfAModelsDriver) {
  for (const char* ending :
       {"rx_bad_writeback", "rx_stop_discards", "tx_bad_packet", "tx_stop_discards",
        "link_discarded_pkts", "line_rx_stop_discards", "line_tx_stop_discards", "rx_too_long",
        "rx_stop_drops", "tx_unframeable"}) {
    EXPECT_EQ(When(ending).in_host, 3u) << ending;
  }
  // These statistics are not drops: failed allocations, frames returned to the caller, sums of the
  // statistics above, and link states.
  for (const char* none :
       {"rx_no_mbuf", "rx_nombuf", "tx_full", "rx_missed_errors", "rx_errors", "tx_errors",
        "rx_desync", "link_rejected", "link_too_late", "nb_wakeups"}) {
    EXPECT_EQ(When(none).Sum(), 0u) << none;
  }
}

TEST(NicDrops, OfAWireStandApart) {
  for (const char* ending :
       {"wire_fault_drop", "wire_fault_linkdown", "wire_fault_police", "wire_port_tx_full",
        "wire_port_tx_oversize", "wire_port_tx_no_mbuf", "wire_port_rx_unusable",
        "wire_loopback_full", "wire_cable_full", "wire_cable_down", "wire_cable_oversize",
        "wire_cable_cut_tx", "wire_cable_cut_rx"}) {
    EXPECT_EQ(When(ending).Sum(), 3u) << ending;
    EXPECT_EQ(When(ending).in_host, 0u) << ending;
    EXPECT_EQ(When(ending).on_the_way, 0u) << ending;
  }
  for (const char* none : {"wire_lost", "wire_fault_dup", "wire_fault_delay", "wire_skipped",
                           "wire_source_late", "wire_abandoned", "wire_cable_joins"}) {
    EXPECT_EQ(When(none).Sum(), 0u) << none;
  }
}

TEST(NicDrops, OfAnyOtherPortAreEthdevsOwn) {
  for (const auto& [xstat, name] :
       {std::pair{"rx_missed_errors", "imissed"}, std::pair{"rx_errors", "ierrors"},
        std::pair{"tx_errors", "oerrors"}}) {
    const NicDrops drops = When(xstat, false);
    ASSERT_EQ(drops.by_name.size(), 1u) << xstat;
    EXPECT_EQ(drops.by_name[0], std::pair(std::string_view(name), uint64_t{3}));
  }
  // The following statistics provide a driver's details about drops that imissed already includes.
  EXPECT_EQ(When("rx_out_of_buffer", false).Sum(), 0u);
  EXPECT_EQ(When("rx_mbuf_allocation_errors", false).Sum(), 0u);
  EXPECT_EQ(When("rx_mbuf_allocation_errors", false).no_mbuf, 3u);
}

TEST(NicDrops, ACounterThatWasResetMeanwhileTakesNothingBack) {
  const NicDrops drops =
      NicDropsSince(PortStats({{"rx_missed_errors", 9}}), PortStats({{"rx_missed_errors", 4}}));
  EXPECT_EQ(drops.Sum(), 0u);
}

}  // namespace
}  // namespace sluice::runtime
