// SPDX-License-Identifier: BSD-3-Clause
#include "views.h"

#include <absl/strings/str_format.h>

#include <utility>

#include "host/measures.h"
#include "runtime/wire_clients.h"

namespace sluice::sched {
namespace {

using Json = nlohmann::ordered_json;
using host::Us;

// Restricts the result to scalars and objects of scalars, because telemetry cannot represent other
// values.
Json Flat(const Result& result) {
  const Json whole = result.ToJson();
  Json flat = Json::object();
  for (const auto& [name, value] : whole.items()) {
    if (!value.is_object()) {
      flat[name] = value;
      continue;
    }
    Json inner = Json::object();
    for (const auto& [key, entry] : value.items()) {
      if (!entry.is_object()) inner[key] = entry;
    }
    flat[name] = std::move(inner);
  }
  return flat;
}

}  // namespace

std::string Introduction(const Settings& settings) {
  const PlayOptions& play = settings.play;
  std::string text = absl::StrFormat(
      "%d worker CPU(s); agent on CPU %d; the NIC's memory is modelled by cache lines that two "
      "cores share",
      play.workers, play.agent.cpu);
  if (settings.worker.own) {
    const WorkloadOptions& own = *settings.worker.own;
    absl::StrAppendFormat(&text,
                          "\nrequests: each worker generates %.0f/s (Poisson), %g %% of %g us and "
                          "%g %% of %g us, and needs %.0f %% of its time for them",
                          own.rate, 100 * (1 - own.long_share), own.short_us, 100 * own.long_share,
                          own.long_us, 100 * Load(own));
  }
  return text;
}

std::string Lines::Next(const runtime::PortStats& port) {
  const Result now = play_.ReadResult();
  const double seconds = now.seconds - last_.seconds;
  if (now.policy != last_.policy || now.mode != last_.mode || seconds <= 0 ||
      now.figures.answered < last_.figures.answered) {
    last_ = {};
  }
  const double period = now.seconds - last_.seconds;
  const Figures& f = now.figures;
  std::string line = absl::StrFormat(
      "    %s %s: %.0f requests/s, busy %.0f %%; short p50 %.1f, p99 %.1f us; long p99 %.0f us; "
      "%.0f decisions/s, p50 %.1f, p99 %.1f us, %d refused; %d unfinished",
      now.policy, now.mode,
      period > 0 ? static_cast<double>(f.answered - last_.figures.answered) / period : 0,
      100 * now.busy, Us(f.latency[0].Percentile(0.5)), Us(f.latency[0].Percentile(0.99)),
      Us(f.latency[1].Percentile(0.99)),
      period > 0 ? static_cast<double>(now.Ruled() - last_.Ruled()) / period : 0,
      Us(f.decision.Percentile(0.5)), Us(f.decision.Percentile(0.99)), now.Refused(),
      now.host.unfinished);
  if (now.host.counters.watchdog_expired > 0 || now.agents > 1) {
    absl::StrAppendFormat(
        &line,
        "; watchdog expired %d time(s), %d agents, %d discoveries, %d choices without an agent",
        now.host.counters.watchdog_expired, now.agents, now.host.counters.discoveries,
        now.host.counters.local_choices);
  }
  if (const emulator::ClientCounts clients = runtime::ReadClients(port); clients.requests > 0) {
    absl::StrAppendFormat(
        &line,
        "\n    clients: %d answers, short p50 %.1f, p99 %.1f us, long p99 %.0f us, %d wrong, "
        "%d late",
        clients.answered + clients.wrong + clients.late, Us(port.Get("wire_client_short_p50_ns")),
        Us(port.Get("wire_client_short_p99_ns")), Us(port.Get("wire_client_long_p99_ns")),
        clients.wrong, clients.late);
  }
  last_ = now;
  return line;
}

void Extend(const Board& board, Json& report) {
  Json runs = Json::array();
  for (const Result& result : board.results()) runs.push_back(result.ToJson());
  report["runs"] = std::move(runs);
}

std::string Totals(const Board& board) {
  const std::vector<Result> results = board.results();
  std::string text;
  if (results.size() == 1) text = TableHead() + "\n" + TableRow(results[0]) + "\n";
  uint64_t answered = 0, refused = 0, cuts = 0;
  for (const Result& result : results) {
    answered += result.figures.answered;
    refused += result.figures.refused;
    cuts += result.figures.cuts;
    if (result.host.counters.watchdog_expired == 0 && result.agents <= 1 &&
        result.host.faults == 0) {
      continue;
    }
    absl::StrAppendFormat(
        &text,
        "%s %s: watchdog expired %d time(s), %d agent(s), %d discoveries, %d choices by the host "
        "without an agent, %d invalid values from a peer\n",
        result.policy, result.mode, result.host.counters.watchdog_expired, result.agents,
        result.host.counters.discoveries, result.host.counters.local_choices, result.host.faults);
  }
  absl::StrAppendFormat(
      &text, "requests answered %d, refused %d, unfinished %d; interrupted by signals %d\n",
      answered, refused, Unfinished(board), cuts);
  return text;
}

uint64_t Unfinished(const Board& board) {
  uint64_t sum = 0;
  for (const Result& result : board.results()) sum += result.host.unfinished;
  return sum;
}

std::vector<runtime::TelemetryCommand> Commands(Play& play) {
  return {{"/sluice/sched/stats", "Figures of the current policy and mode",
           [&play](std::string_view) { return Flat(play.ReadResult()); }},
          {"/sluice/sched/latency", "Latencies of the current policy and mode, as histograms",
           [&play](std::string_view) { return play.ReadResult().LatencyJson(); }},
          {"/sluice/sched/results", "Figures of finished policies and modes, one object each",
           [&play](std::string_view) {
             Json all = Json::array();
             for (const Result& result : play.board().results()) {
               const Json whole = result.ToJson();
               Json flat = Json::object();
               for (const auto& [name, value] : whole.items()) {
                 if (!value.is_object()) flat[name] = value;
               }
               all.push_back(std::move(flat));
             }
             return all;
           }}};
}

}  // namespace sluice::sched
