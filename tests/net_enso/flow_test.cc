// SPDX-License-Identifier: BSD-3-Clause
//
// Tests rte_flow on the port. The NIC must steer and count rules that its table supports; the
// driver must refuse other rules with a message, and those must not steer any frames.
#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_flow.h>

#include <cerrno>
#include <string>

#include "gtest/gtest.h"
#include "net_enso/fixture.h"

namespace sluice::net_enso {
namespace {

/// A rule `eth / ipv4 dst is …[ src is …] / udp or tcp …`, with its actions.
struct Rule {
  rte_flow_attr attr{};
  rte_flow_item_ipv4 ip{}, ip_mask{};
  rte_flow_item_udp udp{}, udp_mask{};
  rte_flow_item_tcp tcp{}, tcp_mask{};
  rte_flow_action_queue queue{};
  rte_flow_item pattern[4]{};
  rte_flow_action actions[3]{};

  Rule(uint8_t protocol, uint32_t dst_ip, uint16_t dst_port, uint16_t to_queue) {
    attr.ingress = 1;
    ip.hdr.dst_addr = rte_cpu_to_be_32(dst_ip);
    ip_mask.hdr.dst_addr = 0xffff'ffff;
    udp.hdr.dst_port = tcp.hdr.dst_port = rte_cpu_to_be_16(dst_port);
    udp_mask.hdr.dst_port = tcp_mask.hdr.dst_port = 0xffff;
    queue.index = to_queue;
    pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
    pattern[1] = {RTE_FLOW_ITEM_TYPE_IPV4, &ip, nullptr, &ip_mask};
    if (protocol == IPPROTO_UDP) {
      pattern[2] = {RTE_FLOW_ITEM_TYPE_UDP, &udp, nullptr, &udp_mask};
    } else {
      pattern[2] = {RTE_FLOW_ITEM_TYPE_TCP, &tcp, nullptr, &tcp_mask};
    }
    pattern[3].type = RTE_FLOW_ITEM_TYPE_END;
    actions[0] = {RTE_FLOW_ACTION_TYPE_QUEUE, &queue};
    actions[1].type = RTE_FLOW_ACTION_TYPE_COUNT;
    actions[2].type = RTE_FLOW_ACTION_TYPE_END;
  }
  Rule(const Rule&) = delete;

  Rule& From(uint32_t src_ip, uint16_t src_port) {
    ip.hdr.src_addr = rte_cpu_to_be_32(src_ip);
    ip_mask.hdr.src_addr = 0xffff'ffff;
    udp.hdr.src_port = tcp.hdr.src_port = rte_cpu_to_be_16(src_port);
    udp_mask.hdr.src_port = tcp_mask.hdr.src_port = 0xffff;
    return *this;
  }
  Rule& WithFlags(uint8_t flags, uint8_t mask) {
    tcp.hdr.tcp_flags = flags;
    tcp_mask.hdr.tcp_flags = mask;
    return *this;
  }
};

class FlowTest : public testing::Test {
 protected:
  FlowTest() : pool_(1024), vdev_("wire=loopback") { vdev_.Start(2, pool_.get()); }
  ~FlowTest() override { rte_eth_dev_stop(vdev_.port()); }

  rte_flow* Create(const Rule& rule) {
    error_ = {};
    return rte_flow_create(vdev_.port(), &rule.attr, rule.pattern, rule.actions, &error_);
  }
  /// Expects validate and create to refuse the rule with a message that contains `word`.
  void ExpectRefused(const Rule& rule, const char* word) {
    error_ = {};
    EXPECT_LT(rte_flow_validate(vdev_.port(), &rule.attr, rule.pattern, rule.actions, &error_), 0)
        << word;
    ASSERT_NE(error_.message, nullptr) << word;
    EXPECT_NE(std::string(error_.message).find(word), std::string::npos) << error_.message;
    EXPECT_EQ(Create(rule), nullptr) << word;
  }
  /// Sends a frame. Returns the queue on which it came back, or −1 if it did not.
  int QueueOf(const FrameSpec& spec) {
    rte_mbuf* mbuf = pool_.Fill(Ipv4Frame(spec));
    EXPECT_EQ(rte_eth_tx_burst(vdev_.port(), 0, &mbuf, 1), 1);
    int queue = -1;
    Eventually([&] {
      for (uint16_t i = 0; i < 2 && queue < 0; ++i) {
        if (rte_eth_rx_burst(vdev_.port(), i, &mbuf, 1) != 1) continue;
        rte_pktmbuf_free(mbuf);
        queue = i;
      }
      return queue >= 0;
    });
    return queue;
  }
  rte_flow_query_count Count(rte_flow* flow, bool reset = false) {
    rte_flow_query_count count{};
    count.reset = reset ? 1 : 0;
    const rte_flow_action action{RTE_FLOW_ACTION_TYPE_COUNT, nullptr};
    EXPECT_EQ(rte_flow_query(vdev_.port(), flow, &action, &count, &error_), 0);
    return count;
  }

