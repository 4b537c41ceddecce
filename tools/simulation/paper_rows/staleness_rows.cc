// SPDX-License-Identifier: BSD-3-Clause
//
// Rows for the age of the state on which decisions are based, and for stale decisions.
#include <algorithm>
#include <cmath>
#include <string>

#include "paper_rows.h"

namespace sluice::simulation {
namespace {

struct Kind {
  const char* id;
  const char* name;
  Mode mode;
  bool interrupts;
};
constexpr Kind kKinds[] = {{"a", "Wave, MSI-X", Mode::kMapped, true},
                           {"b", "Wave, polling", Mode::kMapped, false},
                           {"c", "swap", Mode::kSwap, true}};
const Names& InputsOf(const Kind& kind) {
  return kind.mode == Mode::kSwap ? kSwapInputs : kWaveInputs;
}
}  // namespace

std::vector<Row> Experiments::StaleShareRows() {
  std::vector<Row> rows;
  for (const Kind& kind : kKinds) {
    SchedulingParameters parameters = Alone(kind.mode);
    parameters.interrupts = kind.interrupts;
    for (const int power : {0, 1, 2}) {
      parameters.changes_per_second = inputs_.change_rate * std::pow(10, power);
      const Staleness s = Run(parameters).staleness;
      const auto ruled = static_cast<double>(s.ruled);
      rows.push_back(
          {"B5" + std::string(kind.id) + std::to_string(power),
           "stale decisions, " + std::string(kind.name) +
               ", L = " + std::to_string(std::lround(parameters.changes_per_second / 1000)) + "k/s",
           100 * static_cast<double>(s.stale) / ruled, "%", InputsOf(kind) + Names{"change_rate"},
           Row::Law{100 * s.expected / ruled, 100 * std::sqrt(s.variance) / ruled, s.ruled}});
    }
  }
  return rows;
}

double Experiments::AgeOfState(Mode mode, bool interrupts, Picoseconds decision) {
  SchedulingParameters parameters = Alone(mode);
  parameters.interrupts = interrupts;
  // A faster decision reduces only the agent's computing time, not its accesses to the window.
  const Picoseconds compute = parameters.agent_compute + decision;
  parameters.agent_compute = compute - std::min(compute, inputs_.costs.agent_decision);
  const Staleness calm = Run(parameters).staleness;
  return static_cast<double>(calm.windows) / static_cast<double>(calm.ruled) * 1e-3;
}

std::vector<Row> Experiments::StalenessRows() {
  std::vector<Row> rows;
  for (const Kind& kind : kKinds) {
    rows.push_back({std::string("D3") + kind.id,
                    std::string("age of the state on which a decision is based, ") + kind.name,
                    AgeOfState(kind.mode, kind.interrupts, inputs_.costs.agent_decision),
                    "ns",
                    InputsOf(kind),
                    {}});
  }
  double ages[2][2];  // Indexed by the speed of the cores, then by method: queues or swaps.
  for (const int kind : {0, 1}) {
    ages[0][kind] = rows[2 * kind].value;  // D3a and D3c.
    ages[1][kind] = AgeOfState(kKinds[2 * kind].mode, true, inputs_.fast_decision);
    rows.push_back({kind == 0 ? "D5a" : "D5b",
                    std::string("age of the state as in D3, faster cores of the NIC, ") +
                        kKinds[2 * kind].name,
                    ages[1][kind],
                    "ns",
                    InputsOf(kKinds[2 * kind]) + Names{"fast_decision"},
                    {}});
  }
  rows.push_back({"D5c",
                  "growth of the ratio of these ages, Wave, MSI-X to swap",
                  ages[1][0] / ages[1][1] / (ages[0][0] / ages[0][1]),
                  "",
                  kSwapInputs + Names{"fast_decision"},
                  {}});
  SchedulingParameters frozen = Busy(Mode::kSwap, 4);
  frozen.requests_per_second =
      2e12 / static_cast<double>(inputs_.service + frozen.costs.context_switch);
  frozen.changes_per_second = inputs_.freeze_change_rate;
  const Staleness thawed = Run(frozen).staleness;
  frozen.freeze = true;
  const SchedulingResults still = Run(frozen);
  rows.push_back({"B5f",
                  "stale decisions of swaps while the state can change",
                  static_cast<double>(thawed.stale),
                  "",
                  kSwapInputs + Names{"freeze_change_rate"},
                  {}});
  rows.push_back({"B5g",
                  "stale decisions of swaps while the state is frozen",
                  static_cast<double>(still.staleness.stale),
                  "",
                  {},
                  {}});
  rows.push_back({"B5h",
                  "average delay of a change while the state is frozen",
                  still.deferred_changes == 0 ? 0
                                              : 1e-6 * static_cast<double>(still.deferred_time) /
                                                    static_cast<double>(still.deferred_changes),
                  "us",
                  kSwapInputs + Names{"freeze_change_rate"},
                  {}});
  return rows;
}

}  // namespace sluice::simulation
