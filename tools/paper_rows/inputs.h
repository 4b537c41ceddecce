// SPDX-License-Identifier: BSD-3-Clause
//
// What the values of the reproduction table are computed from, each by its name: costs of the
// model, and the experiments' own sizes. Everything can be set on the command line.
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

/// Fewer would leave no frame to be measured behind those that warm up.
inline constexpr uint32_t kLeastEchoFrames = 30;
/// The same of calls.
inline constexpr uint32_t kLeastRpcCalls = 100;
/// Eight times as many services as cores is what the dispatcher has room for.
inline constexpr uint32_t kMostRpcCores = 8;

/// More would not fit into one TLP behind a message's header.
inline constexpr uint32_t kMostChainMessage = 192;

struct Inputs {
  fabric::Costs costs;
  fabric::LinkParameters link;
  /// Of the FPGA with pipes, and of the packetized NIC that was measured beside it.
  fabric::LinkParameters fpga_link{.generation = 3};
  PacketRings rings;
  uint32_t nic_buffers = 1024;  ///< Frames that wait in a NIC for its link.
  uint32_t frames_per_notification = 256;
  Picoseconds packet_time = 14'700;    ///< Of a worker, for a packet, its descriptors, its buffer.
  Picoseconds line_time = 5'000;       ///< Of a worker, for a frame of a pipe, or a notification.
  Picoseconds mica_request = 157'700;  ///< Of a worker, for a request to MICA.
  uint32_t pipes_per_worker = 2;
  uint32_t echo_frames = 120'000;           ///< Offered in each run.
  Picoseconds offerer_validates = 200'000;  ///< Of the initiator of a swap of four messages.

  // A chain of accelerators behind a programmable switch.
  uint32_t switch_stages = 10;
  uint32_t switch_cycles = 10;  ///< Of each stage.
  uint32_t switch_megahertz = 3000;
  uint32_t chain_message = 64;  ///< Bytes of data, in one TLP with what is in front of them.
  Picoseconds slow_stage = 10'000'000;  ///< Of a message, beside a stream that is fast.

  // Requests of one kind, on CPUs that always have work.
  Picoseconds service = 10'000'000;
  uint32_t gap_cpus = 8;           ///< So few that the agent keeps up.
  uint32_t agent_bound_cpus = 16;  ///< So many that it does not.
  uint32_t workers_per_cpu = 4;

  // RocksDB-like requests for Shinjuku.
  Picoseconds get_time = 10'000'000;
  Picoseconds range_time = 10'000'000'000;
  double range_share = 0.005;
  double load = 0.7;
  Picoseconds slice = 30'000'000;
  uint32_t shinjuku_cpus = 8;
  uint32_t shinjuku_workers = 200;

  // Calls handed over in cache lines, and what they are compared with.
  Picoseconds try_again = 15'000'000'000;   ///< A load that is not answered ends after this.
  Picoseconds interconnect_rtt = 808'000;   ///< Of a line that a NIC holds.
  Picoseconds pcie_rtt = 1'292'000;         ///< On the same machine.
  Picoseconds lines_in_first = 1'220'000;   ///< Of a core that reads a message in lines: once,
  Picoseconds lines_in_each = 468'000;      ///< and for each line of 128 bytes.
  Picoseconds lines_out_first = 1'930'000;  ///< Of a core that writes one.
  Picoseconds lines_out_each = 67'000;
  Picoseconds stores_out_first = 310'000;  ///< By stores across PCIe: once,
  Picoseconds stores_out_each = 64'000;    ///< and for each 64 bytes.
  Picoseconds loads_in_each = 2'960'000;   ///< By loads across PCIe: for each 64 bytes.
  Picoseconds dma_in_first = 16'400'000;   ///< Of a message by DMA; its bytes take the link's time.
  Picoseconds rpc_decode = 100'000;        ///< Of a small call and its reply.
  Picoseconds rpc_jump = 20'000;           ///< Of a core: 60 instructions.
  Picoseconds switch_process = 1'200'000;
  Picoseconds kernel_call = 4'000'000;  ///< Of a call and its reply by a socket.
  Picoseconds reallocate = 5'000'000;   ///< Of a core, by a dedicated one.
  Picoseconds poll_slice = 3'000'000'000;
  Picoseconds handler = 5'000'000;
  Picoseconds hot_for = 1'000'000'000;  ///< After which other services are called most.
  uint32_t rpc_cores = 8;
  double rpc_load = 0.3;        ///< Of the cores, by handlers alone.
  uint32_t rpc_calls = 40'000;  ///< Offered in each run.

  double change_rate = 10'000;  ///< Lowest of three, ten times apart; per task and second.
  double freeze_change_rate = 20'000;
  Picoseconds watchdog = 20'000'000'000;
  Picoseconds watchdog_tick = 1'000'000'000;
  Picoseconds link_window = 10'000'000'000;  ///< Without progress, until our link is suspect.
  uint32_t silent_rounds = 5;  ///< After which EC_Link takes its peer's ring for lost.
  uint32_t requests = 2000;    ///< Measured in each run.
  uint64_t seed = 1;
};

/// An input by its name.
struct NamedInput {
  std::string_view name;
  std::string_view group;  ///< What it is a cost or a size of, in a word.
  std::variant<Picoseconds*, uint32_t*, double*> value;
  std::string_view origin;
  /// The row whose paper's value it was chosen from; empty: none.
  std::string_view chosen_from;
  /// Where verdicts are tested: "low to high", or a list of values. Empty if a source fixes the
  /// value, or if it is a size of the sample.
  std::string_view sweep = "";
};

/// All of `inputs`, which outlives the list.
std::vector<NamedInput> NamesOf(Inputs& inputs);

/// Durations as 379ns, 1.5us, 20ms; numbers as they are.
std::string Print(const NamedInput& input);
/// False: no such value.
bool Parse(std::string_view text, NamedInput& input);

/// What keeps the experiments from being run with these inputs, and the fix; empty: nothing.
std::string ProblemOf(const Inputs& inputs);

}  // namespace sluice::simulation
