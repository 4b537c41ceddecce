// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <nlohmann/json.hpp>

#include "host/measures.h"
#include "host/report.h"

namespace sluice::rpc_app {
namespace {

using engine::workload::Histogram;
using host::LatencyJson;
using host::LatencyText;
using host::PerSecond;

// Returns whether a counter counts drops. Foreign frames (wire_foreign, wire_kernel) and answered
// requests are not drops.
bool IsDrop(const std::string& name) {
  return name.starts_with("rpc_drop_") || name.starts_with("wire_fragment_") ||
         name == "wire_unsent" || name == "wire_tagged" || name == "wire_bad_neighbor";
}

}  // namespace

std::string PeriodLine(const Figures& earlier, const Figures& later) {
  Histogram latency = later.latency;
  latency.Subtract(earlier.latency);
  const LoadFigures &a = earlier.load, &b = later.load;
  std::string line = absl::StrFormat(
      "%7.1f s  %.4f Mcalls/s  restarts %d", later.seconds,
      PerSecond(later.answered() - earlier.answered(), later.seconds - earlier.seconds) / 1e6,
      later.restarts - earlier.restarts);
  if (b.calls != 0) {
    absl::StrAppendFormat(&line, "  %s  refused %d  lost %d  wrong %d", LatencyText(latency),
                          b.refused - a.refused, b.lost - a.lost, b.wrong - a.wrong);
  }
  return line;
}

std::string Totals(const Settings& settings, const Figures& run, const std::string& wait_method) {
  const LoadFigures& load = run.load;
  std::string text = absl::StrFormat(
      "%d services on %d cores, waiting by %s: %d calls answered in %.1f s, %.4f Mcalls/s; "
      "restarts %d\n",
      settings.services.size(), settings.cores, wait_method, run.answered(), run.seconds,
      PerSecond(run.answered(), run.seconds) / 1e6, run.restarts);
  if (settings.interface.empty()) {
    absl::StrAppendFormat(&text,
                          "  clients: %d calls, answered %d, refused %d, lost %d, wrong %d, "
                          "missing %d; late answers %d; %s\n",
                          load.calls, load.answered, load.refused, load.lost, load.wrong,
                          run.missing(), load.late, LatencyText(run.latency));
  }
  for (const auto& [name, value] : run.device) {
    if (value != 0) absl::StrAppendFormat(&text, "  %-24s %d\n", name, value);
  }
  return text;
}

std::string Json(const Settings& settings, const Figures& run, const std::string& wait_method) {
  const LoadFigures& load = run.load;
  nlohmann::ordered_json services = nlohmann::ordered_json::array();
  for (const ServiceFiles& files : settings.services) services.push_back(files.name);
  nlohmann::ordered_json drops = nlohmann::ordered_json::object();
  nlohmann::ordered_json device = nlohmann::ordered_json::object();
  uint64_t nic_drops = 0;
  for (const auto& [name, value] : run.device) {
    device[name] = value;
    if (!IsDrop(name)) continue;
    drops[name] = value;
    nic_drops += value;
  }
  nlohmann::ordered_json report = host::NewReport("rpc", run.seconds);
  report.update({{"iface", "coherent"},
                 {"traffic", settings.interface.empty() ? "clients" : settings.interface},
                 {"services", services},
                 {"rx_pkts", load.calls},
                 {"tx_pkts", load.answered + load.wrong + load.refused},
                 {"drops", drops},
                 {"rx_bytes", load.tx_bytes},
                 {"tx_bytes", load.rx_bytes},
                 {"mpps", PerSecond(run.answered(), run.seconds) / 1e6},
                 {"gbps", PerSecond(load.tx_bytes * 8, run.seconds) / 1e9},
                 {"answered", load.answered},
                 {"refused", load.refused},
                 {"lost", load.lost},
                 {"corrupted", load.wrong},
                 {"missing", run.missing()},
                 {"late", load.late},
                 {"unknown", load.unknown},
                 {"nic_drops", nic_drops},
                 {"restarts", run.restarts},
                 {"latency_us", LatencyJson(run.latency)},
                 {"wait_method", wait_method},
                 {"device", device},
                 {"config",
                  {{"cores", settings.cores},
                   {"service_cores", settings.service_cores},
                   {"policy", settings.policy},
                   {"queue", settings.queue},
                   {"outstanding", settings.outstanding},
                   {"run_calls", settings.run_calls},
                   {"echo_bytes", settings.echo_bytes},
                   {"dma_bytes", settings.dma_bytes},
                   {"seed", settings.seed}}}});
  return host::ReportText(report);
}

}  // namespace sluice::rpc_app
