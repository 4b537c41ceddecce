// SPDX-License-Identifier: BSD-3-Clause
//
// Output of a run: the statistics line, the final totals and the JSON report (docs/command-line.md,
// "The JSON report").
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/interface.h"
#include "nic/queue_counters.h"
#include "runtime/hooks.h"
#include "runtime/link_watch.h"
#include "runtime/nic_drops.h"
#include "runtime/port_stats.h"

namespace sluice::runtime {

/// Counters of all workers and the port at one moment.
struct Sample {
  double seconds = 0;  ///< Seconds since the workers began.
  nic::QueueCounters counters;
  NicDrops nic;  ///< Drops since the port was opened.
  uint64_t busy_cycles = 0;
  uint64_t total_cycles = 0;
};

/// All inputs to the report.
struct RunFigures {
  std::string app;
  std::string iface;
  std::string traffic;
  std::string frame_size;  ///< Value of the flag; empty if the traffic determines the size.
  std::string memory;
  std::vector<std::string> map;               ///< One line per worker.
  std::span<const std::string_view> reasons;  ///< Names of the engine's drop reasons.
  Sample measured;  ///< Sampled when the traffic was stopped. Rates are computed from it.
  Sample final;     ///< Sampled after the drain. Totals are computed from it.
  PortStats port_begin;
  PortStats port_measured;
  PortStats port_final;
  nic::InterfaceFigures figures;  ///< Counters of the interface.
  /// The application's findings; if absent, the wire's findings apply.
  std::optional<Findings> findings;
  uint64_t ctx_switches = 0;
  bool link_up = true;               ///< Link state when the traffic was stopped.
  std::vector<LinkDown> link_downs;  ///< At most the first LinkWatch::kMostKept periods.
  uint64_t link_down_count = 0;
  double link_down_s = 0;  ///< Total of all periods, in seconds.
  bool drained = false;    ///< Whether the source was stopped and the drain has ended (drain.h).
};

/// Returns every named drop counter of the conservation law (nic::QueueCounters), starting with the
/// engine's. Counters that only other interfaces use are included, so that every run reports the
/// same names.
std::vector<std::pair<std::string, uint64_t>> DropsOf(const nic::QueueCounters& counters,
                                                      std::span<const std::string_view> reasons);

/// Returns the layer-1 rate in Gb/s. Each frame counts with its own bytes, 4 bytes of FCS, and 20
/// bytes of preamble and gap.
double Gbps(uint64_t bytes, uint64_t pkts, double seconds);

/// Returns the number of frames that reached the host but were neither returned, nor consumed, nor
/// counted as dropped in the host. Returns 0 if the port has no source that counts. Each flit
/// counted in rx_desync accounts for at most one frame.
uint64_t Lost(const RunFigures& run);

/// Returns one line about the first of these faults, or an empty string if there is none: the
/// conservation law is violated, the link is down at the end, a drained run lost frames, or the NIC
/// dropped frames and no frame from the source reached a worker.
std::string Verdict(const RunFigures& run);

/// Returns the statistics line for the time between two samples.
std::string StatsLine(const Sample& before, const Sample& after);
/// Returns a few lines for the end of the run. If `color` is set, losses are printed in red.
std::string Totals(const RunFigures& run, bool color = false);
/// Returns the JSON report, with the current values of all flags under "config". `extend` adds
/// members unless it is null.
std::string JsonReport(const RunFigures& run,
                       const std::function<void(nlohmann::ordered_json&)>& extend = nullptr);

}  // namespace sluice::runtime
