// SPDX-License-Identifier: BSD-3-Clause
//
// A chain NIC -> accelerators -> NIC in virtual time: through the CPU, as devices work today, or
// pushed from device to device by the programmable switch (Nagare's proposal, Sadok 2024).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/switch/switch.h"
#include "fabric/costs.h"
#include "fabric/link.h"
#include "fabric/picoseconds.h"

namespace sluice::simulation {

using fabric::Picoseconds;

enum class ChainVia : uint8_t {
  kCpu,   ///< Data go to the host's memory after every device, which fetches its input there.
  kPush,  ///< A device writes to its window; the switch does the rest.
};
enum class Face : uint8_t { kStreaming, kLegacy };

/// What a hop's buffer in the host's memory holds.
inline constexpr uint32_t kMostChainBytes = 32'768;

struct ChainParameters {
  ChainVia via = ChainVia::kPush;
  std::vector<Face> accelerators = {Face::kStreaming, Face::kStreaming};
  uint32_t messages = 1;         ///< One after the other, each when the one before has arrived.
  uint32_t message_bytes = 64;   ///< Of data, at every hop; 1 to kMostChainBytes.
  Picoseconds compute = 0;       ///< Of each accelerator.
  Picoseconds cpu_reaction = 0;  ///< From data in memory to the doorbell.
  Picoseconds pipeline = 0;      ///< Of the switch, for each TLP.
  fabric::Costs costs;
  fabric::LinkParameters link;
  /// Of devices (NIC first) and of what each sends; what is missing gets a number.
  std::vector<std::string> devices;
  std::vector<std::string> data;
};

/// What crossed the interconnect: all of a transfer is one operation.
struct Operation {
  std::string from;
  std::string to;
  std::string what;
  std::string how;   ///< "DMA WR", "DMA RD" or "MMIO WR".
  Picoseconds took;  ///< Since the operation before it.
  friend bool operator==(const Operation&, const Operation&) = default;
};

struct ChainResults {
  std::vector<Operation> operations;   ///< Of the first message; credits are not in it.
  std::vector<Picoseconds> latencies;  ///< From the NIC to the NIC.
  uint64_t credit_writes = 0;          ///< TLPs of flow control, all told.
  uint64_t root_port_bytes = 0;        ///< Both directions, framing included.
};
ChainResults PlayChain(const ChainParameters& parameters);

/// Two streams from one NIC, each to an accelerator of its own. The first is slow.
struct BlockingParameters {
  device::pcie_switch::FlowControl flow_control = device::pcie_switch::FlowControl::kStream;
  bool slow_stream = true;  ///< False: only the other one sends.
  uint32_t message_bytes = 1024;
  Picoseconds interval = 200'000;  ///< Between messages of a stream.
  Picoseconds slow_compute = 10'000'000;
  Picoseconds fast_compute = 100'000;
  Picoseconds duration = 1'000'000'000;
  Picoseconds pipeline = 0;
  fabric::Costs costs;
  fabric::LinkParameters link;
};
/// Messages that the fast stream's accelerator took within the duration.
uint64_t PlayBlocking(const BlockingParameters& parameters);

}  // namespace sluice::simulation
