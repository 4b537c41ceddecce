// SPDX-License-Identifier: BSD-3-Clause
//
// Compares a driver's feature table with the capabilities that its port reports: both must list the
// same features. The names are those in DPDK's doc/guides/nics/features/default.ini.
#pragma once

#include <ethdev_driver.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <fstream>
#include <map>
#include <string>

namespace sluice {

/// Maps "section/name" to Y or P.
using FeatureTable = std::map<std::string, char>;

inline FeatureTable ReadFeatures(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  FeatureTable table;
  std::string section;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == ';') continue;
    if (line[0] == '[') {
      section = line.substr(1, line.find(']') - 1);
      continue;
    }
    const size_t equals = line.find('=');
    const size_t end = line.find_last_not_of(' ', equals - 1);
    EXPECT_TRUE(line.ends_with("= Y") || line.ends_with("= P")) << line;
    table[section + "/" + line.substr(0, end + 1)] = line.back();
  }
  return table;
}

/// Returns the features that the port reports.
inline FeatureTable ReportedFeatures(uint16_t port) {
  const rte_eth_dev& dev = rte_eth_devices[port];
  const eth_dev_ops& ops = *dev.dev_ops;
  rte_eth_dev_info info{};
  EXPECT_EQ(rte_eth_dev_info_get(port, &info), 0);
  FeatureTable table;
  const auto add = [&](const char* name, bool full, bool part = false) {
    if (full || part) table[std::string("Features/") + name] = full ? 'Y' : 'P';
  };
  const auto rx = [&](uint64_t bits) { return (info.rx_offload_capa & bits) == bits; };
  const auto tx = [&](uint64_t bits) { return (info.tx_offload_capa & bits) == bits; };
  add("Speed capabilities", info.speed_capa != 0);
  add("Link status", ops.link_update != nullptr);
  add("Link status event", (dev.data->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0);
  add("Removal event", (dev.data->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0);
  add("Rx interrupt", ops.rx_queue_intr_enable != nullptr);
  add("Queue start/stop", ops.rx_queue_start != nullptr && ops.tx_queue_start != nullptr);
  add("Runtime Rx queue setup", (info.dev_capa & RTE_ETH_DEV_CAPA_RUNTIME_RX_QUEUE_SETUP) != 0);
  add("Runtime Tx queue setup", (info.dev_capa & RTE_ETH_DEV_CAPA_RUNTIME_TX_QUEUE_SETUP) != 0);
  add("Burst mode info", ops.rx_burst_mode_get != nullptr && ops.tx_burst_mode_get != nullptr);
  add("Power mgmt address monitor", ops.get_monitor_addr != nullptr);
  add("Fast mbuf free", tx(RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE));
  add("Free Tx mbuf on demand", ops.tx_done_cleanup != nullptr);
  add("Lock-free Tx queue", tx(RTE_ETH_TX_OFFLOAD_MT_LOCKFREE));
  add("MTU update", ops.mtu_set != nullptr);
  add("Scattered Rx", rx(RTE_ETH_RX_OFFLOAD_SCATTER));
  add("Buffer split on Rx", rx(RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT));
  add("LRO", rx(RTE_ETH_RX_OFFLOAD_TCP_LRO));
  add("TSO", tx(RTE_ETH_TX_OFFLOAD_TCP_TSO));
  add("Promiscuous mode", ops.promiscuous_enable != nullptr);
  add("Allmulticast mode", ops.allmulticast_enable != nullptr);
  add("Unicast MAC filter", ops.mac_addr_add != nullptr);
  add("Multicast MAC filter", ops.set_mc_addr_list != nullptr);
  add("RSS hash", info.flow_type_rss_offloads != 0 && rx(RTE_ETH_RX_OFFLOAD_RSS_HASH));
  add("RSS key update", ops.rss_hash_update != nullptr && info.hash_key_size != 0);
  add("RSS reta update", ops.reta_update != nullptr);
  add("VLAN filter", ops.vlan_filter_set != nullptr);
  add("VLAN offload", rx(RTE_ETH_RX_OFFLOAD_VLAN_STRIP) && tx(RTE_ETH_TX_OFFLOAD_VLAN_INSERT),
      rx(RTE_ETH_RX_OFFLOAD_VLAN_STRIP) || tx(RTE_ETH_TX_OFFLOAD_VLAN_INSERT));
  add("QinQ offload", rx(RTE_ETH_RX_OFFLOAD_QINQ_STRIP));
  add("Flow control", ops.flow_ctrl_get != nullptr);
  add("CRC offload", rx(RTE_ETH_RX_OFFLOAD_KEEP_CRC));
  add("L3 checksum offload", rx(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) && tx(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM),
      rx(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) || tx(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM));
  constexpr uint64_t kRxL4 = RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM;
  constexpr uint64_t kTxL4 = RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
  add("L4 checksum offload", rx(kRxL4) && tx(kTxL4), rx(kRxL4) || tx(kTxL4));
  add("Packet type parsing", rte_eth_dev_get_supported_ptypes(port, UINT32_MAX, nullptr, 0) > 1);
  add("Timesync", ops.timesync_enable != nullptr);
  add("Timestamp offload", rx(RTE_ETH_RX_OFFLOAD_TIMESTAMP));
  add("Rx descriptor status", dev.rx_descriptor_status != nullptr);
  add("Tx descriptor status", dev.tx_descriptor_status != nullptr);
  add("Basic stats", ops.stats_get != nullptr);
  add("Extended stats", ops.xstats_get != nullptr);
  add("Stats per queue", (dev.data->dev_flags & RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS) != 0);
  add("FW version", ops.fw_version_get != nullptr);
  add("EEPROM dump", ops.get_eeprom != nullptr);
  add("Module EEPROM dump", ops.get_module_eeprom != nullptr);
  add("Registers dump", ops.get_reg != nullptr);
  add("LED", ops.dev_led_on != nullptr);
  return table;
}

/// Returns the flow items and actions that the port accepts in a rule.
inline FeatureTable ReportedFlowForms(uint16_t port) {
  rte_flow_item_ipv4 ip{}, source_mask{}, ip_mask{};
  ip.hdr.src_addr = RTE_BE32(1), ip.hdr.dst_addr = RTE_BE32(2);
  ip_mask.hdr.dst_addr = source_mask.hdr.dst_addr = source_mask.hdr.src_addr = UINT32_MAX;
  rte_flow_item_udp udp{}, udp_mask{};
  udp.hdr.dst_port = RTE_BE16(80), udp_mask.hdr.dst_port = UINT16_MAX;
  rte_flow_item_tcp tcp{}, tcp_mask{};
  tcp.hdr.dst_port = RTE_BE16(80), tcp.hdr.src_port = RTE_BE16(81);
  tcp_mask.hdr.dst_port = tcp_mask.hdr.src_port = UINT16_MAX;
  const rte_flow_item kEth{RTE_FLOW_ITEM_TYPE_ETH, nullptr, nullptr, nullptr};
  const rte_flow_item kIpv4{RTE_FLOW_ITEM_TYPE_IPV4, &ip, nullptr, &ip_mask};
  const rte_flow_item kIpv4Pair{RTE_FLOW_ITEM_TYPE_IPV4, &ip, nullptr, &source_mask};
  const rte_flow_item kIpv6{RTE_FLOW_ITEM_TYPE_IPV6, nullptr, nullptr, nullptr};
  const rte_flow_item kUdp{RTE_FLOW_ITEM_TYPE_UDP, &udp, nullptr, &udp_mask};
  const rte_flow_item kTcp{RTE_FLOW_ITEM_TYPE_TCP, &tcp, nullptr, &tcp_mask};
  const rte_flow_item kEnd{RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr};
  const rte_flow_action_queue queue{0};
  const rte_flow_action_mark mark{1};
  const rte_flow_action kQueue{RTE_FLOW_ACTION_TYPE_QUEUE, &queue};
  const auto takes = [&](std::initializer_list<rte_flow_item> pattern,
                         std::initializer_list<rte_flow_action> actions) {
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    rte_flow_error error{};
    return rte_flow_validate(port, &attributes, pattern.begin(), actions.begin(), &error) == 0;
  };
  const rte_flow_action kStop{RTE_FLOW_ACTION_TYPE_END, nullptr};
  FeatureTable table;
  const auto item = [&](const char* name, std::initializer_list<rte_flow_item> pattern) {
    if (takes(pattern, {kQueue, kStop})) table[std::string("rte_flow items/") + name] = 'P';
  };
  item("eth", {kEth, kIpv4, kUdp, kEnd});
  item("ipv4", {kIpv4, kUdp, kEnd});
  item("ipv6", {kIpv6, kUdp, kEnd});
  item("vlan", {kEth, {RTE_FLOW_ITEM_TYPE_VLAN, nullptr, nullptr, nullptr}, kIpv4, kUdp, kEnd});
  item("tcp", {kIpv4Pair, kTcp, kEnd});
  item("udp", {kIpv4, kUdp, kEnd});
  const auto action = [&](const char* name, std::initializer_list<rte_flow_action> actions,
                          char extent = 'Y') {
    if (takes({kIpv4, kUdp, kEnd}, actions)) {
      table[std::string("rte_flow actions/") + name] = extent;
    }
  };
  action("queue", {kQueue, kStop});
  action("drop", {{RTE_FLOW_ACTION_TYPE_DROP, nullptr}, kStop});
  action("mark", {{RTE_FLOW_ACTION_TYPE_MARK, &mark}, kQueue, kStop});
  action("flag", {{RTE_FLOW_ACTION_TYPE_FLAG, nullptr}, kQueue, kStop});
  action("count", {{RTE_FLOW_ACTION_TYPE_COUNT, nullptr}, kQueue, kStop});
  rte_flow_action_age age{};
  age.timeout = 1;
  action("age", {{RTE_FLOW_ACTION_TYPE_AGE, &age}, kQueue, kStop});
  const uint16_t first = 0;
  rte_flow_action_rss rss{};
  rss.queue_num = 1, rss.queue = &first;
  action("rss", {{RTE_FLOW_ACTION_TYPE_RSS, &rss}, kStop}, 'P');
  action("passthru",
         {{RTE_FLOW_ACTION_TYPE_MARK, &mark}, {RTE_FLOW_ACTION_TYPE_PASSTHRU, nullptr}, kStop});
  return table;
}

/// Features that a table may list although the port does not report them.
inline constexpr const char* kUnseenFeatures[] = {"Features/Linux", "Features/x86-64",
                                                  "Features/ARMv8", "Features/Usage doc",
                                                  "Features/Multiprocess aware"};

/// Expects that the table in the file `path` matches the port, which must be configured with at
/// least one queue.
inline void ExpectFeatures(uint16_t port, const std::string& path) {
  FeatureTable told = ReadFeatures(path);
  FeatureTable seen = ReportedFeatures(port);
  seen.merge(ReportedFlowForms(port));
  for (const char* const name : kUnseenFeatures) told.erase(name);
  for (const auto& [name, extent] : told) {
    EXPECT_TRUE(seen.contains(name)) << name << " is in " << path << ", not at the port";
  }
  for (const auto& [name, extent] : seen) {
    const auto found = told.find(name);
    if (found == told.end()) {
      ADD_FAILURE() << name << " = " << extent << " is missing in " << path;
    } else {
      EXPECT_EQ(found->second, extent) << name;
    }
  }
}

}  // namespace sluice