  Pool pool_;
  Vdev vdev_;
  rte_flow_error error_{};
};

TEST_F(FlowTest, UdpGoesByDestinationToItsQueueAndIsCounted) {
  const Rule to_0(IPPROTO_UDP, 1, 80, 0);
  const Rule to_1(IPPROTO_UDP, 1, 81, 1);
  rte_flow* first = Create(to_0);
  rte_flow* second = Create(to_1);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  for (uint32_t source = 1; source <= 5; ++source) {
    EXPECT_EQ(QueueOf({.length = 100, .dst_ip = 1, .dst_port = 80, .src_ip = source}), 0);
    EXPECT_EQ(QueueOf({.length = 80, .dst_ip = 1, .dst_port = 81, .src_ip = source}), 1);
  }
  EXPECT_EQ(Count(first).hits, 5u);
  EXPECT_EQ(Count(first).bytes, 500u);
  EXPECT_EQ(Count(second).bytes, 400u);
}

TEST_F(FlowTest, TcpGoesByAllFourFields) {
  for (const uint16_t queue : {uint16_t{0}, uint16_t{1}}) {
    Rule rule(IPPROTO_TCP, 1, 80, queue);
    rte_flow* flow = Create(rule.From(7, 1000 + queue));
    ASSERT_NE(flow, nullptr) << error_.message;
    EXPECT_EQ(QueueOf({.dst_ip = 1,
                       .dst_port = 80,
                       .src_ip = 7,
                       .src_port = static_cast<uint16_t>(1000 + queue),
                       .protocol = IPPROTO_TCP}),
              queue);
    EXPECT_EQ(Count(flow).hits, 1u);
  }
}

TEST_F(FlowTest, SynGoesByDestination) {
  for (const uint16_t queue : {uint16_t{0}, uint16_t{1}}) {
    Rule rule(IPPROTO_TCP, 1, static_cast<uint16_t>(80 + queue), queue);
    ASSERT_NE(Create(rule.WithFlags(RTE_TCP_SYN_FLAG, RTE_TCP_SYN_FLAG)), nullptr);
    EXPECT_EQ(QueueOf({.dst_ip = 1,
                       .dst_port = static_cast<uint16_t>(80 + queue),
                       .src_ip = 99,
                       .protocol = IPPROTO_TCP,
                       .tcp_flags = RTE_TCP_SYN_FLAG}),
              queue);
  }
}

TEST_F(FlowTest, DestroyedRuleSteersNoMoreAndCanBeMadeAgain) {
  const int fallback = QueueOf({.dst_ip = 1, .dst_port = 80});
  const Rule rule(IPPROTO_UDP, 1, 80, static_cast<uint16_t>(1 - fallback));
  rte_flow* flow = Create(rule);
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(QueueOf({.dst_ip = 1, .dst_port = 80}), 1 - fallback);
  ASSERT_EQ(rte_flow_destroy(vdev_.port(), flow, &error_), 0);
  EXPECT_EQ(QueueOf({.dst_ip = 1, .dst_port = 80}), fallback);
  ASSERT_NE(Create(rule), nullptr);
  EXPECT_EQ(QueueOf({.dst_ip = 1, .dst_port = 80}), 1 - fallback);
  ASSERT_EQ(rte_flow_flush(vdev_.port(), &error_), 0);
  EXPECT_EQ(QueueOf({.dst_ip = 1, .dst_port = 80}), fallback);
}

TEST_F(FlowTest, RulesSurviveARestart) {
  const int fallback = QueueOf({.dst_ip = 1, .dst_port = 80});
  const Rule rule(IPPROTO_UDP, 1, 80, static_cast<uint16_t>(1 - fallback));
  ASSERT_NE(Create(rule), nullptr);
  ASSERT_EQ(rte_eth_dev_stop(vdev_.port()), 0);
  const Rule while_stopped(IPPROTO_UDP, 1, 81, 1);
  ASSERT_NE(Create(while_stopped), nullptr);
  ASSERT_EQ(rte_eth_dev_start(vdev_.port()), 0);
  EXPECT_EQ(QueueOf({.dst_ip = 1, .dst_port = 80}), 1 - fallback);
  EXPECT_EQ(QueueOf({.dst_ip = 1, .dst_port = 81}), 1);
}

TEST_F(FlowTest, CountsGoOnOverARestart) {
  rte_flow* const flow = Create(Rule(IPPROTO_UDP, 1, 80, 0));
  ASSERT_NE(flow, nullptr);
  const FrameSpec frame{.length = 100, .dst_ip = 1, .dst_port = 80};
  EXPECT_EQ(QueueOf(frame), 0);
  ASSERT_EQ(rte_eth_dev_stop(vdev_.port()), 0);
  EXPECT_EQ(Count(flow).hits, 1u);
  ASSERT_EQ(rte_eth_dev_start(vdev_.port()), 0);
  EXPECT_EQ(QueueOf(frame), 0);
  EXPECT_EQ(Count(flow, true).hits, 2u);
  EXPECT_EQ(Count(flow).bytes, 0u);
  EXPECT_EQ(QueueOf(frame), 0);
  EXPECT_EQ(Count(flow).hits, 1u);
  EXPECT_EQ(Count(flow).bytes, 100u);
}

TEST_F(FlowTest, RefusesWhatTheTableCannotMatch) {
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    ExpectRefused(rule.From(2, 3), "only by destination");
  }
  ExpectRefused(Rule(IPPROTO_TCP, 1, 80, 0), "all four");
  {
    Rule rule(IPPROTO_TCP, 1, 80, 0);
    ExpectRefused(rule.From(1, 2).WithFlags(RTE_TCP_SYN_FLAG, RTE_TCP_SYN_FLAG), "SYN");
  }
  {
    Rule rule(IPPROTO_TCP, 1, 80, 0);
    ExpectRefused(rule.From(1, 2).WithFlags(0, RTE_TCP_FIN_FLAG), "SYN");
  }
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.ip_mask.hdr.dst_addr = rte_cpu_to_be_32(0xffff'ff00);
    ExpectRefused(rule, "exact IPv4 destination");
  }
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.ip_mask.hdr.type_of_service = 0xff;
    ExpectRefused(rule, "only the addresses and the protocol");
  }
  {
    Rule rule(IPPROTO_TCP, 1, 80, 0);
    rule.From(2, 3).ip_mask.hdr.src_addr = rte_cpu_to_be_32(0xffff'ff00);
    ExpectRefused(rule, "exact IPv4 source address");
  }
  // The mask matches only part of the protocol that the UDP item implies.
  for (const uint8_t mask : {0x11, 0x7f, 0xfe}) {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.ip.hdr.next_proto_id = IPPROTO_UDP;
    rule.ip_mask.hdr.next_proto_id = mask;
    ExpectRefused(rule, "exactly or not at all");
  }
  for (const uint16_t mask : {0x00ff, 0x7fff}) {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.udp_mask.hdr.dst_port = mask;
    ExpectRefused(rule, "exact UDP destination port");
  }
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.pattern[2].last = &rule.udp;
    ExpectRefused(rule, "range");
  }
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.pattern[1].type = RTE_FLOW_ITEM_TYPE_IPV6;
    ExpectRefused(rule, "eth / ipv4 / udp");
  }
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.pattern[2].type = RTE_FLOW_ITEM_TYPE_END;
    ExpectRefused(rule, "an address without a port");
    EXPECT_EQ(error_.type, RTE_FLOW_ERROR_TYPE_ITEM);
  }
}

