// SPDX-License-Identifier: BSD-3-Clause
//
// From an rte_flow rule to the entry of the device's exact-match table, or a message that says why
// there is none.
#pragma once

#include <rte_flow.h>

#include <cstdio>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

/// Fills `flow` from [eth] [/ vlan] / ipv4|ipv6 [/ udp|tcp], each field matched exactly or not at
/// all, and from queue, rss, passthru or drop, with mark, flag, count and age. 0, or a negative
/// errno with `error` filled. Of the device only queues, links, RSS types and shared counters are
/// looked at.
///
/// An EtherType, or has_vlan 0, demands that there is no tag before IP; a vlan item, exactly one.
/// rss is the port's own spreading, as passthru is: of several rules that match one applies.
int Translate(const rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item* items,
              const rte_flow_action* actions, rte_flow* flow, rte_flow_error* error);

/// Writes one line that begins with a space.
void DumpFlow(const rte_flow& flow, FILE* file);

/// The part of Translate that reads actions: ipu_flow_actions.cc.
int TakeActions(const rte_eth_dev* dev, const rte_flow_action* actions, rte_flow* flow,
                rte_flow_error* error);

}  // namespace sluice::net_ipu
