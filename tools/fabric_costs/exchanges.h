// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges between a host and a NIC, simulated operation by operation on a window in virtual time:
// swaps of two and of four messages, and the one-way queues of Wave (an event down, a decision
// fetched). The model's link yields bytes and times.
#pragma once

#include <string>
#include <vector>

#include "bar/tlp.h"
#include "fabric/costs.h"

namespace sluice::fabric {

/// Time of each side from the arrival of a line until its answer leaves, including reads of its
/// memory: at least 100 ns.
struct Thinking {
  Picoseconds responder = 1117_ns;
  Picoseconds initiator = 200_ns;
};

/// A state that is reached, with the time since the first operation.
struct Milestone {
  std::string what;
  Picoseconds at;
};

struct Exchange {
  std::string name;
  std::string operations;  ///< Operations that use the link, in order.
  bar::LinkBytes bytes;
  std::vector<Milestone> milestones;  ///< The last milestone is the end of the exchange.
};

/// The host offers, the NIC answers.
Exchange SwapOfTwoByHost(const Costs& costs, Thinking thinking);
/// The NIC offers, the host answers.
Exchange SwapOfTwoByNic(const Costs& costs, Thinking thinking);
/// The host offers. The answer stays at the NIC; the host reads it when it is available, after
/// `early_looks` reads that are too early.
Exchange SwapOfTwoFetched(const Costs& costs, Thinking thinking, int early_looks);
/// Offer, reflection, commit, acknowledgement; the host offers.
Exchange SwapOfFour(const Costs& costs, Thinking thinking);
/// Wave: event down, decision in NIC memory, MSI-X, decision read. `send_path`: includes the
/// measured time of the NIC's software between the decision and the interrupt.
Exchange WaveWithInterrupt(const Costs& costs, Thinking thinking, bool send_path);
/// Wave with every line uncached, as before its optimisations.
Exchange WaveUncached(const Costs& costs, Thinking thinking);
/// Wave: the decision was made in advance. The host prefetches it before it sends the event and
/// does its part of a context switch, and then reads it, which ends the exchange.
Exchange WavePrestaged(const Costs& costs);

std::vector<Exchange> AllExchanges(const Costs& costs, Thinking thinking);

}  // namespace sluice::fabric