TEST_F(FlowTest, RefusesAttributesAndActionsThatItDoesNotHave) {
  const struct {
    void (*change)(rte_flow_attr&);
    rte_flow_error_type type;
    const char* word;
  } kAttributes[] = {
      {[](rte_flow_attr& a) { a.priority = 1; }, RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY, "priorities"},
      {[](rte_flow_attr& a) { a.group = 1; }, RTE_FLOW_ERROR_TYPE_ATTR_GROUP, "group 0"},
      {[](rte_flow_attr& a) { a.egress = 1; }, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, "ingress"},
      {[](rte_flow_attr& a) { a.transfer = 1, a.ingress = 0; }, RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER,
       "ingress"},
      {[](rte_flow_attr& a) { a.ingress = 0; }, RTE_FLOW_ERROR_TYPE_ATTR_INGRESS, "ingress"},
  };
  for (const auto& [change, type, word] : kAttributes) {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    change(rule.attr);
    ExpectRefused(rule, word);
    EXPECT_EQ(error_.type, type) << word;
  }
  ExpectRefused(Rule(IPPROTO_UDP, 1, 80, 2), "the port has no such receive queue");
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.actions[0].type = RTE_FLOW_ACTION_TYPE_DROP;
    ExpectRefused(rule, "only actions");
  }
  {
    Rule rule(IPPROTO_UDP, 1, 80, 0);
    rule.actions[0].type = RTE_FLOW_ACTION_TYPE_VOID;
    ExpectRefused(rule, "needs the queue action");
  }
}

