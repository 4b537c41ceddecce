// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of the reproduction table, as far as they are ours: values, and the inputs that they
// follow from. What papers say stands elsewhere (scripts/paper/values.json).
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
  bool capped = false;  ///< The wire limits the value: the model could do more.
};

/// A line of a plot.
struct Point {
  double x = 0;
  /// As many as the plot has panels.
  std::vector<double> y;
};
struct Series {
  std::string plot;  ///< One of kPlots.
  std::string name;
  std::vector<Point> points;
};

/// Every plot, with what its axis and its panels show.
///   load     load of the CPUs: 99th percentile of latency in us, stale decisions in %
///   change   changes of a task and second: the same
///   rtt      Gb/s of 64-byte frames, as far as one worker sustains: median and 99th percentile,
///            both in us
///   workers  their number: Mpps of a full wire; ns of a worker for a frame, each offered a
///            sixteenth of the wire
inline constexpr std::string_view kPlots[] = {"load", "change", "rtt", "workers"};

class Experiments {
 public:
  explicit Experiments(const Inputs& inputs) : inputs_(inputs) {}

  /// What single operations and exchanges take.
  std::vector<Row> LinkRows() const;
  /// What frames cost on the link, by interface.
  std::vector<Row> InterfaceRows() const;
  /// What chains of accelerators take, through the CPU and pushed.
  std::vector<Row> ChainRows() const;
  /// What an echo takes by each interface, and how fast it is.
  std::vector<Row> EchoRows() const;
  /// What a call costs that is handed over in a cache line, and what hosts of many services do.
  std::vector<Row> CoherentRows() const;
  /// What whole systems do.
  std::vector<Row> SwitchRows();
  std::vector<Row> ThroughputRows();
  std::vector<Row> TailRows();
  std::vector<Row> FaultRows();
  std::vector<Row> StalenessRows();
  /// Shares of stale decisions beside the law of the process that made them stale.
  std::vector<Row> StaleShareRows();
  std::vector<Row> BreakEvenRows();

  /// The lines of a plot.
  std::vector<Series> Plot(std::string_view plot);

 private:
  std::vector<Series> SchedulingPlot(std::string_view plot);
  std::vector<Series> EchoPlot(std::string_view plot) const;
  EchoParameters Echo(NicInterface interface, double load) const;
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
