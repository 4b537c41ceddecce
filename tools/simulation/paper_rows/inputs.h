// SPDX-License-Identifier: BSD-3-Clause
//
// Named inputs of the reproduction table: the model's costs, and the sizes of the experiments. All
// of them can be set on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fabric/costs.h"
#include "fabric/link.h"
#include "simulation/echo/sizes.h"

namespace sluice::simulation {

using fabric::Picoseconds;

/// Minimum of echo_frames. With fewer frames, none would be left to measure after the warm-up.
inline constexpr uint32_t kLeastEchoFrames = 30;
/// Minimum of rpc_calls. With fewer calls, none would be left to measure after the warm-up.
inline constexpr uint32_t kLeastRpcCalls = 100;
/// Maximum number of cores, because the dispatcher supports at most eight services per core.
inline constexpr uint32_t kMostRpcCores = 8;

/// Maximum message size in bytes, so that a message and its header fit into one TLP.
inline constexpr uint32_t kMostChainMessage = 192;

struct Inputs {
  fabric::Costs costs;
  fabric::LinkParameters link;
  /// Link of the FPGA NIC with pipes, and of the packetized NIC in the same measurement.
  fabric::LinkParameters fpga_link{.generation = 3};
  PacketRings rings;
  uint32_t nic_buffers = 1024;  ///< Frames in a NIC that can wait for its link.
  uint32_t frames_per_notification = 256;
  /// A worker's time per packet, including descriptors and buffer.
  Picoseconds packet_time = 14'700;
  Picoseconds line_time = 5'000;       ///< A worker's time per frame of a pipe or per notification.
  Picoseconds mica_request = 157'700;  ///< A worker's time per MICA request.
  uint32_t pipes_per_worker = 2;
  uint32_t echo_frames = 120'000;  ///< Frames offered in each run.
  Picoseconds offerer_validates =
      200'000;  ///< Computing time of the initiator of a four-message swap before it commits.

  // A chain of accelerators on a programmable switch:
  uint32_t switch_stages = 10;
  uint32_t switch_cycles = 10;  ///< Cycles per stage.
  uint32_t switch_megahertz = 3000;
  uint32_t chain_message = 64;          ///< Data bytes, in one TLP with their header.
  Picoseconds slow_stage = 10'000'000;  ///< Time per message of the slower of two streams.

  // Requests of one kind, on CPUs that always have work:
  Picoseconds service = 10'000'000;
  /// Number of CPUs that the agent can serve without becoming the bottleneck.
  uint32_t gap_cpus = 8;
  uint32_t agent_bound_cpus = 16;  ///< Number of CPUs at which the agent is the bottleneck.
  uint32_t workers_per_cpu = 4;

  // RocksDB-like requests for Shinjuku:
  Picoseconds get_time = 10'000'000;
  Picoseconds range_time = 10'000'000'000;
  double range_share = 0.005;
  double load = 0.7;
  Picoseconds slice = 30'000'000;
  uint32_t shinjuku_cpus = 8;
  uint32_t shinjuku_workers = 200;

  // Calls delivered in cache lines, and the methods that they are compared with:
  Picoseconds try_again = 15'000'000'000;   ///< Time after which the NIC answers TRYAGAIN.
  Picoseconds interconnect_rtt = 808'000;   ///< Round trip of a cache line whose home is the NIC.
  Picoseconds pcie_rtt = 1'292'000;         ///< Round trip over PCIe on the same machine.
  Picoseconds lines_in_first = 1'220'000;   ///< A core's fixed time to read a message in lines.
  Picoseconds lines_in_each = 468'000;      ///< A core's time per 128-byte line to read a message.
  Picoseconds lines_out_first = 1'930'000;  ///< A core's fixed time to write a message in lines.
  Picoseconds lines_out_each = 67'000;
  Picoseconds stores_out_first = 310'000;  ///< Stores across PCIe: fixed time.
  Picoseconds stores_out_each = 64'000;    ///< Stores across PCIe: time per 64 bytes.
  Picoseconds loads_in_each = 2'960'000;   ///< Loads across PCIe: time per 64 bytes.
  /// Fixed time to receive a message by DMA. The link's time for the message's bytes is added.
  Picoseconds dma_in_first = 16'400'000;
  Picoseconds rpc_decode = 100'000;  ///< Decoding of a small call and its reply.
  Picoseconds rpc_jump = 20'000;     ///< A core's time to call the function: 60 instructions.
  Picoseconds switch_process = 1'200'000;
  Picoseconds kernel_call = 4'000'000;  ///< A call and its reply through a socket.
  Picoseconds reallocate = 5'000'000;   ///< Time for a dedicated core to reallocate a core.
  Picoseconds poll_slice = 3'000'000'000;
  Picoseconds handler = 5'000'000;
  Picoseconds hot_for = 1'000'000'000;  ///< Interval after which the popular services change.
  uint32_t rpc_cores = 8;
  double rpc_load = 0.3;        ///< Load on the cores from handlers alone.
  uint32_t rpc_calls = 40'000;  ///< Calls offered in each run.

  double change_rate =
      10'000;  ///< Lowest of three rates, per task per second; each is ten times the previous one.
  double freeze_change_rate = 20'000;
  /// Time per decision of an agent on a next-generation NIC: half of agent_decision.
  Picoseconds fast_decision = 558'000;
  Picoseconds watchdog = 20'000'000'000;
  Picoseconds watchdog_tick = 1'000'000'000;
  /// Time without progress after which sluice's link suspects its peer.
  Picoseconds link_window = 10'000'000'000;
  uint32_t silent_rounds = 5;  ///< Rounds after which EC_Link treats its peer's ring as lost.
  uint32_t requests = 2000;    ///< Requests measured in each run.
  uint64_t seed = 1;
};

/// An input with its name.
struct NamedInput {
  std::string_view name;
  std::string_view group;  ///< One word that names the kind of cost or size.
  std::variant<Picoseconds*, uint32_t*, double*> value;
  std::string_view origin;
  /// Row of the table whose value in the paper determined this input; empty: none.
  std::string_view chosen_from;
  /// Values for which verdicts are tested: "low to high", or a list of values. Empty if the value
  /// comes from a source, or is a sample size.
  std::string_view sweep = "";
};

/// Returns all inputs. They refer to `inputs`, which must outlive the list.
std::vector<NamedInput> NamesOf(Inputs& inputs);

/// Formats durations as 379ns, 1.5us or 20ms, and numbers without a unit.
std::string Print(const NamedInput& input);
/// Returns false if `text` is not a valid value.
bool Parse(std::string_view text, NamedInput& input);

/// Returns the reason why the experiments cannot run with these inputs, and the fix, or an empty
/// string if they can.
std::string ProblemOf(const Inputs& inputs);

}  // namespace sluice::simulation
