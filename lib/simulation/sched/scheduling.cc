// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/sched/scheduling.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/sched/policies/fifo_central.h"
#include "engine/sched/policies/shinjuku.h"
#include "offload/layout.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"
#include "simulation/percentile.h"
#include "simulation/sched/machine.h"

namespace sluice::simulation {
namespace {

/// Returns a queue depth that holds concurrent messages from all workers.
uint32_t QueueDepth(const SchedulingParameters& parameters) { return 64 + 4 * parameters.workers; }

struct WaveChannels {
  using HostEnd = offload::WaveHost<HostWindow>;
  using NicEnd = offload::WaveNic<NicWindow>;
  using Layout = offload::WaveLayout;
  static Layout LayoutOf(const SchedulingParameters& parameters) {
    return {.first = 0, .slots = parameters.cpus, .queue_depth = QueueDepth(parameters)};
  }
};

struct SwapChannels {
  using HostEnd = offload::SwapHost<HostWindow>;
  using NicEnd = offload::SwapNic<NicWindow>;
  using Layout = offload::SwapLayout;
  /// Standing offers cannot answer asks, so layouts for prestaged decisions have no ask links.
  static Layout LayoutOf(const SchedulingParameters& parameters) {
    return {.first = 0,
            .slots = parameters.cpus,
            .queue_depth = QueueDepth(parameters),
            .asks = !TraitsOf(parameters.mode).prestages};
  }
};

template <typename Channels>
SchedulingResults SimulateOver(const SchedulingParameters& parameters) {
  using namespace engine::sched;  // NOLINT
  if (parameters.policy == PolicyKind::kShinjuku)
    return Machine<Channels, Shinjuku>(parameters, Shinjuku(parameters.slice / 1000)).Run();
  return Machine<Channels, FifoCentral>(parameters, FifoCentral()).Run();
}

}  // namespace

SchedulingResults Simulate(const SchedulingParameters& parameters) {
  return TraitsOf(parameters.mode).swaps ? SimulateOver<SwapChannels>(parameters)
                                         : SimulateOver<WaveChannels>(parameters);
}

double SchedulingResults::RequestsPerSecond() const {
  if (elapsed == 0) return 0;
  return static_cast<double>(latencies.size()) / (static_cast<double>(elapsed) * 1e-12);
}

Picoseconds SchedulingResults::Percentile(double share) const {
  return PercentileOf(latencies, share);
}

double SchedulingResults::MeanLatency() const {
  if (latencies.empty()) return 0;
  return std::accumulate(latencies.begin(), latencies.end(), 0.0) /
         static_cast<double>(latencies.size());
}

double SchedulingResults::OffTaskPerSwitch() const {
  return switches == 0 ? 0 : static_cast<double>(off_task) / static_cast<double>(switches);
}

uint64_t SchedulingResults::Decisions() const {
  return std::accumulate(host.statuses.begin(), host.statuses.end(), uint64_t{0});
}

}  // namespace sluice::simulation
