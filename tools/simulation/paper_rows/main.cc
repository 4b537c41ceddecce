// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-paper-rows [--set name=value ...] [--rows prefix,...] [--plots | --plot name]
// [--progress]: computes this project's side of the reproduction table and prints it as JSON. It
// uses virtual time, so the same inputs give the same output. SIGINT and SIGTERM end the program
// after the current group of rows or plot; the JSON then contains the finished rows or plots, and
// "stopped".
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/standard_streams.h"
#include "paper_rows.h"

namespace sluice::simulation {
namespace {

volatile std::sig_atomic_t stop = 0;

// Rows that are computed together. `ids`: prefixes of the rows' IDs.
struct Group {
  std::string_view ids;
  std::vector<Row> (*rows)(Experiments&);
};
constexpr Group kGroups[] = {
    {"W1 W2 W3 W11 B1 B3 B4 D1 D2", [](Experiments& e) { return e.LinkRows(); }},
    {"E1 E2 E3 E5 E8", [](Experiments& e) { return e.InterfaceRows(); }},
    {"N1 N2 N3 N4 N5", [](Experiments& e) { return e.ChainRows(); }},
    {"F5 F6 F7 F8 K1", [](Experiments& e) { return e.EchoRows(); }},
    {"L1 L2 L3 L4 L5 L6 L8", [](Experiments& e) { return e.CoherentRows(); }},
    {"W4 W5 S1 S2 S3", [](Experiments& e) { return e.SwitchRows(); }},
    {"W6 W7 S4 S5", [](Experiments& e) { return e.ThroughputRows(); }},
    {"W8 W9", [](Experiments& e) { return e.FaultRows(); }},
    {"W14", [](Experiments& e) { return e.TailRows(); }},
    {"D3 D5 B5f B5g B5h", [](Experiments& e) { return e.StalenessRows(); }},
    {"B5a B5b B5c", [](Experiments& e) { return e.StaleShareRows(); }},
    {"B6", [](Experiments& e) { return e.BreakEvenRows(); }},
};

// Returns whether `wanted` is true for any item of a list with separators.
template <typename Predicate>
bool Any(std::string_view list, char separator, Predicate wanted) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(separator));
    if (wanted(item)) return true;
    list.remove_prefix(std::min(list.size(), item.size() + 1));
  }
  return false;
}
// Returns whether a row is requested. Without prefixes, all rows are.
bool IsWanted(std::string_view id, std::string_view prefixes) {
  return prefixes.empty() ||
         Any(prefixes, ',', [&](std::string_view prefix) { return id.starts_with(prefix); });
}
// Returns whether a group can contain a requested row.
bool MayBeWanted(std::string_view ids, std::string_view prefixes) {
  return Any(ids, ' ', [&](std::string_view id) {
    return IsWanted(id, prefixes) ||
           Any(prefixes, ',', [&](std::string_view prefix) { return prefix.starts_with(id); });
  });
}

nlohmann::ordered_json JsonOf(const Row& row) {
  nlohmann::ordered_json json = {{"id", row.id},
                                 {"what", row.what},
                                 {"value", row.value},
                                 {"unit", row.unit},
                                 {"inputs", row.inputs}};
  if (row.law) {
    json["law"] = {{"expected", row.law->expected},
                   {"deviation", row.law->deviation},
                   {"trials", row.law->trials}};
  }
  if (row.capped) json["capped"] = true;
  return json;
}

int Usage(const char* problem) {
  std::fprintf(stderr,
               "%s\nusage: sluice-paper-rows [--set name=value ...] [--rows prefix,...] "
               "[--plots | --plot name] [--progress]\n",
               problem);
  return 2;
}

int Main(int argc, char** argv) {
  Inputs inputs;
  std::vector<NamedInput> names = NamesOf(inputs);
  std::string_view prefixes;
  std::vector<std::string_view> plots;
  bool progress = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--plots") {
      plots.assign(std::begin(kPlots), std::end(kPlots));
    } else if (argument == "--plot" && i + 1 < argc) {
      plots.push_back(argv[++i]);
      if (std::find(std::begin(kPlots), std::end(kPlots), plots.back()) == std::end(kPlots))
        return Usage(("no such plot: " + std::string(plots.back())).c_str());
    } else if (argument == "--progress") {
      progress = true;
    } else if (argument == "--rows" && i + 1 < argc) {
      prefixes = argv[++i];
    } else if (argument == "--set" && i + 1 < argc) {
      const std::string_view setting = argv[++i];
      const size_t equals = setting.find('=');
      bool set = false;
      for (NamedInput& input : names) {
        if (equals != setting.npos && input.name == setting.substr(0, equals))
          set = Parse(setting.substr(equals + 1), input);
      }
      if (!set) return Usage(("no such input or value: " + std::string(setting)).c_str());
    } else {
      return Usage(("unknown argument: " + std::string(argument)).c_str());
    }
  }

  if (const std::string problem = ProblemOf(inputs); !problem.empty())
    return Usage(problem.c_str());

  nlohmann::ordered_json out;
  for (const NamedInput& input : names) {
    out["inputs"].push_back({{"name", input.name},
                             {"group", input.group},
                             {"value", Print(input)},
                             {"origin", input.origin},
                             {"chosen_from", input.chosen_from},
                             {"sweep", input.sweep}});
  }
  Experiments experiments(inputs);
  out["rows"] = nlohmann::ordered_json::array();
  const size_t steps = std::size(kGroups) + plots.size();
  size_t done = 0;
  // Prints a line for scripts: the number of finished steps, the total number of steps, and the
  // step that has just finished.
  const auto step = [&](std::string_view what) {
    ++done;
    if (progress) {
      std::fprintf(stderr, "%zu %zu %.*s\n", done, steps, static_cast<int>(what.size()),
                   what.data());
    }
  };
  for (const Group& group : kGroups) {
    if (stop != 0) break;
    if (MayBeWanted(group.ids, prefixes)) {
      for (const Row& row : group.rows(experiments)) {
        if (IsWanted(row.id, prefixes)) out["rows"].push_back(JsonOf(row));
      }
    }
    step(group.ids);
  }
  for (const std::string_view plot : plots) {
    if (stop != 0) break;
    for (const Series& series : experiments.Plot(plot)) {
      nlohmann::ordered_json& points = out["plots"][series.plot][series.name];
      for (const Point& point : series.points) {
        points.push_back(nlohmann::ordered_json::array({point.x}));
        for (const double y : point.y) points.back().push_back(y);
      }
    }
    step(plot);
  }
  if (stop != 0) out["stopped"] = "interrupted";
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace sluice::simulation

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int) { sluice::simulation::stop = 1; });
  }
  try {
    return sluice::simulation::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice-paper-rows: %s\n", error.what());
    return 1;
  }
}
