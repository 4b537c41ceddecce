// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-paper-rows [--set name=value ...] [--rows prefix] [--plots | --plot name] [--progress]:
// computes our side of the reproduction table and prints it as JSON. Virtual time: the same inputs,
// the same output. SIGINT and SIGTERM end it after the group of rows, or the plot, that it is at:
// the JSON has those before, and "stopped".
#include <algorithm>
#include <csignal>
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
#include "device/switch/pipeline.h"
#include "paper_rows.h"

namespace sluice::simulation {
namespace {

volatile std::sig_atomic_t stop = 0;

// What is computed together, and asked for by the beginnings of its rows' ids.
struct Group {
  std::string_view ids;
  std::vector<Row> (*rows)(Experiments&);
};
constexpr Group kGroups[] = {
    {"W1 W2 W3 W11 B1 B3 B4 D1 D2", [](Experiments& e) { return e.LinkRows(); }},
    {"E1 E2 E3 E5 E8", [](Experiments& e) { return e.InterfaceRows(); }},
    {"N1 N2 N3 N4 N5", [](Experiments& e) { return e.ChainRows(); }},
    {"F5 F6 F7", [](Experiments& e) { return e.EchoRows(); }},
    {"L1 L2 L3 L4 L5 L6 L8", [](Experiments& e) { return e.CoherentRows(); }},
    {"W4 W5 S1 S2 S3", [](Experiments& e) { return e.SwitchRows(); }},
    {"W6 W7 S4 S5", [](Experiments& e) { return e.ThroughputRows(); }},
    {"W8 W9", [](Experiments& e) { return e.FaultRows(); }},
    {"W14", [](Experiments& e) { return e.TailRows(); }},
    {"B5 D3", [](Experiments& e) { return e.StalenessRows(); }},
    {"B6", [](Experiments& e) { return e.BreakEvenRows(); }},
};

// Whether a group can have a row that is asked for.
bool Wanted(std::string_view ids, std::string_view prefix) {
  if (prefix.empty()) return true;
  while (!ids.empty()) {
    const std::string_view id = ids.substr(0, ids.find(' '));
    if (id.starts_with(prefix) || prefix.starts_with(id)) return true;
    ids.remove_prefix(std::min(ids.size(), id.size() + 1));
  }
  return false;
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
               "%s\nusage: sluice-paper-rows [--set name=value ...] [--rows prefix] "
               "[--plots | --plot name] [--progress]\n",
               problem);
  return 2;
}

int Main(int argc, char** argv) {
  Inputs inputs;
  std::vector<NamedInput> names = NamesOf(inputs);
  std::string_view prefix;
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
                    name + "_payload is 128, 256 or 512")
                       .c_str());
    }
  }
  const PacketRings& rings = inputs.rings;
  if (rings.rx_descriptor == 0 || rings.tx_descriptor == 0 || rings.fetch == 0 ||
      rings.fetch % rings.rx_descriptor != 0 || rings.fetch % rings.tx_descriptor != 0)
    return Usage("descriptors_fetched: a multiple of rx_descriptor and of tx_descriptor, bytes");
  if (rings.burst == 0 || rings.tx_report == 0 || inputs.nic_buffers == 0)
    return Usage("doorbell_burst, tx_report, nic_buffers: at least 1");
  if (inputs.frames_per_notification == 0) return Usage("frames_per_notification: at least 1");
  if (inputs.pipes_per_worker == 0) return Usage("pipes_per_worker: at least 1");
  if (inputs.switch_stages < device::pcie_switch::kStageCount || inputs.switch_stages > 1000)
    return Usage("switch_stages: 6 to 1000");
  if (inputs.switch_cycles > 1000) return Usage("switch_cycles: at most 1000");
  if (inputs.switch_megahertz == 0) return Usage("switch_megahertz: at least 1");
  if (inputs.chain_message == 0 || inputs.chain_message > kMostChainMessage)
    return Usage(("chain_message: 1 to " + std::to_string(kMostChainMessage)).c_str());
  if (inputs.echo_frames < kLeastEchoFrames) {
    return Usage(("echo_frames: at least " + std::to_string(kLeastEchoFrames)).c_str());
  }

  if (inputs.rpc_calls < kLeastRpcCalls) {
    return Usage(("rpc_calls: at least " + std::to_string(kLeastRpcCalls)).c_str());
  }
  if (inputs.rpc_cores == 0 || inputs.rpc_cores > kMostRpcCores) {
    return Usage(("rpc_cores: 1 to " + std::to_string(kMostRpcCores)).c_str());
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
  const size_t steps = std::size(kGroups) + plots.size();
  size_t done = 0;
  // A line for scripts: steps done, of how many, and what.
  const auto step = [&](std::string_view what) {
    ++done;
    if (progress) {
      std::fprintf(stderr, "%zu %zu %.*s\n", done, steps, static_cast<int>(what.size()),
                   what.data());
    }
  };
  for (const Group& group : kGroups) {
    if (stop != 0) break;
    if (Wanted(group.ids, prefix)) {
      for (const Row& row : group.rows(experiments)) {
        if (std::string_view(row.id).starts_with(prefix)) out["rows"].push_back(JsonOf(row));
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
