// SPDX-License-Identifier: BSD-3-Clause
//
// Rows for accelerator chains: through the CPU, and with data that devices push through a
// programmable switch. Latencies are simulated operation by operation, and reported in round trips
// of the interconnect.
#include <algorithm>
#include <string>
#include <vector>

#include "device/switch/pipeline.h"
#include "paper_rows.h"
#include "simulation/chain/chain.h"

namespace sluice::simulation {
namespace {

constexpr uint32_t kExample = 2;  // Number of accelerators in the proposal's example.
constexpr uint32_t kMost = 8;

}  // namespace

std::vector<Row> Experiments::ChainRows() const {
  const device::pcie_switch::PipelineShape shape{.stages = inputs_.switch_stages,
                                                 .cycles_per_stage = inputs_.switch_cycles,
                                                 .hertz = inputs_.switch_megahertz * 1'000'000ull};
  const auto play = [&](ChainVia via, uint32_t accelerators, Face face = Face::kStreaming,
                        Picoseconds pipeline = 0) {
    ChainParameters parameters;
    parameters.via = via;
    parameters.accelerators.assign(accelerators, face);
    parameters.message_bytes = inputs_.chain_message;
    parameters.pipeline = pipeline;
    parameters.costs = inputs_.costs;
    parameters.link = inputs_.link;
    return PlayChain(parameters);
  };
  // The data fits into one TLP, so no transfer waits for a link.
  const auto latency = [](const ChainResults& results) {
    return static_cast<double>(results.latencies.front());
  };
  const double round_trip = 2 * static_cast<double>(inputs_.costs.pcie_oneway / 2 * 2);
  const ChainResults cpu = play(ChainVia::kCpu, kExample);
  const ChainResults push = play(ChainVia::kPush, kExample);
  const ChainResults delayed =
      play(ChainVia::kPush, kExample, Face::kStreaming, shape.latency_ps());
  double least = 1e9, most = 0;
  for (uint32_t n = 1; n <= kMost; ++n) {
    const double ratio = latency(play(ChainVia::kCpu, n)) / latency(play(ChainVia::kPush, n));
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  const double a_hop = (latency(delayed) - latency(push)) / (kExample + 1);

  BlockingParameters blocking;
  blocking.slow_compute = inputs_.slow_stage;
  blocking.costs = inputs_.costs;
  blocking.link = inputs_.link;
  blocking.slow_stream = false;
  const auto alone = static_cast<double>(PlayBlocking(blocking));
  blocking.slow_stream = true;
  const auto credits = static_cast<double>(PlayBlocking(blocking));
  blocking.flow_control = device::pcie_switch::FlowControl::kPort;
  const auto ports = static_cast<double>(PlayBlocking(blocking));

  const Names link = {"pcie_oneway", "pcie_generation", "pcie_lanes", "chain_message"};
  const Names pipeline = {"switch_stages", "switch_cycles", "switch_megahertz"};
  const Names slow = {"pcie_oneway", "pcie_generation", "pcie_lanes", "slow_stage"};
  return {
      {"N1a",
       "round trips, NIC to two accelerators to NIC, through the CPU",
       latency(cpu) / round_trip,
       "",
       link,
       {}},
      {"N1b",
       "round trips, NIC to two accelerators to NIC, pushed",
       latency(push) / round_trip,
       "",
       link,
       {}},
      {"N1c",
       "operations on the interconnect, two accelerators, through the CPU",
       static_cast<double>(cpu.operations.size()),
       "",
       link,
       {}},
      {"N1d",
       "operations on the interconnect, two accelerators, pushed",
       static_cast<double>(push.operations.size()),
       "",
       link,
       {}},
      {"N1e",
       "latency of the chain of two accelerators, through the CPU",
       latency(cpu) * 1e-6,
       "us",
       link,
       {}},
      {"N1f",
       "latency of the chain of two accelerators, pushed",
       latency(push) * 1e-6,
       "us",
       link,
       {}},
      {"N2a",
       "round trips with eight accelerators, through the CPU",
       latency(play(ChainVia::kCpu, kMost)) / round_trip,
       "",
       link,
       {}},
      {"N2b",
       "round trips with eight accelerators, pushed",
       latency(play(ChainVia::kPush, kMost)) / round_trip,
       "",
       link,
       {}},
      {"N2c",
       "ratio of latencies, CPU to pushed, minimum of one to eight accelerators",
       least,
       "",
       link,
       {}},
      {"N2d",
       "ratio of latencies, CPU to pushed, maximum of one to eight accelerators",
       most,
       "",
       link,
       {}},
      {"N2e",
       "round trips with eight legacy accelerators behind the switch",
       latency(play(ChainVia::kPush, kMost, Face::kLegacy)) / round_trip,
       "",
       link,
       {}},
      {"N3a", "latency that the switch's pipeline adds per hop", a_hop * 1e-3, "ns", pipeline, {}},
      {"N3b",
       "latency that the switch's pipeline adds, in percent of one way",
       100 * a_hop / static_cast<double>(inputs_.costs.pcie_oneway),
       "%",
       pipeline + Names{"pcie_oneway"},
       {}},
      {"N4a",
       "rate of a stream beside a slow one, credits per stream",
       100 * credits / alone,
       "%",
       slow,
       {}},
      {"N4b",
       "rate of a stream beside a slow one, PCIe's flow control only",
       100 * ports / alone,
       "%",
       slow,
       {}},
      {"N5a",
       "bytes through the root port per message, through the CPU",
       static_cast<double>(cpu.root_port_bytes),
       "",
       {"chain_message"},
       {}},
      {"N5b",
       "bytes through the root port per message, pushed",
       static_cast<double>(push.root_port_bytes),
       "",
       {},
       {}},
  };
}

}  // namespace sluice::simulation
