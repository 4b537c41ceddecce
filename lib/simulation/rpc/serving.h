// SPDX-License-Identifier: BSD-3-Clause
//
// Services that share the cores of a host, in virtual time: how long calls wait, depending on how
// they reach a process. The coherent NIC's decisions are made by the RPC dispatcher (device/rpc)
// itself; the other hosts work without a coherent NIC. Calls come at random times, most of them to
// a few services, and this set of services changes.
//
// Motivated by Lauberhorn (Xu and Roscoe, "The NIC should be part of the OS", HOTOS'25), section 2:
// dynamic mixes of more services than cores.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/picoseconds.h"

namespace sluice::simulation {

/// Method by which calls reach a process.
enum class ServingHost : uint8_t {
  kCoherent,  ///< Cores wait for cache lines; the NIC knows where each waits, and schedules.
  kPolling,   ///< Each process polls dedicated queues; processes share cores in time slices.
  kKernel,    ///< Interrupts, sockets and the kernel's scheduler.
  /// Each process has dedicated queues. A dedicated core polls all of them and assigns the other
  /// cores to processes that have calls, as Shenango and Caladan do.
  kReallocating,
};
inline constexpr ServingHost kServingHosts[] = {ServingHost::kCoherent, ServingHost::kPolling,
                                                ServingHost::kKernel, ServingHost::kReallocating};
/// Returns the name for tables.
std::string_view NameOf(ServingHost host);

/// Durations of single steps.
struct ServingCosts {
  fabric::Picoseconds interconnect_rtt = 0;  ///< Round trip of a coherent line.
  fabric::Picoseconds pcie_oneway = 0;
  fabric::Picoseconds interrupt = 0;  ///< Delay from the NIC's decision to the kernel's handler.
  fabric::Picoseconds host_line = 0;  ///< Read of a line that a NIC has written.
  fabric::Picoseconds store = 0;      ///< Store to a NIC register.
  fabric::Picoseconds decode = 0;  ///< Decoding of a call and its reply, in software or hardware.
  /// Time from the arrival of the arguments in a core to the poll for the next call, without the
  /// handler.
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
  /// kCoherent: pairs of lines per core, with one load of each pair outstanding. 1 to 32; more than
  /// 1 requires one core and one service.
  uint32_t pairs = 1;
  fabric::Picoseconds handler = 0;  ///< Mean time of a handler (exponential); 0: none.
  /// Fraction of the cores' time that handlers need. If `handler` is 0: fraction of the maximum
  /// rate of a pair of lines, which is one call per two interconnect_rtt.
  double load = 0.3;
  fabric::Picoseconds hot_for = 0;  ///< Interval after which the popular services change.
  uint32_t calls = 20'000;  ///< Minimum 2. The first half is the warm-up and is not measured.
  uint32_t queue = 256;     ///< Calls that can wait per service; more are dropped.
  uint64_t seed = 1;
};

struct ServingResults {
  /// Latencies of all measured answered calls, ascending: from the call's last bit to the reply's
  /// first bit.
  std::vector<fabric::Picoseconds> latencies;
  uint64_t dropped = 0;
  double calls_per_second = 0;  ///< Rate of answers while calls arrived.
  /// Polls of all cores that found nothing, per answered call.
  double idle_looks = 0;

  /// Returns the percentile `share` (0.99: the 99th) of the latencies; 0 if no call was answered.
  fabric::Picoseconds Percentile(double share) const;
};

/// Equal parameters give equal results.
ServingResults PlayServing(const ServingParameters& parameters);

}  // namespace sluice::simulation
