// SPDX-License-Identifier: BSD-3-Clause
//
// What a run has to say: the statistics line, the final totals and the JSON
// report (docs/command-line.md, "The JSON report"). Pure: takes figures, gives text.
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

/// Figures of all workers and of the port at one moment.
struct Sample {
  double seconds = 0;  ///< Since the workers began.
  nic::QueueCounters counters;
  NicDrops nic;  ///< Since the port was opened.
  uint64_t busy_cycles = 0;
  uint64_t total_cycles = 0;
};

/// Everything that the report is made of.
struct RunFigures {
  std::string app;
  std::string iface;
  std::string traffic;
  std::string frame_size;  ///< As the flag says it; empty: the traffic decides.
  std::string memory;
  std::vector<std::string> map;               ///< One line per worker.
  std::span<const std::string_view> reasons;  ///< Names of the engine's drops.
  Sample measured;  ///< When the traffic was stopped: rates are made of it.
  Sample final;     ///< After the drain: totals are.
  PortStats port_begin;
  PortStats port_measured;
  PortStats port_final;
  nic::InterfaceFigures figures;     ///< The interface's own.
  std::optional<Findings> findings;  ///< Of the application; else the wire's count.
  uint64_t ctx_switches = 0;
  bool link_up = true;               ///< When the traffic was stopped.
  std::vector<LinkDown> link_downs;  ///< The first LinkWatch::kMostKept.
  uint64_t link_down_count = 0;
  double link_down_s = 0;  ///< Of all.
  bool drained = false;    ///< The source was stopped and what it had sent came through.
};

/// Every named drop of the law (nic::QueueCounters), the engine's first. Those of other
/// interfaces stay in: a reader finds the same names in every run.
std::vector<std::pair<std::string, uint64_t>> DropsOf(const nic::QueueCounters& counters,
                                                      std::span<const std::string_view> reasons);

/// Layer-1 rate: every frame costs its bytes, 4 of FCS and 20 of preamble and gap.
double Gbps(uint64_t bytes, uint64_t pkts, double seconds);

/// Frames that reached the host, did not come back and are under no named drop, the NIC's
/// included. 0 where the port has no source that knows. A flit under rx_desync excuses at most
/// one frame.
uint64_t Lost(const RunFigures& run);

/// Empty if the run kept the conservation law, its link and its frames; else one
/// line with the numbers.
std::string Verdict(const RunFigures& run);

/// One line for the time between two samples.
std::string StatsLine(const Sample& before, const Sample& after);
/// A few lines for the end of the run. In `color`, for a terminal, what was lost is red.
std::string Totals(const RunFigures& run, bool color = false);
/// The JSON object, with the current values of all flags under "config". `extend`, if there,
/// adds members.
std::string JsonReport(const RunFigures& run,
                       const std::function<void(nlohmann::ordered_json&)>& extend = nullptr);

}  // namespace sluice::runtime
