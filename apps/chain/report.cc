// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "host/measures.h"
#include "host/report.h"
#include "stage_kinds.h"

namespace sluice::chain_app {
namespace {

using device::pcie_switch::kDropNames;
using engine::workload::Histogram;
using host::LatencyJson;
using host::LatencyText;
using host::PerSecond;
using nlohmann::ordered_json;

const char* Way(const ChainSettings& settings) { return settings.through_cpu ? "cpu" : "switch"; }

ordered_json Refused(const StageSpec& spec, const StageFigures& figures) {
  ordered_json refused = ordered_json::object();
  const std::vector<std::string> names = RefusalsOf(*spec.kind);
  for (size_t i = 0; i < figures.refused.size(); ++i) {
    if (figures.refused[i] == 0) continue;
    refused[i < names.size() ? names[i] : names.front()] = figures.refused[i];
  }
  return refused;
}

ordered_json OperationsOf(const Figures& run, const Operations& operations) {
  return {{"writes", operations.writes},
          {"reads", operations.reads},
          {"completions", operations.completions},
          {"bytes", operations.bytes},
          {"per_message",
           run.PerMessage(operations.writes + operations.reads + operations.completions)}};
}

/// Returns the cost of the host's work, in total and per message.
ordered_json HostOf(const ChainSettings& settings, const Figures& run) {
  const MediatorCounters& cpu = run.cpu;
  ordered_json per = {
      {"doorbells", run.PerMessage(cpu.doorbells)},     {"polls", run.PerMessage(cpu.polls)},
      {"descriptors", run.PerMessage(cpu.descriptors)}, {"copies", 0},
      {"cycles", run.PerMessage(run.busy_cycles)},      {"instructions", nullptr}};
  if (run.instructions) per["instructions"] = run.PerMessage(*run.instructions);
  ordered_json host = {
      {"per_message", per},       {"doorbells", cpu.doorbells},
      {"polls", cpu.polls},       {"records", cpu.records},
      {"received", cpu.received}, {"cpu_s", static_cast<double>(run.cpu_ns) / 1e9}};
  if (settings.through_cpu) {
    host["drops"] = {{"refused", cpu.refused},
                     {"failed", cpu.failed},
                     {"no_edge", cpu.no_edge},
                     {"stage_dead", cpu.stage_dead}};
  }
  return host;
}

ordered_json StagesOf(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                      const Figures& run) {
  ordered_json each = ordered_json::array();
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageFigures& stage = run.stages[i];
    each.push_back({{"device", stages[i]->device},
                    {"executor", stages[i]->executor},
                    {"face", stages[i]->legacy || settings.through_cpu ? "legacy" : "streaming"},
                    {"batches", stage.batches},
                    {"done", stage.done},
                    {"failed", stage.failed},
                    {"refused", Refused(*stages[i], stage)},
                    {"restarts", stage.restarts}});
  }
  return each;
}

}  // namespace

ordered_json DropsOf(const Figures& run) {
  ordered_json drops = ordered_json::object();
  for (size_t i = 1; i < kDropNames.size(); ++i)
    if (run.drops[i] != 0) drops[std::string(kDropNames[i])] = run.drops[i];
  return drops;
}

void ExtendByChain(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                   const Figures& run, ordered_json& report) {
  uint64_t refused = 0;
  for (const StageFigures& stage : run.stages) refused += stage.all_refused();
  report["through"] = Way(settings);
  report["refused_by_stages"] = refused;
  report["foreign"] = run.foreign;
  report["host"] = HostOf(settings, run);
  report["tlps"] = {{"devices", OperationsOf(run, run.devices)},
                    {"cpu", OperationsOf(run, run.root)}};
  report["stages"] = StagesOf(settings, stages, run);
  report["restarts"] = run.restarts;
  report["reloads"] = run.reloads;
  report["down"] = run.down;
}

std::string ChainTotals(const ChainSettings& settings, const std::vector<const StageSpec*>& stages,
                        const Figures& run) {
  std::string text;
  absl::StrAppendFormat(
      &text,
      "  host, per message: %.3f doorbells, %.3f polls, %.3f descriptors, 0 copies, "
      "%.0f cycles%s; %d messages ended at the host\n",
      run.PerMessage(run.cpu.doorbells), run.PerMessage(run.cpu.polls),
      run.PerMessage(run.cpu.descriptors), run.PerMessage(run.busy_cycles),
      run.instructions ? absl::StrFormat(", %.0f instructions", run.PerMessage(*run.instructions))
                       : "",
      run.cpu.received);
  absl::StrAppendFormat(
      &text, "  TLPs per message: %.2f at device ports, %.2f at the CPU's port\n",
      run.PerMessage(run.devices.writes + run.devices.reads + run.devices.completions),
      run.PerMessage(run.root.writes + run.root.reads + run.root.completions));
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageFigures& stage = run.stages[i];
    const bool legacy = stages[i]->legacy || settings.through_cpu;
    absl::StrAppendFormat(&text, "  %-12s %s, %s: %d done, %d failed", stages[i]->device,
                          stages[i]->kind->name, legacy ? "legacy" : "streaming", stage.done,
                          stage.failed);
    const ordered_json refused = Refused(*stages[i], stage);
    for (const auto& [name, count] : refused.items())
      absl::StrAppendFormat(&text, ", %s %d", name, count.get<uint64_t>());
    text += '\n';
  }
  if (run.foreign != 0)
    absl::StrAppendFormat(
        &text, "  answers from chains other than the one that received the message: %d\n",
        run.foreign);
  const ordered_json drops = DropsOf(run);
  for (const auto& [name, count] : drops.items())
    absl::StrAppendFormat(&text, "  dropped by the switch: %-16s %d\n", name,
                          count.get<uint64_t>());
  return text;
}

