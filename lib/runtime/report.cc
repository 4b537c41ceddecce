// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/report.h"

#include <absl/strings/str_format.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/flag_text.h"
#include "host/measures.h"
#include "host/report.h"
#include "packet/frame.h"

namespace sluice::runtime {

namespace {

using nic::QueueCounters;
using Json = nlohmann::ordered_json;

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double DeviceBusy(const RunFigures& run) {
  const auto grown = [&](const char* name) {
    return run.port_measured.Get(name) - run.port_begin.Get(name);
  };
  return Ratio(grown("model_busy_cycles"), grown("model_total_cycles"));
}

Json Config() {
  Json config = Json::object();
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (host::IsOwnFlag(flag)) config[flag.name] = host::FlagText(flag.type, flag.current_value);
  }
  return config;
}

Json NonZero(const PortStats& stats, std::string_view prefix) {
  Json values = Json::object();
  for (const auto& [name, value] : stats.values()) {
    if (name.starts_with(prefix) && value > 0) values[name.substr(prefix.size())] = value;
  }
  return values;
}

/// Returns the application's findings if there are any, otherwise those of the wire's verification.
Findings FindingsOf(const RunFigures& run) {
  if (run.findings) return *run.findings;
  return {.lost = Lost(run),
          .corrupted = run.port_final.Get("wire_corrupted"),
          .duplicated = run.port_final.Get("wire_duplicated"),
          .reordered = run.port_final.Get("wire_reordered"),
          .foreign = run.port_final.Get("wire_foreign")};
}

Json FrameSize(const std::string& text) {
  if (text.empty()) return nullptr;
  const bool number = text.find_first_not_of("0123456789") == std::string::npos;
  return number ? Json(std::stoul(text)) : Json(text);
}

}  // namespace

std::vector<std::pair<std::string, uint64_t>> DropsOf(const QueueCounters& c,
                                                      std::span<const std::string_view> reasons) {
  std::vector<std::pair<std::string, uint64_t>> drops;
  for (size_t i = 0; i < QueueCounters::kMaxReasons; ++i) {
    if (i < reasons.size()) {
      drops.emplace_back(reasons[i], c.engine_drops[i]);
    } else if (c.engine_drops[i] > 0) {
      drops.emplace_back("reason_" + std::to_string(i), c.engine_drops[i]);
    }
  }
  for (const nic::QueueCounter& counter : nic::kQueueCounters) {
    if (counter.drop) drops.emplace_back(counter.name, c.*counter.member);
  }
  return drops;
}

double Gbps(uint64_t bytes, uint64_t pkts, double seconds) {
  const uint64_t wire_bytes = bytes + pkts * (packet::kFcsBytes + packet::kWireOverheadBytes);
  return host::PerSecond(wire_bytes * 8, seconds) / 1e9;
}

uint64_t Lost(const RunFigures& run) {
  const QueueCounters& c = run.final.counters;
  const uint64_t named = c.consumed_pkts + c.DroppedPkts() + c.rx_desync + run.final.nic.in_host;
  const uint64_t outstanding = run.port_final.Get("wire_outstanding");
  return outstanding - std::min(outstanding, named);
}

std::string Verdict(const RunFigures& run) {
  const QueueCounters& c = run.final.counters;
  if (!c.Conserved()) {
    return absl::StrFormat(
        "frames are not conserved: received %d, sent %d (%d beyond answers), consumed %d, dropped "
        "%d",
        c.rx_pkts, c.tx_pkts, c.sent_pkts, c.consumed_pkts, c.DroppedPkts());
  }
  if (!run.link_up) return "the link was down at the end of the run";
  if (run.drained && Lost(run) > 0) {
    return absl::StrFormat(
        "%d frames that reached the host were neither returned nor counted as drops", Lost(run));
  }
  const NicDrops& nic = run.final.nic;
  if (run.port_final.HasSource() && c.rx_pkts == 0 && nic.on_the_way > 0) {
    const auto most =
        std::ranges::max_element(nic.by_name, {}, [](const auto& drop) { return drop.second; });
    return absl::StrFormat("no frame from the wire reached a worker: the NIC dropped %d as %s",
                           most->second, most->first);
  }
  return "";
}

std::string StatsLine(const Sample& before, const Sample& after) {
  const double seconds = after.seconds - before.seconds;
  const auto grown = [&](uint64_t QueueCounters::*field) {
    return after.counters.*field - before.counters.*field;
  };
  const uint64_t rx = grown(&QueueCounters::rx_pkts);
  const uint64_t tx = grown(&QueueCounters::tx_pkts);
  return absl::StrFormat(
      "%7.1f s  rx %8.3f Mpps  tx %8.3f Mpps  %7.2f Gb/s  %6.1f cycles/pkt  busy %3.0f %%  "
      "drops %d  nic drops %d  desync %d",
      after.seconds, host::PerSecond(rx, seconds) / 1e6, host::PerSecond(tx, seconds) / 1e6,
      Gbps(grown(&QueueCounters::tx_bytes), tx, seconds),
      Ratio(after.busy_cycles - before.busy_cycles, rx),
      100 * Ratio(after.busy_cycles - before.busy_cycles, after.total_cycles - before.total_cycles),
      after.counters.DroppedPkts() - before.counters.DroppedPkts(),
      after.nic.Sum() - before.nic.Sum(), grown(&QueueCounters::rx_desync));
}

