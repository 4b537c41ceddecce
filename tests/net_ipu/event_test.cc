// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a port's notifications: link changes, receive interrupts and aged rules. Also tests ports
// with many rules.
#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_interrupts.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "ethdev_fixture.h"
#include "event_log.h"
#include "flow_rule.h"

namespace sluice::net_ipu::test {
namespace {

TEST(LinkEvents, TellEveryLossOfTheCarrierAndItsReturn) {
  Port port("wire=loopback,faults=linkdown:600ms/200ms", {.link_events = true});
  EventLog log(port.id, RTE_ETH_EVENT_INTR_LSC);
  port.Start();
  ASSERT_TRUE(log.WaitFor(4));
  const std::vector<bool> up = log.link_up();
  EXPECT_EQ(std::vector<bool>(up.begin(), up.begin() + 4),
            (std::vector<bool>{false, true, false, true}));
}

TEST(LinkEvents, TellWhatTheAdministratorDoesToThoseWhoAsk) {
  for (const bool asked : {true, false}) {
    Port port("wire=loopback", {.link_events = asked});
    EventLog log(port.id, RTE_ETH_EVENT_INTR_LSC);
    port.Start();
    rte_eth_link link{};
    ASSERT_EQ(rte_eth_link_get_nowait(port.id, &link), 0);
    EXPECT_EQ(link.link_status, RTE_ETH_LINK_UP);
    EXPECT_EQ(log.count(), 0u);
    EXPECT_EQ(rte_eth_dev_set_link_down(port.id), 0);
    EXPECT_EQ(rte_eth_dev_set_link_up(port.id), 0);
    EXPECT_EQ(log.link_up(), asked ? (std::vector<bool>{false, true}) : std::vector<bool>{});
  }
}

class Waiting {
 public:
  explicit Waiting(Port& port) : port_(port) {
    EXPECT_EQ(
        rte_eth_dev_rx_intr_ctl_q(port.id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, &port), 0);
  }
  ~Waiting() {
    EXPECT_EQ(
        rte_eth_dev_rx_intr_ctl_q(port_.id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, &port_),
        0);
  }
  /// Returns whether an interrupt arrives. If none must arrive, waits only briefly.
  bool Comes(bool must) {
    rte_epoll_event event{};
    const int events = rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, must ? 60'000 : 20);
    EXPECT_TRUE(events <= 0 || event.epdata.data == &port_);
    return events == 1;
  }

 private:
  Port& port_;
};

void Receive(Port& port, uint64_t frames) {
  uint64_t received = 0;
  EXPECT_TRUE(port.ReceiveUntil([&] { return received >= frames; },
                                [&](uint16_t, rte_mbuf*) { ++received; }));
}

TEST(RxInterrupts, WakeWhoWaitsOnceForEachTimeHeAsks) {
  Port port("wire=loopback", {.rx_interrupts = true});
  port.Start();
  const std::string frame(60, '\x02');
  {
    Waiting waiting(port);
    port.Send(port.Fill(frame));
    EXPECT_FALSE(waiting.Comes(false)) << "not enabled";
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id, 0), 0);
    EXPECT_TRUE(waiting.Comes(true)) << "a frame waits already";
    ASSERT_EQ(rte_eth_dev_rx_intr_disable(port.id, 0), 0);
    Receive(port, 1);
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id, 0), 0);
    EXPECT_FALSE(waiting.Comes(false)) << "nothing is there";
    port.Send(port.Fill(frame));
    EXPECT_TRUE(waiting.Comes(true));
    port.Send(port.Fill(frame));
    EXPECT_FALSE(waiting.Comes(false)) << "once";
    Receive(port, 2);
    ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id, 0), 0);
    ASSERT_EQ(rte_eth_dev_rx_intr_disable(port.id, 0), 0);
    port.Send(port.Fill(frame));
    EXPECT_FALSE(waiting.Comes(false)) << "disabled";
    Receive(port, 1);
  }
  // The interrupt must also work after a restart.
  ASSERT_EQ(rte_eth_dev_stop(port.id), 0);
  port.Start();
  Waiting waiting(port);
  ASSERT_EQ(rte_eth_dev_rx_intr_enable(port.id, 0), 0);
  port.Send(port.Fill(frame));
  EXPECT_TRUE(waiting.Comes(true));
  Receive(port, 1);
}

