// SPDX-License-Identifier: BSD-3-Clause
//
// Converts an rte_flow rule to the one key that the NIC compares, or reports the reason why it
// cannot. Pure functions of their arguments.
#pragma once

#include <rte_flow.h>

#include <cstdint>

#include "net_enso/enso_port.h"

namespace sluice::net_enso {

/// Fills `rule` from `eth / ipv4 / udp` or `eth / ipv4 / tcp` (eth optional) with exact fields and
/// from the actions queue and count. Returns 0, or a negative errno with `error` filled.
///
/// Accepts only rules that the NIC's table can match (docs/enso-hardware.md, "Steering"):
///   UDP: destination address and port, no source field;
///   TCP: all four fields, for segments without SYN;
///   TCP with flags SYN: destination address and port.
int ParseRule(const rte_flow_attr* attr, const rte_flow_item* pattern,
              const rte_flow_action* actions, uint16_t queues, rte_flow* rule,
              rte_flow_error* error);

}  // namespace sluice::net_enso