std::string Totals(const RunFigures& run, bool color) {
  const QueueCounters& c = run.final.counters;
  const NicDrops& nic = run.final.nic;
  const auto red = [color](uint64_t frames, const std::string& text) {
    return color && frames > 0 ? "\x1b[31m" + text + "\x1b[0m" : text;
  };
  const auto found = [&](const char* what, uint64_t frames) {
    return red(frames, absl::StrFormat("%s %d", what, frames));
  };
  const Findings findings = FindingsOf(run);
  std::string text =
      absl::StrFormat("received %d, sent %d, consumed %d, dropped %d, %s; %s, %s, %s, %s, %s\n",
                      c.rx_pkts, c.tx_pkts, c.consumed_pkts, c.DroppedPkts(),
                      red(nic.Sum(), absl::StrFormat("dropped by the NIC %d", nic.Sum())),
                      found("lost", findings.lost), found("corrupted", findings.corrupted),
                      found("duplicated", findings.duplicated),
                      found("reordered", findings.reordered), found("foreign", findings.foreign));
  if (c.sent_pkts > 0)
    text += absl::StrFormat("  sent (or tried) beyond answers %d\n", c.sent_pkts);
  for (const auto& [name, frames] : DropsOf(c, run.reasons)) {
    if (frames > 0) text += red(frames, absl::StrFormat("  drop %-24s %d", name, frames)) + "\n";
  }
  for (const auto& [name, frames] : nic.by_name) {
    if (frames > 0)
      text += red(frames, absl::StrFormat("  NIC drop %-20s %d", name, frames)) + "\n";
  }
  if (run.link_down_count > 0) {
    text += absl::StrFormat("  link down %d time%s, %.3f s in all\n", run.link_down_count,
                            run.link_down_count == 1 ? "" : "s", run.link_down_s);
  }
  if (nic.no_mbuf > 0)
    text += absl::StrFormat("  rx_nombuf (failed allocations) %d\n", nic.no_mbuf);
  if (c.rx_desync > 0) {
    text +=
        red(c.rx_desync, absl::StrFormat("  rx_desync (64-byte flits)     %d", c.rx_desync)) + "\n";
  }
  return text;
}

std::string JsonReport(const RunFigures& run, const std::function<void(Json&)>& extend) {
  const QueueCounters& measured = run.measured.counters;
  const QueueCounters& c = run.final.counters;
  Json report = host::NewReport(run.app, run.measured.seconds);
  report["iface"] = run.iface;
  report["traffic"] = run.traffic;
  report["frame_size"] = FrameSize(run.frame_size);
  for (const nic::QueueCounter& counter : nic::kQueueCounters) {
    if (!counter.drop) report[counter.name] = c.*counter.member;
  }
  report["drops"] = Json::object();
  for (const auto& [name, value] : DropsOf(c, run.reasons)) report["drops"][name] = value;
  report["nic_drops"] = Json::object();
  for (const auto& [name, value] : run.final.nic.by_name) report["nic_drops"][name] = value;
  report["nic_dropped_pkts"] = run.final.nic.Sum();
  report["rx_nombuf"] = run.final.nic.no_mbuf;
  report["mpps"] = host::PerSecond(measured.tx_pkts, run.measured.seconds) / 1e6;
  report["gbps"] = Gbps(measured.tx_bytes, measured.tx_pkts, run.measured.seconds);
  report["cycles_per_pkt"] = Ratio(run.measured.busy_cycles, measured.rx_pkts);
  report["worker_busy"] = Ratio(run.measured.busy_cycles, run.measured.total_cycles);
  report["device_busy"] = DeviceBusy(run);
  const Findings findings = FindingsOf(run);
  report["lost"] = findings.lost;
  report["corrupted"] = findings.corrupted;
  report["duplicated"] = findings.duplicated;
  report["reordered"] = findings.reordered;
  report["foreign"] = findings.foreign;
  report["ctx_switches"] = run.ctx_switches;
  report["link_up"] = run.link_up;
  report["link_down_count"] = run.link_down_count;
  report["link_down_s"] = run.link_down_s;
  report["link_downs"] = Json::array();
  for (const LinkDown& down : run.link_downs) {
    report["link_downs"].push_back({{"at_s", down.at_s}, {"duration_s", down.duration_s}});
  }
  const auto& [figures, figures_help, values] = run.figures;
  for (const auto& [name, value] : values) report[std::string(figures)][std::string(name)] = value;
  report["memory"] = run.memory;
  report["lcores"] = run.map;
  report["device"] = NonZero(run.port_final, "model_");
  report["wire"] = NonZero(run.port_final, "wire_");
  report["config"] = Config();
  if (extend) extend(report);
  report["unit_notes"] = {
      {"pkts", "totals, including frames in flight when the traffic stopped"},
      {"bytes", "without FCS; a streaming interface does not see Ethernet padding"},
      {"mpps", "frames sent, 10^6 per second, over duration_s"},
      {"gbps", "layer 1: bytes sent + 4 of FCS + 20 of preamble and gap per frame"},
      {"cycles_per_pkt", "TSC cycles of polls that handled frames, per frame received"},
      {"busy", "share of the time, 0 to 1"},
      {"sent_pkts",
       "frames that the application sent, or tried to send, beyond one answer per frame"},
      {"drops", "frames; rx_pkts + sent_pkts = tx_pkts + consumed_pkts + their sum"},
      {"nic_drops", "frames that the port or the wire dropped; not included in drops"},
      {"rx_nombuf", "failed buffer allocations; the frames wait in the NIC, or are dropped there"},
      {"foreign", "frames of an earlier run of the device that came back during this run"},
      {"rx_desync_flits",
       "64-byte flits that belong to no recognizable frame; not included in drops"},
      {"link_downs",
       "the first 64 periods without a link: at_s (since the start) and duration_s, in seconds"},
      {"ctx_switches", "involuntary context switches of the workers"}};
  if (!values.empty()) report["unit_notes"][std::string(figures)] = figures_help;
  return host::ReportText(report);
}

}  // namespace sluice::runtime
