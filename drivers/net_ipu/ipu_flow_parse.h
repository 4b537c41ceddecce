// SPDX-License-Identifier: BSD-3-Clause
//
// Converts an rte_flow rule to an entry of the device's exact-match table, or reports why this is
// impossible.
#pragma once

#include <rte_flow.h>

#include <cstdio>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

/// Fills `flow` from [eth] [/ vlan] / ipv4|ipv6 [/ udp|tcp], each field matched exactly or not
/// matched, and from the actions of ParseActions. Returns 0, or a negative errno, and then fills
/// `error`. Reads only the device's queues, links, RSS types and shared counters.
///
/// An EtherType, or has_vlan 0, requires a frame without a tag before IP; a vlan item requires
/// exactly one tag. rss and passthru both select the port's RSS, because only one of several
/// matching rules applies.
int Translate(const rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item* items,
              const rte_flow_action* actions, rte_flow* flow, rte_flow_error* error);

/// Writes the rule to `file` as one line that begins with a space.
void DumpFlow(const rte_flow& flow, FILE* file);

/// Parses the actions for Translate.
int ParseActions(const rte_eth_dev* dev, const rte_flow_action* actions, rte_flow* flow,
                 rte_flow_error* error);

}  // namespace sluice::net_ipu
