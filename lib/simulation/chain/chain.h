// SPDX-License-Identifier: BSD-3-Clause
//
// A chain NIC -> accelerators -> NIC in virtual time. Either the CPU moves the data, as with
// today's devices, or the programmable switch pushes it from device to device (the Nagare proposal,
// Sadok 2024).
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
  kCpu,   ///< Each device writes to host memory, and the next device reads its input there.
  kPush,  ///< Each device writes to its window, and the switch forwards the data.
};
enum class Face : uint8_t { kStreaming, kLegacy };

/// Largest data size that fits in a hop's buffer in host memory.
inline constexpr uint32_t kMostChainBytes = 32'768;

struct ChainParameters {
  ChainVia via = ChainVia::kPush;
  std::vector<Face> accelerators = {Face::kStreaming, Face::kStreaming};
  /// Number of messages. Each is sent after the previous one has arrived.
  uint32_t messages = 1;
  uint32_t message_bytes = 64;   ///< Size of the data at every hop; 1 to kMostChainBytes.
  Picoseconds compute = 0;       ///< Processing time of each accelerator per message.
  Picoseconds cpu_reaction = 0;  ///< Delay from the arrival of data in memory to the doorbell.
  Picoseconds pipeline = 0;      ///< Delay of each TLP in the switch.
  fabric::Costs costs;
  fabric::LinkParameters link;
  /// Names of the devices (the NIC first) and of the data that each one sends. Missing names are
  /// replaced by numbers.
  std::vector<std::string> devices;
  std::vector<std::string> data;
};

/// A transfer over the interconnect. All TLPs of a transfer form one operation.
struct Operation {
  std::string from;
  std::string to;
  std::string what;
  std::string how;   ///< "DMA WR", "DMA RD" or "MMIO WR".
  Picoseconds took;  ///< Time since the previous operation.
  friend bool operator==(const Operation&, const Operation&) = default;
};

struct ChainResults {
  std::vector<Operation> operations;   ///< Operations for the first message, without credit writes.
  std::vector<Picoseconds> latencies;  ///< Time that each message takes from NIC to NIC.
  uint64_t credit_writes = 0;          ///< Number of flow-control TLPs.
  uint64_t root_port_bytes = 0;        ///< Bytes in both directions, including framing.
};
ChainResults PlayChain(const ChainParameters& parameters);

/// Two streams from one NIC to two accelerators. The first stream's accelerator is slow.
struct BlockingParameters {
  device::pcie_switch::FlowControl flow_control = device::pcie_switch::FlowControl::kStream;
  bool slow_stream = true;  ///< If false, only the fast stream sends.
  uint32_t message_bytes = 1024;
  Picoseconds interval = 200'000;  ///< Interval between messages of a stream.
  Picoseconds slow_compute = 10'000'000;
  Picoseconds fast_compute = 100'000;
  Picoseconds duration = 1'000'000'000;
  Picoseconds pipeline = 0;
  fabric::Costs costs;
  fabric::LinkParameters link;
};
/// Returns the number of messages that the fast stream's accelerator consumed during the simulated
/// time.
uint64_t PlayBlocking(const BlockingParameters& parameters);

}  // namespace sluice::simulation
