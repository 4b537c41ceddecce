// SPDX-License-Identifier: BSD-3-Clause
//
// Plots latency and stale decisions against load, and against the rate at which the state changes.
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paper_rows.h"

namespace sluice::simulation {
namespace {

struct Line {
  const char* name;
  Mode mode;
  bool interrupts;
};
constexpr std::array<Line, 5> kLines = {{{"Wave, polling", Mode::kMapped, false},
                                         {"Wave, MSI-X", Mode::kMapped, true},
                                         {"Wave, prestaged", Mode::kPrestaged, true},
                                         {"swap per decision", Mode::kSwap, true},
                                         {"standing offer", Mode::kStanding, true}}};
constexpr std::array kLoads = {0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9};
constexpr std::array kRates = {100.0, 1'000.0, 3'000.0, 10'000.0, 30'000.0, 100'000.0};
constexpr double kRateOfLoads = 10'000;
constexpr double kLoadOfRates = 0.5;

Point PointOf(double x, const SchedulingResults& results) {
  const Staleness& s = results.staleness;
  return {x,
          {static_cast<double>(results.Percentile(0.99)) * 1e-6,
           s.ruled == 0 ? 0 : 100 * static_cast<double>(s.stale) / static_cast<double>(s.ruled)}};
}

}  // namespace

std::vector<Series> Experiments::SchedulingPlot(std::string_view plot) {
  std::vector<Series> all;
  for (const Line& line : kLines) {
    Series series{std::string(plot), line.name, {}};
    const auto point = [&](double x, double load, double rate) {
      SchedulingParameters parameters = Busy(line.mode, inputs_.gap_cpus);
      parameters.interrupts = line.interrupts;
      // The load is a fraction of the rate that the CPUs could serve if a switch cost only the
      // host's part.
      parameters.requests_per_second =
          load * inputs_.gap_cpus * 1e12 /
          static_cast<double>(inputs_.service + inputs_.costs.context_switch);
      parameters.changes_per_second = rate;
      series.points.push_back(PointOf(x, Run(parameters)));
    };
    if (plot == "load") {
      for (const double load : kLoads) point(load, load, kRateOfLoads);
    } else {
      for (const double rate : kRates) point(rate, kLoadOfRates, rate);
    }
    all.push_back(std::move(series));
  }
  return all;
}

std::vector<Series> Experiments::Plot(std::string_view plot) {
  return plot == "load" || plot == "change" ? SchedulingPlot(plot) : EchoPlot(plot);
}

}  // namespace sluice::simulation