TEST_F(FlowTest, RefusesAnEntryThatIsTaken) {
  const Rule rule(IPPROTO_UDP, 1, 80, 0);
  ASSERT_NE(Create(rule), nullptr);
  ExpectRefused(Rule(IPPROTO_UDP, 1, 80, 1), "another rule steers");
  Rule syn(IPPROTO_TCP, 1, 80, 1);
  ExpectRefused(syn.WithFlags(RTE_TCP_SYN_FLAG, RTE_TCP_SYN_FLAG), "share an entry");
}

TEST_F(FlowTest, RefusesMoreThanTheTableHolds) {
  uint32_t created = 0;
  while (true) {
    // Knuth's multiplicative hash yields distinct addresses that are spread over the table.
    Rule rule(IPPROTO_UDP, created * 2'654'435'761u, 80, 0);
    rule.actions[1].type = RTE_FLOW_ACTION_TYPE_END;
    if (Create(rule) == nullptr) break;
    ASSERT_LT(++created, 8193u);
  }
  EXPECT_NE(std::string(error_.message).find("rows"), std::string::npos) << error_.message;
  EXPECT_GT(created, 1000u);
  EXPECT_EQ(vdev_.Xstat("model_flow_inserts_lost"), 0u);
  EXPECT_EQ(rte_flow_flush(vdev_.port(), &error_), 0);
}

TEST_F(FlowTest, RefusesMoreCountedRulesThanAQueueHasRunningOrNot) {
  for (const bool stopped : {false, true}) {
    if (stopped) {
      ASSERT_EQ(rte_eth_dev_stop(vdev_.port()), 0);
    }
    for (uint32_t i = 0; i < 8; ++i) ASSERT_NE(Create(Rule(IPPROTO_UDP, 1 + i, 80, 0)), nullptr);
    ExpectRefused(Rule(IPPROTO_UDP, 100, 80, 0), "the maximum number of rules");
    EXPECT_NE(Create(Rule(IPPROTO_UDP, 100, 80, 1)), nullptr) << "another queue";
    if (stopped) {
      EXPECT_EQ(rte_eth_dev_start(vdev_.port()), 0);
    }
    EXPECT_EQ(rte_flow_flush(vdev_.port(), &error_), 0);
  }
}

TEST_F(FlowTest, OnlyCountedRulesCanBeQueried) {
  Rule rule(IPPROTO_UDP, 1, 80, 0);
  rule.actions[1].type = RTE_FLOW_ACTION_TYPE_END;
  rte_flow* flow = Create(rule);
  ASSERT_NE(flow, nullptr);
  rte_flow_query_count count{};
  const rte_flow_action action{RTE_FLOW_ACTION_TYPE_COUNT, nullptr};
  EXPECT_LT(rte_flow_query(vdev_.port(), flow, &action, &count, &error_), 0);
}

}  // namespace
}  // namespace sluice::net_enso
