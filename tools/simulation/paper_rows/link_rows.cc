// SPDX-License-Identifier: BSD-3-Clause
//
// Rows for single operations and exchanges, each simulated on the window and timed with the
// simulated clock.
#include <algorithm>
#include <stdexcept>

#include "fabric/exchanges.h"
#include "fabric/window.h"
#include "pages.h"
#include "paper_rows.h"
#include "simulation/host_window.h"
#include "swap/host_link.h"
#include "swap/nic_link.h"
#include "swap/port.h"

namespace sluice::simulation {
namespace {

using fabric::ToNanoseconds;

fabric::WindowParameters Window(const Inputs& inputs, fabric::HostStores stores,
                                fabric::NicLines lines) {
  fabric::WindowParameters parameters;
  parameters.lines = 8;
  parameters.host_stores = stores;
  parameters.nic_lines = lines;
  parameters.link = inputs.link;
  parameters.costs = inputs.costs;
  return parameters;
}

double ReadNanoseconds(const Inputs& inputs) {
  fabric::EventQueue queue;
  fabric::WindowPair pair(
      queue, Window(inputs, fabric::HostStores::kUncached, fabric::NicLines::kUncached));
  pair.host().ReadUncached(0, 0);
  return ToNanoseconds(pair.host().now());
}

struct InterruptTimes {
  /// Time in ns that the NIC's core needs to send the interrupt, including the software path.
  double sent = 0;
  double received = 0;  ///< Time in ns from the NIC's register write until the host handles it.
};
InterruptTimes Interrupt(const Inputs& inputs) {
  fabric::EventQueue queue;
  fabric::WindowPair pair(
      queue, Window(inputs, fabric::HostStores::kWriteCombining, fabric::NicLines::kWriteThrough));
  InterruptTimes times;
  Picoseconds handled = 0;
  pair.host().OnInterrupt([&](uint32_t) { handled = pair.host().now(); });
  NicWindow nic(pair, /*interrupts=*/true);
  nic.Interrupt(0);
  times.sent = ToNanoseconds(pair.nic().now());
  queue.Run();
  times.received = ToNanoseconds(handled) - times.sent + ToNanoseconds(inputs.costs.msix_send);
  return times;
}

/// Returns the rate, in Gb/s, at which the device writes lines to the host in whole payloads, like
/// a DMA engine.
double DmaGigabits(const Inputs& inputs) {
  fabric::LinkDirection up(inputs.link, inputs.costs.pcie_oneway);
  constexpr uint32_t kWrites = 4096;
  Picoseconds last = 0;
  for (uint32_t i = 0; i < kWrites; ++i) {
    last =
        up.Send(0, fabric::TlpKind::kPosted, inputs.link.maximum_payload, inputs.costs.pcie_oneway)
            .arrival;
  }
  return 8.0 * kWrites * inputs.link.maximum_payload / ToNanoseconds(last);
}
/// Returns the rate, in Gb/s, of uncached reads of one word after the other.
double ReadGigabits(const Inputs& inputs) {
  return 8.0 * sizeof(uint64_t) / ReadNanoseconds(inputs);
}

/// Result of a link failure while the last message of a swap, the answer, is in flight. `in_doubt`:
/// number of ends that do not know the outcome. `disagree`: 1 if the outcomes at the two ends
/// differ after the link is up again.
struct LastMessageLost {
  int in_doubt = 0;
  int disagree = 0;
};
struct Cell {
  swap::Answer Evaluate(const swap::Message&, swap::Reply&) { return swap::Answer::kTrue; }
};
LastMessageLost LoseLastMessage(const Inputs& inputs) {
  fabric::EventQueue queue;
  fabric::WindowPair pair(
      queue, Window(inputs, fabric::HostStores::kWholeLine, fabric::NicLines::kPushed));
  swap::InitiatorPort<fabric::HostEnd> host(pair.host(), 0,
                                            swap::Initiator(swap::kTwoMessage, 1, 1));
  swap::ResponderPort<fabric::NicEnd> nic(pair.nic(), 0, swap::Responder(swap::kTwoMessage, 1, 1));
  Cell cell;
  while (!host.end().CanOffer()) {
    nic.Poll(cell);
    host.Poll();
  }
  queue.Run();
  host.MakeOffer({});
  queue.Run();
  bool committed = nic.Poll(cell) == swap::Event::kCommitted;
  pair.SetLinkUp(false);  // The link fails before the answer arrives.
  queue.Run();
  LastMessageLost result;
  result.in_doubt = int{!host.Poll().has_value()} + int{!committed};
  pair.SetLinkUp(true);
  host.Reset(2);
  nic.Reset(2);
  for (int i = 0; i < 20; ++i) {
    committed |= nic.Poll(cell) == swap::Event::kCommitted;
    queue.Run();
    if (const auto outcome = host.Poll()) {
      result.disagree = int{(outcome->outcome == swap::Outcome::kCommitted) != committed};
      return result;
    }
  }
  throw std::runtime_error("a swap was not resolved after its link came back");
}

/// Returns the time until the host's link suspects a NIC that died after a swap. The host polls
/// every microsecond.
double SuspectedMs(Picoseconds window) {
  constexpr swap::Geometry kSmall = {
      .regions = swap::kMinRegions, .region_bytes = 1 << 14, .max_frames = 16};
  constexpr Picoseconds kLook = 1'000'000;
  const Pages pages(swap::LinkMemory::BytesFor(kSmall));
  const auto host = swap::HostLink::Open(swap::LinkMemory::Format(pages.span(), kSmall),
                                         static_cast<uint64_t>(window));
  const auto nic = swap::NicLink::Open(pages.span(), host->epoch());
  host->Give(0, false);
  while (!host->holding()) {
    nic->Serve();
    host->Poll(0);
  }
  host->Give(0, false);
  for (Picoseconds now = kLook; now < 10 * window + 10 * kLook; now += kLook) {
    host->Poll(static_cast<uint64_t>(now));
    if (host->suspect()) return static_cast<double>(now) * 1e-9;
  }
  throw std::runtime_error("a dead NIC is never suspected");
}

double End(const fabric::Exchange& exchange) {
  return ToNanoseconds(exchange.milestones.back().at);
}

}  // namespace

std::vector<Row> Experiments::LinkRows() const {
  const fabric::Thinking thinking{inputs_.costs.agent_decision, inputs_.offerer_validates};
  const auto reach = [](const fabric::Exchange& exchange, std::string_view what) {
    for (const fabric::Milestone& milestone : exchange.milestones)
      if (milestone.what == what) return ToNanoseconds(milestone.at);
    throw std::runtime_error("an exchange does not reach " + std::string(what));
  };
  const InterruptTimes interrupt = Interrupt(inputs_);
  const fabric::Exchange exchange = fabric::SwapOfTwoByHost(inputs_.costs, thinking);
  const double swap = End(exchange);
  const auto crossings =
      1 + std::count(exchange.operations.begin(), exchange.operations.end(), ',');
  const double two_ways = swap - ToNanoseconds(thinking.responder);
  const fabric::Exchange wave = fabric::WaveWithInterrupt(inputs_.costs, thinking, true);
  const LastMessageLost lost = LoseLastMessage(inputs_);
  return {
      {"W1",
       "uncached read of 8 bytes from the NIC by the host",
       ReadNanoseconds(inputs_),
       "ns",
       {"mmio_read_uncached"},
       {}},
      {"W2",
       "MSI-X, from the register write to the handler",
       interrupt.received,
       "ns",
       {"pcie_oneway", "msix_send", "msix_receive", "msix_dispatch"},
       {}},
      {"W3",
       "from the decision's write until the MSI-X is sent",
       interrupt.sent,
       "ns",
       {"decision_to_msix_sent"},
       {}},
      {"W11a",
       "page table entries written by the device in full payloads",
       DmaGigabits(inputs_),
       "Gb/s",
       {"pcie_oneway", "pcie_generation", "pcie_lanes"},
       {}},
      {"W11b",
       "page table entries read by the host word by word",
       ReadGigabits(inputs_),
       "Gb/s",
       {"mmio_read_uncached"},
       {}},
      {"B1",
       "swap of two messages, until the offering end knows the outcome",
       swap,
       "ns",
       {"pcie_oneway", "agent_decision"},
       {}},
      {"B1a", "time on the link in a swap of two messages", two_ways, "ns", {"pcie_oneway"}, {}},
      {"B1c",
       "operations of a swap of two messages that cross the link",
       static_cast<double>(crossings),
       "",
       {},
       {}},
      {"B1b",
       "swap of four messages, until the next offer is possible",
       End(fabric::SwapOfFour(inputs_.costs, thinking)),
       "ns",
       {"pcie_oneway", "agent_decision", "offerer_validates"},
       {}},
      {"B3a",
       "ends that do not know the outcome after the last message is lost",
       static_cast<double>(lost.in_doubt),
       "",
       {},
       {}},
      {"B3b",
       "ends that disagree after the link is up again",
       static_cast<double>(lost.disagree),
       "",
       {},
       {}},
      {"B4",
       "silence after which EC_Link considers its peer's ring lost",
       inputs_.silent_rounds * two_ways,
       "ns",
       {"pcie_oneway", "silent_rounds"},
       {}},
      {"B4a",
       "silence after which lib/swap suspects a dead NIC",
       SuspectedMs(inputs_.link_window),
       "ms",
       {"link_window"},
       {}},
      {"D1",
       "Wave's loop from the event to the handler, with the software path",
       reach(wave, "interrupt handler"),
       "ns",
       {"pcie_oneway", "msix_receive", "msix_dispatch", "decision_to_msix_sent", "agent_decision"},
       {}},
      {"D2",
       "Wave's loop from the event until the host has read the decision",
       End(wave),
       "ns",
       {"pcie_oneway", "msix_receive", "msix_dispatch", "decision_to_msix_sent", "agent_decision",
        "mmio_read_uncached"},
       {}},
  };
}

std::vector<Row> Experiments::BreakEvenRows() {
  // Cost per switch: the host's own work, then its wait.
  const fabric::Thinking thinking{inputs_.costs.agent_decision, inputs_.offerer_validates};
  const double own = ToNanoseconds(inputs_.costs.context_switch) / 1000;
  const auto per_switch = [&](Picoseconds at) { return own + ToNanoseconds(at) / 1000; };
  const double swap =
      per_switch(fabric::SwapOfTwoByHost(inputs_.costs, thinking).milestones.back().at);
  const double hit = per_switch(fabric::WavePrestaged(inputs_.costs).milestones.back().at);
  const double polled =
      per_switch(fabric::SwapOfTwoFetched(inputs_.costs, thinking, 0).milestones.back().at);
  double interrupted = 0;
  const fabric::Exchange wave = fabric::WaveWithInterrupt(inputs_.costs, thinking, false);
  for (const fabric::Milestone& milestone : wave.milestones)
    if (milestone.what == "interrupt handler") interrupted = per_switch(milestone.at);
  // Returns the percentage of hits at which prestaging costs as much as a swap per decision.
  const auto break_even = [](double miss, double swapped, double staged) {
    return 100 * (miss - swapped) / (miss - staged);
  };
  const Names all = {"pcie_oneway", "agent_decision", "context_switch"};
  const auto with = [&](const Names& more) { return all + more; };
  const Names ratio_msix = {"pcie_oneway",  "agent_decision", "msix_send",
                            "msix_receive", "msix_dispatch",  "mmio_read_cached"};
  // The break-even percentage for whole systems, in which the host continues to work during a swap.
  const SchedulingResults staged = Run(Busy(Mode::kPrestaged, 1));
  const SchedulingResults swapped = Run(Busy(Mode::kSwap, 1));
  const SchedulingResults missed = Run(Busy(Mode::kMapped, 1));
  const double hit_us = staged.OffTaskPerSwitch() * 1e-6;
  const double swap_us = swapped.OffTaskPerSwitch() * 1e-6;
  const double miss_us = missed.OffTaskPerSwitch() * 1e-6;
  return {
      {"B6a", "context switch and the swap for its decision, in sequence", swap, "us", all, {}},
      {"B6b",
       "context switch with a prestaged decision",
       hit,
       "us",
       {"context_switch", "mmio_read_cached"},
       {}},
      {"B6c",
       "context switch without a prestaged decision, MSI-X",
       interrupted,
       "us",
       with({"msix_send", "msix_receive", "msix_dispatch"}),
       {}},
      {"B6d",
       "context switch without a prestaged decision, polling",
       polled,
       "us",
       with({"mmio_read_uncached"}),
       {}},
      {"B6e",
       "hit rate at which prestaging is as fast as swaps, misses by MSI-X",
       break_even(interrupted, swap, hit),
       "%",
       ratio_msix,
       {}},
      {"B6f",
       "hit rate at which prestaging is as fast as swaps, misses by polling",
       break_even(polled, swap, hit),
       "%",
       {"pcie_oneway", "agent_decision", "mmio_read_uncached", "mmio_read_cached"},
       {}},
      {"B6g", "context switch in a whole system, prestaged", hit_us, "us", kWaveInputs, {}},
      {"B6h", "context switch in a whole system, swap", swap_us, "us", kSwapInputs, {}},
      {"B6i",
       "context switch in a whole system, Wave without prestaging",
       miss_us,
       "us",
       kWaveInputs,
       {}},
      {"B6j",
       "hit rate at which prestaging is as fast as swaps, whole systems",
       break_even(miss_us, swap_us, hit_us),
       "%",
       kSwapInputs,
       {}},
  };
}

}  // namespace sluice::simulation
