// SPDX-License-Identifier: BSD-3-Clause
//
// Services that share the cores of a host, in virtual time: who waits for whom, by how calls reach
// a process. The coherent NIC's decisions are those of the RPC dispatcher (device/rpc) itself; the
// other two are what a host does without such a NIC. Calls come at random times, most of them to
// a few services at a time, and which ones those are changes.
//
// Source of the question: Lauberhorn (Xu and Roscoe, "The NIC should be part of the OS", HOTOS'25),
// section 2: dynamic mixes of more services than cores.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/picoseconds.h"

namespace sluice::simulation {

/// How calls reach a process.
enum class ServingHost : uint8_t {
  kCoherent,  ///< A line that a core waits for; the NIC knows who waits where, and decides.
  kPolling,   ///< Queues of its own, which it polls; cores are shared in slices of time.
  kKernel,    ///< Interrupts, sockets and the kernel's scheduler.
  /// Queues of its own; a dedicated core polls them all and gives the others to processes that have
  /// calls, as Shenango and Caladan do.
  kReallocating,
};
inline constexpr ServingHost kServingHosts[] = {ServingHost::kCoherent, ServingHost::kPolling,
                                                ServingHost::kKernel, ServingHost::kReallocating};
/// As tables name it.
std::string_view NameOf(ServingHost host);

/// Times of single steps.
struct ServingCosts {
  fabric::Picoseconds interconnect_rtt = 0;  ///< Of a coherent line: there and back.
  fabric::Picoseconds pcie_oneway = 0;
  fabric::Picoseconds interrupt = 0;  ///< From the NIC's decision to the kernel's handler.
  fabric::Picoseconds host_line = 0;  ///< A look at a line that a NIC has written.
  fabric::Picoseconds store = 0;      ///< Of a register of the NIC.
  fabric::Picoseconds decode = 0;     ///< Of a call and its reply, wherever it is done.
  fabric::Picoseconds jump = 0;       ///< From arguments in a core to its look for the next call.
  fabric::Picoseconds switch_process = 0;
  fabric::Picoseconds kernel_call = 0;  ///< The kernel's part of a call and its reply.
  fabric::Picoseconds reallocate = 0;   ///< From the decision until a process runs on its core.
  fabric::Picoseconds slice = 0;        ///< Of a core, before another process has it.
};

struct ServingParameters {
  ServingHost host = ServingHost::kCoherent;
  ServingCosts costs;
  uint32_t cores = 8;      ///< 1 … 32.
  uint32_t services = 16;  ///< 1 … 64; each has one thread.
  /// kCoherent: pairs of lines that a core loads in turn, with a load of each under way. More than
  /// 1, up to 32: of one core that has one service.
  uint32_t pairs = 1;
  fabric::Picoseconds handler = 0;  ///< Mean of what a handler takes; exponential. 0: nothing.
  /// Of the cores, by handlers alone; where these take nothing, of what a pair of lines carries: a
  /// call for every two interconnect_rtt.
  double load = 0.3;
  fabric::Picoseconds hot_for = 0;  ///< After this the services that are called most change.
  uint32_t calls = 20'000;          ///< ≥ 2. The first half warms up and is not measured.
  uint32_t queue = 256;             ///< Calls that wait for a service; more are dropped.
  uint64_t seed = 1;
};

struct ServingResults {
  /// Of every measured call that was answered, ascending: from its last bit to the reply's first.
  std::vector<fabric::Picoseconds> latencies;
  uint64_t dropped = 0;
  double calls_per_second = 0;  ///< Answered while calls came.
  /// Looks that found nothing, of all cores, for each call that was answered.
  double idle_looks = 0;

  /// The latency that a share of the calls does not exceed; 0: none was answered.
  fabric::Picoseconds Percentile(double share) const;
};

/// The same parameters, the same results.
ServingResults PlayServing(const ServingParameters& parameters);

}  // namespace sluice::simulation
