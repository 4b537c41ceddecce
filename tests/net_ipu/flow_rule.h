// SPDX-License-Identifier: BSD-3-Clause
//
// A flow rule that tests fill in.
#pragma once

#include <gtest/gtest.h>
#include <rte_flow.h>

#include <cstdint>

namespace sluice::net_ipu::test {

/// A rule "eth / ipv4 / udp" with the given fields and actions.
struct Rule {
  rte_flow_attr attributes{};
  rte_flow_item_ipv4 ip_spec{}, ip_mask{};
  rte_flow_item_udp udp_spec{}, udp_mask{};
  rte_flow_action_queue queue{};
  rte_flow_action_mark mark{};
  rte_flow_action_count count{};
  rte_flow_item pattern[4] = {{RTE_FLOW_ITEM_TYPE_ETH, nullptr, nullptr, nullptr},
                              {RTE_FLOW_ITEM_TYPE_IPV4, &ip_spec, nullptr, &ip_mask},
                              {RTE_FLOW_ITEM_TYPE_UDP, &udp_spec, nullptr, &udp_mask},
                              {RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr}};
  rte_flow_action actions[4] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &queue},
                                {RTE_FLOW_ACTION_TYPE_MARK, &mark},
                                {RTE_FLOW_ACTION_TYPE_COUNT, &count},
                                {RTE_FLOW_ACTION_TYPE_END, nullptr}};
  rte_flow_error error{};

  Rule() { attributes.ingress = 1; }
  Rule(const Rule&) = delete;
  rte_flow* Create(uint16_t port) {
    EXPECT_EQ(rte_flow_validate(port, &attributes, pattern, actions, &error), 0) << error.message;
    return rte_flow_create(port, &attributes, pattern, actions, &error);
  }
};

}  // namespace sluice::net_ipu::test
