// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "host/run_schedule.h"
#include "host/run_signals.h"
#include "report.h"

namespace sluice::chain_app {
namespace {

constexpr double kLookS = 0.002;

Figures Look(const Ledgers& ledgers, System& system) {
  Figures figures = system.ReadFigures();
  for (const auto& ledger : ledgers) {
    figures.endings += ledger->Now();
    figures.latency.Add(ledger->latency().Snapshot());
  }
  return figures;
}

}  // namespace

std::optional<Ledgers> MakeLedgers(const ChainSettings& settings, uint64_t seed,
                                   std::string* error) {
  Ledgers ledgers;
  for (const auto flow : settings.flows) {
    const uint32_t longest = engine::chain::ChainOf(settings.graph, flow)->message;
    auto traffic =
        settings.traffic->make({settings.traffic_options, seed + ledgers.size(), longest}, error);
    if (traffic == nullptr) {
      const std::string colon = settings.traffic_options.empty() ? "" : ":";
      *error = "--traffic=" + (settings.traffic->name + colon) + settings.traffic_options + ": " +
               *error;
      return std::nullopt;
    }
    const uint64_t most = settings.messages == 0 ? ~uint64_t{0} : settings.messages;
    ledgers.push_back(std::make_unique<Ledger>(std::move(traffic), longest, settings.outstanding,
                                               settings.timeout_ns, most));
  }
  return ledgers;
}

Figures Run(const Settings& settings, const Ledgers& ledgers, System& system) {
  const uint64_t most = settings.messages * settings.flows.size();
  system.StartTraffic();
  host::RunSchedule schedule(settings.duration_s, settings.stats_period_s);
  Figures last = Look(ledgers, system);
  Figures now = last;
  while (!schedule.IsOver() && (most == 0 || now.endings.ended() != most)) {
    const int signal = host::WaitForRunSignal(kLookS, settings.hangup());
    if (signal == SIGINT || signal == SIGTERM) break;
    if (signal == SIGHUP) settings.Print(system.Reload(settings.graph_file));
    settings.Print(system.Tend());
    now = Look(ledgers, system);
    if (!schedule.LineDue()) continue;
    settings.Print(PeriodLine(last, now) + "\n");
    last = now;
  }
  const double ran_s = schedule.Seconds();
  system.StopTraffic();
  // All messages in flight end, or are counted as lost, before this deadline.
  const double patience_s = ran_s + 2 * static_cast<double>(settings.timeout_ns) / 1e9;
  uint64_t sent = ~uint64_t{0};
  for (now = Look(ledgers, system);
       (now.missing() != 0 || now.endings.sent != sent) && schedule.Seconds() < patience_s;) {
    sent = now.endings.sent;
    std::this_thread::sleep_for(std::chrono::duration<double>(kLookS));
    settings.Print(system.Tend());
    now = Look(ledgers, system);
  }
  now.seconds = ran_s;
  return now;
}

}  // namespace sluice::chain_app
