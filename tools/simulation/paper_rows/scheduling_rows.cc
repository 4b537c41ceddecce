// SPDX-License-Identifier: BSD-3-Clause
//
// Rows for whole systems: a host, its agent and their requests in virtual time.
#include <cmath>
#include <stdexcept>
#include <string>

#include "paper_rows.h"

namespace sluice::simulation {

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Names kWaveInputs = {"pcie_oneway",        "pcie_generation",  "pcie_lanes",
                           "mmio_read_uncached", "mmio_read_cached", "mmio_write_line",
                           "msix_receive",       "msix_dispatch",    "decision_to_msix_sent",
                           "nic_cached_line",    "context_switch",   "context_switch_before",
                           "agent_decision",     "service",          "agent_bound_cpus",
                           "workers_per_cpu",    "requests",         "seed"};
const Names kSwapInputs = kWaveInputs + Names{"host_cached_line", "nic_write_line"};

namespace {

double Microseconds(double picoseconds) { return picoseconds * 1e-6; }

const Names kUncachedInputs = kWaveInputs + Names{"mmio_write_uncached", "nic_memory"};
const Names kHostInputs =
    kWaveInputs + Names{"host_cached_line", "coherent_line", "host_interrupt", "msix_send"};
const Names kAllInputs = kUncachedInputs + Names{"host_cached_line", "nic_write_line",
                                                 "coherent_line", "host_interrupt", "msix_send"};
const Names kTailInputs =
    kWaveInputs + Names{"get_time", "range_time",    "range_share",     "load",
                        "slice",    "shinjuku_cpus", "shinjuku_workers"};

}  // namespace

SchedulingResults Experiments::Run(const SchedulingParameters& parameters) {
  SchedulingResults results = Simulate(parameters);
  if (!results.violation.empty()) throw std::runtime_error(results.violation);
  if (results.faults != 0) throw std::runtime_error("a channel received an invalid value");
  return results;
}

SchedulingParameters Experiments::Busy(Mode mode, uint32_t cpus) {
  SchedulingParameters parameters;
  parameters.mode = mode;
  parameters.costs = inputs_.costs;
  parameters.link = inputs_.link;
  parameters.cpus = static_cast<uint16_t>(cpus);
  parameters.workers = cpus * inputs_.workers_per_cpu;
  parameters.service.time = inputs_.service;
  parameters.warm_up = 10 + inputs_.requests / 10;
  parameters.requests = inputs_.requests;
  parameters.agent_compute = AgentCompute();
  parameters.seed = inputs_.seed;
  return parameters;
}

SchedulingParameters Experiments::Alone(Mode mode) {
  SchedulingParameters parameters = Busy(mode, 1);
  parameters.workers = 1;
  parameters.requests_per_second = 1e12 / (10.0 * static_cast<double>(inputs_.service));
  return parameters;
}

Picoseconds Experiments::AgentCompute() {
  if (agent_compute_) return *agent_compute_;
  const Picoseconds whole = inputs_.costs.agent_decision;
  agent_compute_ = whole;
  // The cost of the agent's accesses to the window depends on how much work it finds at a time, and
  // thus on its speed. The computing time is therefore found by iteration.
  double nearest = INFINITY;
  Picoseconds best = whole;
  for (int round = 0; round < 8; ++round) {
    SchedulingParameters parameters = Busy(Mode::kPrestaged, inputs_.agent_bound_cpus);
    const SchedulingResults results = Run(parameters);
    const double excess =
        static_cast<double>(results.elapsed) / static_cast<double>(results.latencies.size()) -
        static_cast<double>(whole);
    if (std::abs(excess) < nearest) {
      nearest = std::abs(excess);
      best = parameters.agent_compute;
    }
    const double next = static_cast<double>(parameters.agent_compute) - excess;
    agent_compute_ = static_cast<Picoseconds>(std::max(0.0, next));
  }
  agent_compute_ = best;
  return best;
}

std::vector<Row> Experiments::SwitchRows() {
  const auto overhead = [&](Mode mode) {
    return Microseconds(Run(Busy(mode, 1)).OffTaskPerSwitch());
  };
  const double stages[] = {overhead(Mode::kUncached), overhead(Mode::kNicCached),
                           overhead(Mode::kMapped), overhead(Mode::kPrestaged)};
  int slower = 0;
  for (int i = 1; i < 4; ++i) slower += stages[i] > stages[i - 1];
  return {
      {"W4", "context switch, everything uncached", stages[0], "us", kUncachedInputs, {}},
      {"W4a",
       "context switch, the NIC maps its memory write-back",
       stages[1],
       "us",
       kUncachedInputs,
       {}},
      {"W4b",
       "context switch, the host maps write-combining and write-through",
       stages[2],
       "us",
       kWaveInputs,
       {}},
      {"W5", "context switch, prestaged and prefetched", stages[3], "us", kWaveInputs, {}},
      {"W5a",
       "stages that are slower than the previous one",
       static_cast<double>(slower),
       "",
       {},
       {}},
      {"S1",
       "context switch, one swap per decision",
       Microseconds(Run(Busy(Mode::kSwap, 1)).OffTaskPerSwitch()),
       "us",
       kSwapInputs,
       {}},
      {"S2",
       "context switch, standing offers",
       Microseconds(Run(Busy(Mode::kStanding, 1)).OffTaskPerSwitch()),
       "us",
       kSwapInputs,
       {}},
      {"S3",
       "context switch, agent on the host",
       Microseconds(Run(Busy(Mode::kHost, 1)).OffTaskPerSwitch()),
       "us",
       kHostInputs,
       {}},
  };
}

std::vector<Row> Experiments::ThroughputRows() {
  const auto rate = [&](Mode mode, uint32_t cpus) {
    return Run(Busy(mode, cpus)).RequestsPerSecond();
  };
  const double optimised = rate(Mode::kPrestaged, inputs_.agent_bound_cpus);
  const double uncached = rate(Mode::kUncached, inputs_.agent_bound_cpus);
  // An alternative explanation of the optimised value: the CPUs are the bottleneck, and the agent's
  // only cost is its accesses to the window. A request then occupies a CPU for CPUs / value, and
  // the service time is this time without the switch.
  const auto worker_bound = [&](Mode mode) {
    SchedulingParameters parameters = Busy(mode, inputs_.agent_bound_cpus);
    parameters.agent_compute = 0;
    const double request =
        static_cast<double>(parameters.cpus) * static_cast<double>(inputs_.costs.agent_decision);
    const double own = Run(Busy(Mode::kPrestaged, 1)).OffTaskPerSwitch();
    parameters.service.time = static_cast<Picoseconds>(std::max(1.0, request - own));
    return Run(parameters).RequestsPerSecond();
  };
  const auto gap = [&](PolicyKind policy) {
    const auto run = [&](Mode mode) {
      SchedulingParameters parameters = Busy(mode, inputs_.gap_cpus);
      parameters.policy = policy;
      parameters.slice = inputs_.slice;
      if (policy == PolicyKind::kShinjuku) {
        // Services last for several slices, so the agent has to preempt.
        parameters.service = {ServiceTime::Kind::kExponential, 2 * inputs_.slice};
      }
      return Run(parameters).RequestsPerSecond();
    };
    return 100 * (1 - run(Mode::kPrestaged) / run(Mode::kHost));
  };
  return {
      {"W6a",
       "requests/s, every optimisation, limited by the agent",
       optimised,
       "1/s",
       kWaveInputs,
       {}},
      {"W6b",
       "requests/s, everything uncached, limited by the agent",
       uncached,
       "1/s",
       kUncachedInputs,
       {}},
      {"W6c", "ratio of W6a to W6b", optimised / uncached, "", kUncachedInputs, {}},
      {"W6d",
       "ratio as in W6c if the CPUs limit the optimised rate",
       worker_bound(Mode::kPrestaged) / worker_bound(Mode::kUncached),
       "",
       kUncachedInputs,
       {}},
      {"S4",
       "requests/s, one swap per decision",
       rate(Mode::kSwap, inputs_.agent_bound_cpus),
       "1/s",
       kSwapInputs,
       {}},
      {"S5",
       "requests/s, standing offers",
       rate(Mode::kStanding, inputs_.agent_bound_cpus),
       "1/s",
       kSwapInputs,
       {}},
      {"W7a",
       "throughput loss relative to an agent on the host, FIFO",
       gap(PolicyKind::kFifo),
       "%",
       kHostInputs + Names{"gap_cpus"},
       {}},
      {"W7b",
       "throughput loss relative to an agent on the host, Shinjuku",
       gap(PolicyKind::kShinjuku),
       "%",
       kHostInputs + Names{"gap_cpus", "slice"},
       {}},
  };
}

std::vector<Row> Experiments::TailRows() {
  const auto tail = [&](PolicyKind policy) {
    SchedulingParameters parameters = Busy(Mode::kPrestaged, inputs_.shinjuku_cpus);
    parameters.policy = policy;
    parameters.slice = inputs_.slice;
    parameters.workers = inputs_.shinjuku_workers;
    parameters.service = {ServiceTime::Kind::kBimodal, inputs_.get_time, inputs_.range_time,
                          inputs_.range_share};
    parameters.requests_per_second =
        inputs_.load * parameters.cpus * 1e12 / parameters.service.Mean();
    // More requests are needed, because the tail contains only 1% of them, and few of these are
    // range queries.
    parameters.requests = 16 * uint64_t{inputs_.requests};
    return Run(parameters);
  };
  const SchedulingResults fifo = tail(PolicyKind::kFifo);
  const SchedulingResults shinjuku = tail(PolicyKind::kShinjuku);
  const double before = Microseconds(static_cast<double>(fifo.Percentile(0.99)));
  const double after = Microseconds(static_cast<double>(shinjuku.Percentile(0.99)));
  return {
      {"W14a", "99th percentile, FIFO, requests like RocksDB's", before, "us", kTailInputs, {}},
      {"W14b", "99th percentile, Shinjuku, requests like RocksDB's", after, "us", kTailInputs, {}},
      {"W14c", "tail reduction by preemption", 100 * (1 - after / before), "%", kTailInputs, {}},
      {"W14d", "ratio of 99th percentiles, FIFO to Shinjuku", before / after, "", kTailInputs, {}},
  };
}

std::vector<Row> Experiments::FaultRows() {
  // An agent hangs under load; other parts must not be disturbed.
  SchedulingParameters hung = Busy(Mode::kPrestaged, 4);
  hung.requests_per_second =
      2e12 / static_cast<double>(inputs_.service + hung.costs.context_switch);
  hung.watchdog = inputs_.watchdog;
  hung.agent_hangs_at = inputs_.watchdog / 4;
  hung.tick = inputs_.watchdog_tick;
  // Enough requests for 2.5 times the watchdog's time.
  const double seconds = 2.5e-12 * static_cast<double>(inputs_.watchdog);
  hung.requests = static_cast<uint64_t>(hung.requests_per_second * seconds);
  const SchedulingResults found = Run(hung);
  const double detection = static_cast<double>(found.watchdog_at - hung.agent_hangs_at) * 1e-9;

  uint64_t decisions = 0;
  uint64_t stale = 0;
  int broken = 0;
  for (const ModeTraits& traits : kModes) {
    for (const Change change : {Change::kAffinity, Change::kExit}) {
      SchedulingParameters parameters = Busy(traits.id, 4);
      parameters.requests_per_second =
          1e12 / static_cast<double>(inputs_.service + parameters.costs.context_switch);
      parameters.changes_per_second = inputs_.change_rate;
      parameters.change = change;
      const SchedulingResults results = Simulate(parameters);
      broken += !results.violation.empty() || results.faults != 0;
      decisions += results.Decisions();
      stale += results.staleness.stale;
    }
  }
  return {
      {"W8",
       "time until a hung agent is detected",
       detection,
       "ms",
       kWaveInputs + Names{"watchdog", "watchdog_tick"},
       {}},
      {"W8a",
       "requests lost because the agent hangs",
       static_cast<double>(hung.requests + hung.warm_up - found.completed),
       "",
       {},
       {}},
      {"W9",
       "runs with a corrupt kernel or a lost request while tasks exit or change",
       static_cast<double>(broken),
       "",
       {},
       {}},
      {"W9a",
       "decisions enforced or rejected in the runs of W9",
       static_cast<double>(decisions),
       "",
       kAllInputs + Names{"change_rate"},
       {}},
      {"W9b",
       "stale decisions, rejected, in the runs of W9",
       static_cast<double>(stale),
       "",
       kAllInputs + Names{"change_rate"},
       {}},
  };
}

}  // namespace sluice::simulation
