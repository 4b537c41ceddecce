// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-paper-rows [--set name=value ...] [--rows prefix] [--plots | --plot name]: computes our
// side of the reproduction table and prints it as JSON. Virtual time: the same inputs, the same
// output.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bar/tlp.h"
#include "paper_rows.h"

namespace sluice::simulation {
namespace {

nlohmann::ordered_json JsonOf(const Row& row) {
  nlohmann::ordered_json json = {
      {"id", row.id}, {"what", row.what}, {"value", row.value}, {"unit", row.unit},
      {"inputs", row.inputs}};
  if (row.law) {
    json["law"] = {{"expected", row.law->expected},
                   {"deviation", row.law->deviation},
                   {"trials", row.law->trials}};
  }
  return json;
}

int Usage(const char* problem) {
  std::fprintf(stderr,
               "%s\nusage: sluice-paper-rows [--set name=value ...] [--rows prefix] "
               "[--plots | --plot name]\n",
               problem);
  return 2;
}

int Main(int argc, char** argv) {
  Inputs inputs;
  std::vector<NamedInput> names = NamesOf(inputs);
  std::string_view prefix;
  std::vector<std::string_view> plots;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--plots") {
      plots.assign(std::begin(kPlots), std::end(kPlots));
    } else if (argument == "--plot" && i + 1 < argc) {
      plots.push_back(argv[++i]);
      if (std::find(std::begin(kPlots), std::end(kPlots), plots.back()) == std::end(kPlots))
        return Usage(("no such plot: " + std::string(plots.back())).c_str());
    } else if (argument == "--rows" && i + 1 < argc) {
      prefix = argv[++i];
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

  for (const auto& [link, name] : {std::pair(inputs.link, "pcie"), {inputs.fpga_link, "fpga"}}) {
    if (bar::TlpRate(link.generation, link.lanes, link.maximum_payload) == 0) {
      return Usage((std::string(name) + "_generation is 3 to 5, " + name + "_lanes are 8 or 16, " +
                    name + "_payload is 128, 256 or 512").c_str());
    }
  }
  if (inputs.frames_per_notification == 0) return Usage("frames_per_notification: at least 1");
  if (inputs.pipes_per_worker == 0) return Usage("pipes_per_worker: at least 1");
  if (inputs.echo_frames < kLeastEchoFrames) {
    return Usage(("echo_frames: at least " + std::to_string(kLeastEchoFrames)).c_str());
  }

  nlohmann::ordered_json out;
  for (const NamedInput& input : names) {
    out["inputs"].push_back({{"name", input.name},
                             {"group", input.group},
                             {"value", Print(input)},
                             {"origin", input.origin},
                             {"chosen_from", input.chosen_from}});
  }
  Experiments experiments(inputs);
  out["rows"] = nlohmann::ordered_json::array();
  const auto add = [&](std::string_view ids, auto&& rows) {
    // A group is computed if one of its rows can be asked for.
    bool wanted = prefix.empty();
    for (size_t at = 0; at < ids.size(); at = ids.find(' ', at) + 1) {
      const std::string_view id = ids.substr(at, ids.find(' ', at) - at);
      wanted = wanted || id.starts_with(prefix) || prefix.starts_with(id);
      if (ids.find(' ', at) == ids.npos) break;
    }
    if (!wanted) return;
    for (const Row& row : rows())
      if (std::string_view(row.id).starts_with(prefix)) out["rows"].push_back(JsonOf(row));
  };
  add("W1 W2 W3 W11 B1 B3 B4 D1 D2", [&] { return experiments.LinkRows(); });
  add("E1 E2 E3 E5 E8", [&] { return experiments.InterfaceRows(); });
  add("F5 F6 F7", [&] { return experiments.EchoRows(); });
  add("W4 W5 S1 S2 S3", [&] { return experiments.SwitchRows(); });
  add("W6 W7 S4 S5", [&] { return experiments.ThroughputRows(); });
  add("W8 W9", [&] { return experiments.FaultRows(); });
  add("W14", [&] { return experiments.TailRows(); });
  add("B5 D3", [&] { return experiments.StalenessRows(); });
  add("B6", [&] { return experiments.BreakEvenRows(); });
  for (const std::string_view plot : plots) {
    for (const Series& series : experiments.Plot(plot)) {
      nlohmann::ordered_json& points = out["plots"][series.plot][series.name];
      for (const Point& point : series.points) {
        points.push_back(nlohmann::ordered_json::array({point.x}));
        for (const double y : point.y) points.back().push_back(y);
      }
    }
  }
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace sluice::simulation

int main(int argc, char** argv) {
  try {
    return sluice::simulation::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice-paper-rows: %s\n", error.what());
    return 1;
  }
}
