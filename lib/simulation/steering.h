// SPDX-License-Identifier: BSD-3-Clause
//
// Processor time per RPC that a host saves if the NIC chooses the core, computed operation by
// operation from the table of costs. It is not a measurement, and it is not comparable to the 8
// cores of Wave's abstract, which include the rest of Wave's RPC stack.
#pragma once

#include "fabric/costs.h"

namespace sluice::simulation {

struct SteeringCosts {
  fabric::Picoseconds dispatcher = 0;  ///< Time per RPC on the host's dedicated dispatcher core.
  /// Time that a host worker needs to get an RPC from a dispatcher.
  fabric::Picoseconds worker_local = 0;
  /// Time that a host worker needs to get an RPC from the NIC.
  fabric::Picoseconds worker_nic = 0;

  constexpr fabric::Picoseconds Removed() const { return dispatcher + worker_local - worker_nic; }
  /// Returns the number of cores saved at this rate.
  constexpr double Cores(double rpcs_per_second) const {
    return static_cast<double>(Removed()) * 1e-12 * rpcs_per_second;
  }
};

/// Returns the costs of steering. `decision` is the time in which a processor of the host parses a
/// header and chooses a core. If the NIC chooses the core, its agent spends Costs::agent_decision
/// instead.
/// - dispatcher: reads the request's first line (DDIO put it into the cache), decides, and acquires
///   the line of the worker's mailbox to write it: two lines and the decision.
/// - worker, after a dispatcher: gets the mailbox's line, and the request's from the dispatcher.
/// - worker, after the NIC: gets the decision's line, which the NIC pushed, and the request's.
constexpr SteeringCosts SteeringOf(const fabric::Costs& costs, fabric::Picoseconds decision) {
  return {.dispatcher = 2 * costs.host_cached_line + decision,
          .worker_local = 2 * costs.host_cached_line,
          .worker_nic = 2 * costs.host_cached_line};
}

}  // namespace sluice::simulation
