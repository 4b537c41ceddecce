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

/// Time from the arrival of a line at one end until this end's answer leaves, including reads of
/// the end's memory; at least 100 ns.
struct Thinking {
  Picoseconds responder = 1117_ns;
  Picoseconds initiator = 200_ns;
};

/// A state that is reached, with the time since the start of the exchange.
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

/// Returns the costs of a swap of two messages in which the host offers and the NIC answers.
Exchange SwapOfTwoByHost(const Costs& costs, Thinking thinking);
/// Returns the costs of a swap of two messages in which the NIC offers and the host answers.
Exchange SwapOfTwoByNic(const Costs& costs, Thinking thinking);
/// Returns the costs of a swap of two messages in which the host fetches the answer: the answer
/// stays at the NIC, and the host reads it after `early_looks` reads that are too early.
Exchange SwapOfTwoFetched(const Costs& costs, Thinking thinking, int early_looks);
/// Returns the costs of a swap of four messages: offer, reflection, commit, acknowledgement. The
/// host offers.
Exchange SwapOfFour(const Costs& costs, Thinking thinking);
/// Returns the costs of Wave with an interrupt: event down, decision in NIC memory, MSI-X, decision
/// read. `send_path`: includes the measured time of the NIC's software between the decision and the
/// interrupt.
Exchange WaveWithInterrupt(const Costs& costs, Thinking thinking, bool send_path);
/// Returns the costs of Wave with every line uncached, as before its optimisations.
Exchange WaveUncached(const Costs& costs, Thinking thinking);
/// Returns the costs of Wave with a decision that was made in advance. The host prefetches the
/// decision, sends the event, does its part of a context switch, and then reads the decision. Only
/// this read is timed.
Exchange WavePrestaged(const Costs& costs);

std::vector<Exchange> AllExchanges(const Costs& costs, Thinking thinking);

}  // namespace sluice::fabric
