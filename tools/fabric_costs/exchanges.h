// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges between a host and a NIC, played operation by operation on a window in
// virtual time: swaps of two and of four messages, and the one-way queues of Wave (an
// event down, a decision fetched). Bytes and times come out of the model's link.
#pragma once

#include <string>
#include <vector>

#include "bar/tlp.h"
#include "fabric/costs.h"

namespace sluice::fabric {

/// How long a side takes from the arrival of a line until its answer leaves, its looks at
/// its own memory included: at least 100 ns.
struct Thinking {
  Picoseconds responder = 1117_ns;
  Picoseconds initiator = 200_ns;
};

/// Something that is true from then on, counted from the first operation.
struct Milestone {
  std::string what;
  Picoseconds at;
};

struct Exchange {
  std::string name;
  std::string operations;  ///< Those that use the link, in order.
  bar::LinkBytes bytes;
  std::vector<Milestone> milestones;  ///< The last one ends the exchange.
};

/// The host offers, the NIC answers.
Exchange SwapOfTwoByHost(const Costs& costs, Thinking thinking);
/// The NIC offers, the host answers.
Exchange SwapOfTwoByNic(const Costs& costs, Thinking thinking);
/// The host offers; the answer stays at the NIC and is read when it is there, or first
/// `early_looks` times too early.
Exchange SwapOfTwoFetched(const Costs& costs, Thinking thinking, int early_looks);
/// Offer, reflection, commit, acknowledgement; the host offers.
Exchange SwapOfFour(const Costs& costs, Thinking thinking);
/// Wave: event down, decision in NIC memory, MSI-X, decision read. With `send_path`, the
/// NIC's software takes the measured time between the decision and the interrupt.
Exchange WaveWithInterrupt(const Costs& costs, Thinking thinking, bool send_path);
/// The same with every line uncached, as before Wave's optimisations.
Exchange WaveUncached(const Costs& costs, Thinking thinking);
/// Wave: the decision was made in advance, and is prefetched before the event is sent and
/// the host does its own part of a context switch. Ends when it is in hand after that.
Exchange WavePrestaged(const Costs& costs);

std::vector<Exchange> AllExchanges(const Costs& costs, Thinking thinking);

}  // namespace sluice::fabric
