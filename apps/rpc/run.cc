// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "host/run_schedule.h"
#include "host/run_signals.h"
#include "host/service_manager.h"

namespace sluice::rpc_app {
namespace {

using device::rpc::RpcNic;

Figures ReadFigures(const host::RunSchedule& schedule, const LoadWire* clients, NicThread& nic,
                    uint64_t restarts) {
  Figures figures;
  if (clients != nullptr) {
    figures.load = clients->Figures();
    figures.latency = clients->latency().Snapshot();
  }
  figures.seconds = schedule.Seconds();
  figures.restarts = restarts;
  nic.Do([&](RpcNic& device) {
    for (const auto& counters : {device.Counters(), nic.WireCounters()}) {
      for (const auto& counter : counters) {
        figures.device.emplace_back(counter.name, counter.value);
      }
    }
  });
  return figures;
}

}  // namespace

Figures Run(const Settings& settings, LoadWire* clients, NicThread& nic, Supervision& supervision) {
  constexpr double kLookS = 0.002;
  host::RunSchedule schedule(settings.duration_s, settings.stats_period_s);
  nic.EnableWire(true);
  host::NotifyServiceManager(host::kServiceReady);
  Figures last = ReadFigures(schedule, clients, nic, 0);
  last.seconds = 0;
  while (!schedule.IsOver() && host::WaitForRunSignal(kLookS, false) == 0) {
    supervision.Look();
    if (!schedule.LineDue()) continue;
    Figures now = ReadFigures(schedule, clients, nic, supervision.restarts());
    settings.Print(PeriodLine(last, now) + "\n");
    last = std::move(now);
  }
  host::NotifyServiceManager(host::kServiceStopping);
  const double ran_s = schedule.Seconds();
  if (clients != nullptr) clients->Stop();
  nic.Do([](RpcNic&) {});  // Ensures that the clients have seen the request to stop.
  const double patience_s = ran_s + 2 * static_cast<double>(settings.timeout_ns) / 1e9;
  Figures figures = ReadFigures(schedule, clients, nic, supervision.restarts());
  for (uint64_t calls = ~uint64_t{0}; (figures.missing() != 0 || figures.load.calls != calls) &&
                                      schedule.Seconds() < patience_s;) {
    calls = figures.load.calls;
    std::this_thread::sleep_for(std::chrono::duration<double>(kLookS));
    supervision.Look();
    figures = ReadFigures(schedule, clients, nic, supervision.restarts());
  }
  figures.seconds = ran_s;
  return figures;
}

}  // namespace sluice::rpc_app