TEST(RxInterrupts, MustBeAskedForWhenThePortIsConfigured) {
  Port port("wire=loopback");
  port.Start();
  EXPECT_NE(rte_eth_dev_rx_intr_ctl_q(port.id, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, &port),
            0);
}

/// A rule for one destination port that has a counter and ages after a second.
struct AgingRule : Rule {
  explicit AgingRule(uint16_t destination_port, void* context) {
    udp_spec.hdr.dst_port = rte_cpu_to_be_16(destination_port);
    udp_mask.hdr.dst_port = UINT16_MAX;
    age.timeout = 1;
    age.context = context;
    actions[1] = {RTE_FLOW_ACTION_TYPE_AGE, &age};
  }
  rte_flow_action_age age{};
};

TEST(Ages, TellRulesThatHitNothing) {
  Port port("wire=gen:size=64+flows=10");
  EventLog log(port.id, RTE_ETH_EVENT_FLOW_AGED);
  int context = 0;
  AgingRule idle(1, &context), idle_too(2, nullptr);
  rte_flow* const flow = idle.Create(port.id);
  rte_flow* const other = idle_too.Create(port.id);
  ASSERT_NE(flow, nullptr) << idle.error.message;
  ASSERT_NE(other, nullptr) << idle_too.error.message;
  Rule busy;  // Matches all other UDP frames.
  rte_flow_action_age age{};
  age.timeout = 5;
  busy.actions[1] = {RTE_FLOW_ACTION_TYPE_AGE, &age};
  ASSERT_NE(busy.Create(port.id), nullptr) << busy.error.message;
  port.Start();
  EXPECT_TRUE(port.ReceiveUntil(
      [&] { return rte_flow_get_aged_flows(port.id, nullptr, 0, &busy.error) == 2; },
      [](uint16_t, rte_mbuf*) {}));
  EXPECT_TRUE(log.WaitFor(1)) << "the rules are listed before the event is reported";
  EXPECT_LE(log.count(), 2u);
  void* contexts[3] = {};
  ASSERT_EQ(rte_flow_get_aged_flows(port.id, contexts, 3, &busy.error), 2);
  EXPECT_EQ((std::set<void*>{contexts[0], contexts[1]}), (std::set<void*>{&context, other}));
  EXPECT_EQ(rte_flow_get_aged_flows(port.id, contexts, 1, &busy.error), 1);
  rte_flow_query_age answer{};
  ASSERT_EQ(rte_flow_query(port.id, flow, &idle.actions[1], &answer, &idle.error), 0);
  EXPECT_EQ(answer.aged, 1u);
  ASSERT_EQ(rte_flow_destroy(port.id, flow, &idle.error), 0);
  EXPECT_EQ(rte_flow_get_aged_flows(port.id, nullptr, 0, &busy.error), 1);
  ASSERT_EQ(rte_flow_flush(port.id, &idle.error), 0);
  EXPECT_EQ(rte_flow_get_aged_flows(port.id, nullptr, 0, &busy.error), 0);
}

TEST(Ages, AreSecondsAndThereIsOne) {
  Port port("");
  AgingRule rule(1, nullptr);
  rule.age.timeout = 0;
  EXPECT_EQ(rte_flow_validate(port.id, &rule.attributes, rule.pattern, rule.actions, &rule.error),
            -EINVAL);
}

