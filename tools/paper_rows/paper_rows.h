// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of the reproduction table, as far as they are ours: values, and the inputs that they
// follow from. What papers say stands elsewhere (scripts/paper/values.json).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inputs.h"
#include "simulation/sched/scheduling.h"

namespace sluice::simulation {

using Names = std::vector<std::string>;
Names operator+(Names a, const Names& b);

/// Inputs of everything that runs whole systems: what an agent thinks is chosen so that Wave with
/// every optimisation needs agent_decision for a decision.
extern const Names kWaveInputs;
extern const Names kSwapInputs;  ///< And of swaps.

struct Row {
  std::string id;
  std::string what;
  double value = 0;
  std::string unit;  ///< ns, us, ms, 1/s, Gb/s, %, or empty for a number.
  /// By name: nothing else changes the value.
  Names inputs;
  /// Of a share that was counted: what the law says, the standard deviation of that, of how many.
  struct Law {
    double expected = 0;
    double deviation = 0;
    uint64_t trials = 0;
  };
  std::optional<Law> law;
};

/// A line of a plot.
struct Point {
  double x = 0;
  double latency_us = 0;      ///< 99th percentile.
  double stale_percent = 0;   ///< Of decisions.
};
struct Series {
  std::string plot;  ///< "load" or "change".
  std::string name;
  std::vector<Point> points;
};

class Experiments {
 public:
  explicit Experiments(const Inputs& inputs) : inputs_(inputs) {}

  /// What single operations and exchanges take.
  std::vector<Row> LinkRows() const;
  /// What frames cost on the link, by interface.
  std::vector<Row> InterfaceRows() const;
  /// What whole systems do.
  std::vector<Row> SwitchRows();
  std::vector<Row> ThroughputRows();
  std::vector<Row> TailRows();
  std::vector<Row> FaultRows();
  std::vector<Row> StalenessRows();
  std::vector<Row> BreakEvenRows();

  std::vector<Series> Plots();

 private:
  /// A CPU, or more, that always has work.
  SchedulingParameters Busy(Mode mode, uint32_t cpus);
  /// One task on one CPU, woken now and then: every decision alone.
  SchedulingParameters Alone(Mode mode);
  /// Runs; ends the program if a rule was broken.
  SchedulingResults Run(const SchedulingParameters& parameters);
  /// What an agent has to think, so that a decision takes agent_decision all told with every
  /// optimisation of Wave.
  Picoseconds AgentCompute();

  Inputs inputs_;
  std::optional<Picoseconds> agent_compute_;
};

}  // namespace sluice::simulation
