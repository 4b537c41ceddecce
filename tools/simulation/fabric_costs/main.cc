// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-fabric-costs: prints a Markdown table with the costs of exchanges between a host and a NIC
// over a modelled PCIe link, in virtual time. docs/fabric.md contains the output.
#include <cstdio>

#include "base/standard_streams.h"
#include "fabric/exchanges.h"

using namespace sluice::fabric;

int main() {
  sluice::base::OpenStandardStreams();
  const Costs costs;
  const Thinking thinking{costs.agent_decision, 200_ns};
  std::printf(
      "Model, virtual time: one way %.0f ns, read %.0f ns, MSI-X %.0f ns; responder %.0f ns,"
      " initiator %.0f ns.\n\n",
      ToNanoseconds(costs.pcie_oneway), ToNanoseconds(costs.mmio_read_uncached),
      ToNanoseconds(costs.MsixEndToEnd()), ToNanoseconds(thinking.responder),
      ToNanoseconds(thinking.initiator));
  std::puts("| exchange | operations on the link | bytes down / up | latency, ns |");
  std::puts("|---|---|---|---|");
  for (const Exchange& exchange : AllExchanges(costs, thinking)) {
    std::printf("| %s | %s | %llu / %llu |", exchange.name.c_str(), exchange.operations.c_str(),
                static_cast<unsigned long long>(exchange.bytes.down),
                static_cast<unsigned long long>(exchange.bytes.up));
    const char* separator = " ";
    for (const Milestone& milestone : exchange.milestones) {
      std::printf("%s%s %.0f", separator, milestone.what.c_str(), ToNanoseconds(milestone.at));
      separator = "; ";
    }
    std::puts(" |");
  }
}