/// Frames that matched the rule before the flush are marked, but later frames are not. The expected
/// count is therefore the number of marks.
TEST(Flush, LosesNoHitOfASharedCounter) {
  Port port("wire=gen:size=64+flows=10");
  const rte_flow_indir_action_conf conf{.ingress = 1, .egress = 0, .transfer = 0};
  const rte_flow_action counting{RTE_FLOW_ACTION_TYPE_COUNT, nullptr};
  Rule rule;
  rte_flow_action_handle* const counter =
      rte_flow_action_handle_create(port.id, &conf, &counting, &rule.error);
  ASSERT_NE(counter, nullptr);
  rule.actions[2] = {RTE_FLOW_ACTION_TYPE_INDIRECT, counter};
  port.Start();
  uint64_t marked = 0, unmarked = 0;
  const auto count = [&](uint16_t, rte_mbuf* m) {
    ++((m->ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0 ? marked : unmarked);
  };
  for (int round = 0; round < 20; ++round) {
    ASSERT_NE(rule.Create(port.id), nullptr) << rule.error.message;
    const uint64_t enough = marked + 500;
    EXPECT_TRUE(port.ReceiveUntil([&] { return marked >= enough; }, count));
    ASSERT_EQ(rte_flow_flush(port.id, &rule.error), 0);
    const uint64_t behind = unmarked + 1;
    EXPECT_TRUE(port.ReceiveUntil([&] { return unmarked >= behind; }, count));
    rte_flow_query_count counted{};
    ASSERT_EQ(rte_flow_action_handle_query(port.id, counter, &counted, &rule.error), 0);
    ASSERT_EQ(counted.hits, marked) << "round " << round;
  }
  EXPECT_EQ(rte_flow_action_handle_destroy(port.id, counter, &rule.error), 0);
}

TEST(Flow, TwentyThousandRulesStandAndAFullTableSaysSo) {
  Port port("wire=loopback", {.queues = 2});
  std::vector<rte_flow*> flows;
  Rule rule;
  rule.queue.index = 1;
  rule.udp_mask.hdr.dst_port = UINT16_MAX;
  for (uint32_t i = 0; i < 32768; ++i) {
    rule.udp_spec.hdr.dst_port = rte_cpu_to_be_16(static_cast<uint16_t>(i));
    rte_flow* const flow =
        rte_flow_create(port.id, &rule.attributes, rule.pattern, rule.actions, &rule.error);
    ASSERT_NE(flow, nullptr) << i << " " << rule.error.message;
    flows.push_back(flow);
  }
  rule.udp_spec.hdr.dst_port = rte_cpu_to_be_16(40'000);
  rte_errno = 0;
  EXPECT_EQ(rte_flow_create(port.id, &rule.attributes, rule.pattern, rule.actions, &rule.error),
            nullptr);
  EXPECT_EQ(rte_errno, ENOSPC);
  EXPECT_NE(std::string(rule.error.message).find("flow table is full"), std::string::npos);
  // Destroys rules starting from the middle, which is the worst order for a linear search of a
  // list.
  for (uint32_t i = 0; i < 12'768; ++i) {
    ASSERT_EQ(rte_flow_destroy(port.id, flows[(16'384 + i) % flows.size()], &rule.error), 0);
  }
  EXPECT_EQ(rte_flow_destroy(port.id, flows[16'384], &rule.error), -ENOENT);
  port.Start();
  std::string frame(60, '\0');
  frame[12] = 0x08, frame[14] = 0x45, frame[17] = 46, frame[22] = 64, frame[23] = 17;
  frame[39] = 26;
  for (const uint16_t destination : {0, 16'383, 16'384, 29'151, 29'152, 32'767}) {
    frame[36] = static_cast<char>(destination >> 8), frame[37] = static_cast<char>(destination);
    port.Send(port.Fill(frame));
    int queue = -1;
    EXPECT_TRUE(
        port.ReceiveUntil([&] { return queue >= 0; }, [&](uint16_t q, rte_mbuf*) { queue = q; }));
    EXPECT_EQ(queue, destination < 16'384 || destination >= 29'152 ? 1 : 0) << destination;
  }
}

}  // namespace
}  // namespace sluice::net_ipu::test
