// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges between a host and a NIC, simulated operation by operation on a window in virtual time:
// swaps of two and four messages, and Wave's one-way queues (the host sends an event and fetches a
// decision). The link model yields bytes and times.
#pragma once

#include <string>
#include <vector>

#include "bar/tlp.h"
#include "fabric/costs.h"

namespace sluice::fabric {

/// Time from the arrival of a line at one end until the end sends its answer, including reads of
/// the end's memory. At least 100 ns.
struct Thinking {
  Picoseconds responder = 1117_ns;
  Picoseconds initiator = 200_ns;
};

/// A state that the exchange reaches, with the time since the start of the exchange.
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

/// Returns the costs of a two-message swap in which the host offers and the NIC answers.
Exchange SwapOfTwoByHost(const Costs& costs, Thinking thinking);
/// Returns the costs of a two-message swap in which the NIC offers and the host answers.
Exchange SwapOfTwoByNic(const Costs& costs, Thinking thinking);
/// Returns the costs of a two-message swap in which the answer stays at the NIC and the host reads
/// it. The first `early_looks` reads come too early.
Exchange SwapOfTwoFetched(const Costs& costs, Thinking thinking, int early_looks);
/// Returns the costs of a four-message swap that the host starts: offer, reflection, commit,
/// acknowledgement.
Exchange SwapOfFour(const Costs& costs, Thinking thinking);
/// Returns the costs of Wave with an interrupt: event down, decision in NIC memory, MSI-X, decision
/// read. If `send_path` is set, they include the measured time of the NIC's software between the
/// decision and the interrupt.
Exchange WaveWithInterrupt(const Costs& costs, Thinking thinking, bool send_path);
/// Returns the costs of Wave with every line uncached, as before its optimisations.
Exchange WaveUncached(const Costs& costs, Thinking thinking);
/// Returns the costs of Wave with a decision made in advance. The host prefetches the decision,
/// sends the event, does its part of a context switch, and then reads the decision. Only the final
/// read is timed.
Exchange WavePrestaged(const Costs& costs);

std::vector<Exchange> AllExchanges(const Costs& costs, Thinking thinking);

}  // namespace sluice::fabric
