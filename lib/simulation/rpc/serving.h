// SPDX-License-Identifier: BSD-3-Clause
//
// Simulates services that share a host's cores, in virtual time, and measures how long calls wait,
// depending on how they reach a process. For the coherent NIC, the real RPC dispatcher (device/rpc)
// makes the decisions; the other hosts have no coherent NIC. Calls arrive at random times. Most of
// them go to a few services, and this set of services changes.
//
// Motivated by Lauberhorn (Xu and Roscoe, "The NIC should be part of the OS", HOTOS'25), section 2:
// dynamic mixes of more services than cores.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/picoseconds.h"

namespace sluice::simulation {

/// How calls reach a process.
enum class ServingHost : uint8_t {
  kCoherent,  ///< Cores wait for cache lines; the NIC knows where each core waits, and schedules.
  kPolling,   ///< Each process polls dedicated queues; processes share cores in time slices.
  kKernel,    ///< Interrupts, sockets and the kernel's scheduler deliver calls.
  /// Each process has dedicated queues. A dedicated core polls all of them and assigns the other
  /// cores to processes that have calls, as Shenango and Caladan do.
  kReallocating,
};
inline constexpr ServingHost kServingHosts[] = {ServingHost::kCoherent, ServingHost::kPolling,
                                                ServingHost::kKernel, ServingHost::kReallocating};
/// Returns the name for tables.
std::string_view NameOf(ServingHost host);

/// Durations of individual steps.
struct ServingCosts {
  fabric::Picoseconds interconnect_rtt = 0;  ///< Round-trip time of a coherent line.
  fabric::Picoseconds pcie_oneway = 0;
  fabric::Picoseconds interrupt = 0;  ///< Delay from the NIC's decision to the kernel's handler.
  fabric::Picoseconds host_line = 0;  ///< Time to read a line that a NIC has written.
  fabric::Picoseconds store = 0;      ///< Time to store to a NIC register.
  fabric::Picoseconds decode = 0;     ///< Time to decode call and reply, in software or hardware.
  /// Time from the arrival of the arguments in a core until the core polls for the next call,
  /// without the handler.
  fabric::Picoseconds jump = 0;
  fabric::Picoseconds switch_process = 0;
  fabric::Picoseconds kernel_call = 0;  ///< The kernel's work per call and reply.
  /// Delay from the decision until a process runs on its core.
  fabric::Picoseconds reallocate = 0;
  fabric::Picoseconds slice = 0;  ///< Time that a process runs before another gets its core.
};

struct ServingParameters {
  ServingHost host = ServingHost::kCoherent;
  ServingCosts costs;
  uint32_t cores = 8;      ///< 1 to 32.
  uint32_t services = 16;  ///< 1 to 64; each has one thread.
  /// kCoherent: pairs of lines per core, with one outstanding load per pair. 1 to 32. More than one
  /// requires one core and one service.
  uint32_t pairs = 1;
  fabric::Picoseconds handler = 0;  ///< Mean handler time (exponential distribution); 0 for none.
  /// Fraction of the cores' time that handlers need. If `handler` is 0: fraction of the maximum
  /// rate of one pair of lines, which is one call per two interconnect_rtt.
  double load = 0.3;
  fabric::Picoseconds hot_for = 0;  ///< How long a set of services stays popular.
  uint32_t calls = 20'000;  ///< At least 2. The first half is a warm-up and is not measured.
  uint32_t queue = 256;     ///< Maximum number of waiting calls per service; more are dropped.
  uint64_t seed = 1;
};

struct ServingResults {
  /// Latencies of all measured calls that were answered, from the call's last bit to the reply's
  /// first bit; ascending.
  std::vector<fabric::Picoseconds> latencies;
  uint64_t dropped = 0;
  double calls_per_second = 0;  ///< Calls answered per second while calls arrived.
  /// Number of polls by all cores that found nothing, per answered call.
  double idle_looks = 0;

  /// Returns the percentile `share` of the latencies (0.99 is the 99th), or 0 if no call was
  /// answered.
  fabric::Picoseconds Percentile(double share) const;
};

/// Equal parameters give equal results.
ServingResults PlayServing(const ServingParameters& parameters);

}  // namespace sluice::simulation