std::string DownFault(const Figures& run) {
  return run.down.empty() ? "" : "a device is down at the end of the run: " + run.down.front();
}

std::string PeriodLine(const Figures& earlier, const Figures& later) {
  Histogram latency = later.latency;
  latency.Subtract(earlier.latency);
  const Endings &a = earlier.endings, &b = later.endings;
  return absl::StrFormat(
      "%7.1f s  %.4f M messages/s  %s  lost %d  wrong %d  duplicated %d  restarts %d",
      later.seconds,
      PerSecond(b.right - std::min(a.right, b.right), later.seconds - earlier.seconds) / 1e6,
      LatencyText(latency), b.lost - a.lost, b.wrong - a.wrong, b.doubled - a.doubled,
      later.restarts - earlier.restarts);
}

std::string Totals(const Settings& settings, const std::vector<const StageSpec*>& stages,
                   const Figures& run) {
  const Endings& endings = run.endings;
  std::string text = absl::StrFormat(
      "through the %s: %d messages of %s in %.1f s, %.4f M messages/s; %s\n"
      "  answered correctly %d, incorrectly %d, refused as expected %d, lost %d, missing %d; "
      "duplicated %d, late %d; restarts %d\n",
      Way(settings), endings.sent, settings.traffic->name, run.seconds,
      PerSecond(endings.right, run.seconds) / 1e6, LatencyText(run.latency), endings.right,
      endings.wrong, endings.silent, endings.lost, run.missing(), endings.doubled, endings.late,
      run.restarts);
  return text + ChainTotals(settings, stages, run);
}

std::string Json(const Settings& settings, const std::vector<const StageSpec*>& stages,
                 const Figures& run) {
  const Endings& endings = run.endings;
  ordered_json report = host::NewReport("chain", run.seconds);
  report.update({{"traffic", settings.traffic->name},
                 {"rx_pkts", endings.sent},
                 {"tx_pkts", endings.right + endings.wrong},
                 {"refused", endings.silent},
                 {"lost", endings.lost},
                 {"corrupted", endings.wrong},
                 {"duplicated", endings.doubled},
                 {"missing", run.missing()},
                 {"late", endings.late},
                 {"copies", endings.copies},
                 {"unknown", endings.unknown},
                 {"drops", DropsOf(run)},
                 {"rx_bytes", endings.sent_bytes},
                 {"tx_bytes", endings.answer_bytes},
                 {"mpps", PerSecond(endings.right, run.seconds) / 1e6},
                 {"gbps", PerSecond(endings.sent_bytes * 8, run.seconds) / 1e9},
                 {"latency_us", LatencyJson(run.latency)}});
  ExtendByChain(settings, stages, run, report);
  report["config"] = {{"graph", settings.graph_file},
                      {"outstanding", settings.outstanding},
                      {"messages", settings.messages},
                      {"timeout_ms", static_cast<double>(settings.timeout_ns) / 1e6},
                      {"processes", !settings.stage_program.empty()},
                      {"kill", settings.kill},
                      {"seed", settings.seed}};
  report["unit_notes"] =
      "NIC, switch, stages and PCIe are software models on this host's CPUs: rates and latencies "
      "are those of the models. The member host describes the thread that handles messages, "
      "without its setup.";
  return host::ReportText(report);
}

std::string Fault(const Figures& run) {
  const Endings& endings = run.endings;
  if (endings.wrong != 0) return absl::StrCat(endings.wrong, " wrong answers");
  if (endings.doubled != 0) return absl::StrCat(endings.doubled, " duplicate answers");
  if (run.missing() != 0)
    return absl::StrCat(run.missing(),
                        " messages that were not answered, refused or counted as lost");
  if (endings.lost != 0 && run.restarts == 0)
    return absl::StrCat(endings.lost, " messages lost although no stage died");
  if (endings.ended() == 0) return "no message arrived";
  return DownFault(run);
}

}  // namespace sluice::chain_app
