// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "emulator/model.h"
#include "host/report.h"
#include "runtime/nic_drops.h"
#include "runtime/port_stats.h"

namespace sluice::device_app {
namespace {

using emulator::Statistic;

/// Wire counters that concern hosts and the path to them.
constexpr std::array kFindings = {"lost",    "abandoned",  "corrupted",
                                  "foreign", "duplicated", "reordered"};

uint64_t Value(const Statistics& statistics, std::string_view name) {
  const auto found = std::find_if(statistics.begin(), statistics.end(),
                                  [&](const Statistic& s) { return s.name == name; });
  return found != statistics.end() ? found->value : 0;
}

nlohmann::ordered_json NonZero(const Statistics& statistics, std::string_view prefix) {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  for (const Statistic& statistic : statistics) {
    const std::string_view name = statistic.name;
    if (name.starts_with(prefix) && statistic.value > 0) {
      values[std::string(name.substr(prefix.size()))] = statistic.value;
    }
  }
  return values;
}

/// Returns the frames that the model or its wire dropped. Hosts count the drops in their drivers.
runtime::NicDrops Dropped(const Statistics& totals) {
  std::map<std::string, uint64_t> values;
  for (const Statistic& statistic : totals) values[statistic.name] = statistic.value;
  return runtime::NicDropsSince(runtime::PortStats(), runtime::PortStats(std::move(values)));
}

}  // namespace

std::string RatesLine(const Statistics& before, const Statistics& after, double seconds) {
  const auto mpps = [&](std::string_view name) {
    return static_cast<double>(Value(after, name) - Value(before, name)) / seconds / 1e6;
  };
  std::array<char, 128> line;
  std::snprintf(line.data(), line.size(), "to host %8.3f Mpps  from host %8.3f Mpps  corrupted %lu",
                mpps("wire_accepted"), mpps("wire_returned"), Value(after, "wire_corrupted"));
  return line.data();
}

std::string TotalsText(const Statistics& totals) {
  std::string line = "frames to hosts " + std::to_string(Value(totals, "wire_accepted")) +
                     ", from hosts " + std::to_string(Value(totals, "wire_returned"));
  const runtime::NicDrops drops = Dropped(totals);
  line += ", dropped by the NIC " + std::to_string(drops.Sum());
  for (const std::string name : kFindings) {
    line += ", " + name + " " + std::to_string(Value(totals, "wire_" + name));
  }
  for (const auto& [name, frames] : drops.by_name) {
    if (frames == 0) continue;
    line.append("\n  NIC drop ").append(name).append(" ").append(std::to_string(frames));
  }
  return line;
}

std::string JsonReport(const Flags& flags, const Statistics& totals, uint64_t hosts,
                       double seconds) {
  nlohmann::ordered_json report = host::NewReport("device", seconds);
  report["model"] = flags.server.model->name;
  report["traffic"] = flags.wire;
  report["hosts"] = hosts;
  for (const std::string name : kFindings) report[name] = Value(totals, "wire_" + name);
  const runtime::NicDrops drops = Dropped(totals);
  report["nic_drops"] = nlohmann::ordered_json::object();
  for (const auto& [name, frames] : drops.by_name) report["nic_drops"][std::string(name)] = frames;
  report["nic_dropped_pkts"] = drops.Sum();
  // Models on a card are not stepped by a CPU; their total is 0.
  const uint64_t cycles = std::max<uint64_t>(Value(totals, "model_total_cycles"), 1);
  report["device_busy"] =
      static_cast<double>(Value(totals, "model_busy_cycles")) / static_cast<double>(cycles);
  report["device"] = NonZero(totals, "model_");
  report["wire"] = NonZero(totals, "wire_");
  return host::ReportText(report);
}

}  // namespace sluice::device_app
