// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of the reproduction table that this project computes: values, and the inputs on which
// they depend. The papers' values are in scripts/paper/values.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs.h"
#include "simulation/echo/echo.h"
#include "simulation/rpc/serving.h"
#include "simulation/sched/scheduling.h"

namespace sluice::simulation {

using Names = std::vector<std::string>;
Names operator+(Names a, const Names& b);

/// Inputs of all whole-system runs. The agent's computing time is chosen so that Wave, with all
/// optimisations, needs agent_decision per decision.
extern const Names kWaveInputs;
extern const Names kSwapInputs;  ///< kWaveInputs and the inputs of swaps.

struct Row {
  std::string id;
  std::string what;
  double value = 0;
  std::string unit;  ///< ns, us, ms, 1/s, Gb/s, %, or empty for a number.
  /// Names of all inputs that change the value.
  Names inputs;
  /// For a fraction that is counted: the theoretical value, its standard deviation, and the number
  /// of trials.
  struct Law {
    double expected = 0;
    double deviation = 0;
    uint64_t trials = 0;
  };
  std::optional<Law> law;
  bool capped = false;  ///< The wire limits the value; the model could reach a higher one.
};

/// A point of a plot's line.
struct Point {
  double x = 0;
  /// One value per panel of the plot.
  std::vector<double> y;
};
struct Series {
  std::string plot;  ///< One of kPlots.
  std::string name;
  std::vector<Point> points;
};

/// All plots: quantity of the x axis, then the panels:
///   load load of the CPUs: 99th percentile of latency in us; stale decisions in % change changes
///   per task per second: the same panels rtt Gb/s of 64-byte frames, up to the rate that one
///   worker sustains: median in us; 99th
///            percentile in us
///   workers  number of workers: Mpps if the full wire rate is offered; a worker's ns per frame if
///            each worker is offered 1/16 of the wire rate
inline constexpr std::string_view kPlots[] = {"load", "change", "rtt", "workers"};

class Experiments {
 public:
  explicit Experiments(const Inputs& inputs) : inputs_(inputs) {}

  /// Returns the times of single operations and exchanges.
  std::vector<Row> LinkRows() const;
  /// Returns the cost of frames on the link, by interface.
  std::vector<Row> InterfaceRows() const;
  /// Returns the latencies of accelerator chains, with data moved by the CPU and with data pushed
  /// between devices.
  std::vector<Row> ChainRows() const;
  /// Returns the costs and rates of an echo on each interface.
  std::vector<Row> EchoRows() const;
  /// Returns the cost of a call that is delivered in a cache line, and the results of hosts with
  /// many services.
  std::vector<Row> CoherentRows() const;
  /// Return the results of whole systems.
  std::vector<Row> SwitchRows();
  std::vector<Row> ThroughputRows();
  std::vector<Row> TailRows();
  std::vector<Row> FaultRows();
  std::vector<Row> StalenessRows();
  /// Returns the fractions of stale decisions, with the distribution of the process that made them
  /// stale.
  std::vector<Row> StaleShareRows();
  std::vector<Row> BreakEvenRows();

  /// Returns the lines of a plot.
  std::vector<Series> Plot(std::string_view plot);

 private:
  std::vector<Series> SchedulingPlot(std::string_view plot);
  std::vector<Series> EchoPlot(std::string_view plot) const;
  EchoParameters Echo(NicInterface interface, double load) const;
  /// Returns parameters for CPUs that always have work.
  SchedulingParameters Busy(Mode mode, uint32_t cpus);
  /// Returns parameters for one task on one CPU that is woken periodically, so that decisions do
  /// not overlap.
  SchedulingParameters Alone(Mode mode);
  /// Returns the mean age, in ns, of the state on which decisions are based in a run with
  /// parameters from Alone. `decision` is the agent's time per decision.
  double AgeOfState(Mode mode, bool interrupts, Picoseconds decision);
  /// Runs a simulation; throws if an invariant is violated.
  SchedulingResults Run(const SchedulingParameters& parameters);
  /// Returns the computing time of an agent for which a decision costs agent_decision in total,
  /// with all of Wave's optimisations.
  Picoseconds AgentCompute();

  Inputs inputs_;
  std::optional<Picoseconds> agent_compute_;
};

}  // namespace sluice::simulation
