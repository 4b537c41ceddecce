// SPDX-License-Identifier: BSD-3-Clause
//
// From an rte_flow rule to the entry of the device's exact-match table, or a message that says why
// there is none.
#pragma once

#include <rte_flow.h>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

/// Fills `flow` from eth / ipv4|ipv6 [/ udp|tcp], each field matched exactly or not at all, and
/// queue or drop, mark, count. 0, or a negative errno with `error` filled. Of the device only the
/// queues and links that it has are looked at.
int Translate(const rte_eth_dev* dev, const rte_flow_attr* attributes, const rte_flow_item* items,
              const rte_flow_action* actions, rte_flow* flow, rte_flow_error* error);

}  // namespace sluice::net_ipu
