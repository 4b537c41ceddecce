// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include "runtime/service_manager.h"

namespace sluice::rpc_app {
namespace {

using Clock = std::chrono::steady_clock;
using device::rpc::RpcNic;

Figures ReadFigures(Clock::time_point begin, const LoadWire* clients, NicThread& nic,
                    uint64_t restarts) {
  Figures figures;
  if (clients != nullptr) {
    figures.load = clients->Figures();
    figures.latency = clients->latency().Snapshot();
  }
  figures.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
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

Figures Run(const Settings& settings, const sigset_t& signals, LoadWire* clients, NicThread& nic,
            Supervision& supervision) {
  constexpr timespec kLook{0, 2'000'000};
  const auto begin = Clock::now();
  const double end_s = settings.duration_s > 0 ? settings.duration_s : INFINITY;
  double next_s = settings.stats_period_s > 0 ? settings.stats_period_s : INFINITY;
  nic.EnableWire(true);
  runtime::NotifyServiceManager(runtime::kServiceReady);
  Figures last = ReadFigures(begin, clients, nic, 0);
  last.seconds = 0;
  const auto now_s = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  while (now_s() < end_s && sigtimedwait(&signals, nullptr, &kLook) < 0) {
    supervision.Look();
    if (now_s() < next_s) continue;
    Figures now = ReadFigures(begin, clients, nic, supervision.restarts());
    std::fprintf(settings.Text(), "%s\n", PeriodLine(last, now).c_str());
    std::fflush(settings.Text());
    last = std::move(now);
    while (now_s() >= next_s) next_s += settings.stats_period_s;
  }
  runtime::NotifyServiceManager(runtime::kServiceStopping);
  const double ran_s = now_s();
  if (clients != nullptr) clients->Stop();
  nic.Do([](RpcNic&) {});  // Ensures that the clients have seen the stop.
  const auto patience = Clock::now() + std::chrono::nanoseconds(2 * settings.timeout_ns);
  Figures figures = ReadFigures(begin, clients, nic, supervision.restarts());
  for (uint64_t calls = ~uint64_t{0};
       (figures.missing() != 0 || figures.load.calls != calls) && Clock::now() < patience;) {
    calls = figures.load.calls;
    nanosleep(&kLook, nullptr);
    supervision.Look();
    figures = ReadFigures(begin, clients, nic, supervision.restarts());
  }
  figures.seconds = ran_s;
  return figures;
}

}  // namespace sluice::rpc_app
