// SPDX-License-Identifier: BSD-3-Clause
//
// From an rte_flow rule to the one key that the NIC compares, or a message that says
// why there is none. Pure: looks at nothing but its arguments.
#pragma once

#include <rte_flow.h>

#include <cstdint>

#include "net_enso/enso_port.h"

namespace sluice::net_enso {

/// Fills `rule` from `eth / ipv4 / udp` or `eth / ipv4 / tcp` (eth optional) with exact
/// fields, actions queue and count. 0, or a negative errno with `error` filled.
///
/// What the table matches (docs/enso-hardware.md, "Steering"), and so what is accepted:
///   UDP: destination address and port, nothing of the source;
///   TCP: all four fields, for segments without SYN;
///   TCP with flags SYN: destination address and port.
int ParseRule(const rte_flow_attr* attr, const rte_flow_item* pattern,
              const rte_flow_action* actions, uint16_t queues, rte_flow* rule,
              rte_flow_error* error);

}  // namespace sluice::net_enso
