// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that a set of flow rules is added completely or not at all: on an Ensō NIC, which rejects a
// second rule for the same flow, and on a port without a flow table.
#include "nic/flow_rules.h"

#include <gtest/gtest.h>
#include <rte_byteorder.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <array>
#include <memory>
#include <string>

#include "net_enso/rte_pmd_enso.h"
#include "nic/eth_port.h"
#include "ring_port.h"

namespace sluice::nic {
namespace {

// Steers UDP datagrams to 10.0.0.1 and port `udp_port` to a queue.
struct Rule {
  Rule(uint16_t udp_port, uint16_t queue) : to{.index = queue} {
    ip.hdr.dst_addr = rte_cpu_to_be_32(0x0a00'0001);
    ip_mask.hdr.dst_addr = ~uint32_t{0};
    udp.hdr.dst_port = rte_cpu_to_be_16(udp_port);
    udp_mask.hdr.dst_port = 0xffff;
    items[0].type = RTE_FLOW_ITEM_TYPE_ETH;
    items[1] = {RTE_FLOW_ITEM_TYPE_IPV4, &ip, nullptr, &ip_mask};
    items[2] = {RTE_FLOW_ITEM_TYPE_UDP, &udp, nullptr, &udp_mask};
    items[3].type = RTE_FLOW_ITEM_TYPE_END;
    actions[0] = {RTE_FLOW_ACTION_TYPE_QUEUE, &to};
    actions[1].type = RTE_FLOW_ACTION_TYPE_END;
  }
  Rule(const Rule&) = delete;

  bool AddTo(FlowRules& rules, std::string* why) const {
    return rules.Add(items.data(), actions.data(), why);
  }
  /// Returns whether the port would accept the rule; it rejects duplicates.
  bool FitsInto(uint16_t port) const {
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    rte_flow_error error{};
    return rte_flow_validate(port, &attributes, items.data(), actions.data(), &error) == 0;
  }

  rte_flow_item_ipv4 ip{}, ip_mask{};
  rte_flow_item_udp udp{}, udp_mask{};
  rte_flow_action_queue to;
  std::array<rte_flow_item, 4> items{};
  std::array<rte_flow_action, 2> actions{};
};

class FlowRulesTest : public testing::Test {
 protected:
  static constexpr const char* kName = "net_enso_rules";

  void SetUp() override {
    uint16_t id = 0;
    ASSERT_EQ(rte_eal_hotplug_add("vdev", kName, "wire=loopback"), 0);
    ASSERT_EQ(rte_eth_dev_get_port_by_name(kName, &id), 0);
    ASSERT_TRUE(rte_pmd_enso_supported(id));
    port_ = EthPort::Open(id, {.rx_queues = 2, .tx_queues = 2}, &why_);
    ASSERT_NE(port_, nullptr) << why_;
  }
  void TearDown() override {
    port_.reset();
    rte_eal_hotplug_remove("vdev", kName);
  }
  void ExpectNone() const {
    EXPECT_TRUE(first_.FitsInto(port_->id()));
    EXPECT_TRUE(second_.FitsInto(port_->id()));
  }

  const Rule first_{80, 0}, second_{81, 1};
  std::unique_ptr<EthPort> port_;
  std::string why_;
};

TEST_F(FlowRulesTest, RulesAreThePortsUntilTheyAreCleared) {
  FlowRules rules(port_->id());
  ASSERT_TRUE(first_.AddTo(rules, &why_)) << why_;
  ASSERT_TRUE(second_.AddTo(rules, &why_)) << why_;
  EXPECT_EQ(rules.size(), 2u);
  EXPECT_FALSE(first_.FitsInto(port_->id()));
  EXPECT_FALSE(second_.FitsInto(port_->id()));
  rules.Clear();
  EXPECT_EQ(rules.size(), 0u);
  ExpectNone();
}

TEST_F(FlowRulesTest, ARuleThatIsRefusedTakesTheOthersWithIt) {
  FlowRules rules(port_->id());
  ASSERT_TRUE(first_.AddTo(rules, &why_)) << why_;
  ASSERT_TRUE(second_.AddTo(rules, &why_)) << why_;
  EXPECT_FALSE(first_.AddTo(rules, &why_));
  EXPECT_NE(why_.find("another rule steers"), std::string::npos) << why_;
  EXPECT_EQ(rules.size(), 0u);
  ExpectNone();
  // A retry must succeed.
  EXPECT_TRUE(first_.AddTo(rules, &why_)) << why_;
}

TEST_F(FlowRulesTest, TheyAreGoneWithTheirOwner) {
  {
    FlowRules rules(port_->id());
    ASSERT_TRUE(first_.AddTo(rules, &why_)) << why_;
  }
  ExpectNone();
}

TEST_F(FlowRulesTest, RulesOfOthersStay) {
  FlowRules theirs(port_->id());
  ASSERT_TRUE(first_.AddTo(theirs, &why_)) << why_;
  FlowRules rules(port_->id());
  ASSERT_TRUE(second_.AddTo(rules, &why_)) << why_;
  EXPECT_FALSE(first_.AddTo(rules, &why_));
  EXPECT_FALSE(first_.FitsInto(port_->id()));
  EXPECT_TRUE(second_.FitsInto(port_->id()));
}

using PortWithoutATable = nic_test::RingPort;

TEST_F(PortWithoutATable, RefusesWithItsOwnWords) {
  FlowRules rules(port_->id());
  std::string why;
  EXPECT_FALSE(Rule(80, 0).AddTo(rules, &why));
  EXPECT_NE(why, "");
  EXPECT_EQ(rules.size(), 0u);
}

}  // namespace
}  // namespace sluice::nic
