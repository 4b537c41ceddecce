// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/supervisor.h"

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "host/output_text.h"
#include "host/run_signals.h"
#include "host/service_manager.h"
#include "nic/eth_port.h"
#include "runtime/drain.h"
#include "runtime/log.h"
#include "runtime/telemetry.h"

namespace sluice::runtime {

namespace {

constexpr double kOverLookS = 0.005;     // Period of checks whether a run is over.
constexpr double kLinkLookS = 0.1;       // Period of checks of the link.
constexpr timespec kLook{0, 1'000'000};  // Period of checks of a drain: 1 ms.

}  // namespace

Supervisor::Supervisor(const Plan& plan, std::span<const WorkerView> workers)
    : plan_(plan), workers_(workers), schedule_(0, 0), link_(nic::PortText(plan.port)) {
  uint32_t lcore = rte_get_next_lcore(-1, 1, 0);
  for (size_t i = 0; i < workers_.size(); ++i) {
    lcores_.push_back(lcore);
    lcore = rte_get_next_lcore(lcore, 1, 0);
  }
}

Sample Supervisor::ReadSample(PortStats* port) const {
  Sample sample;
  for (const WorkerView& worker : workers_) {
    sample.counters += worker.counters->Snapshot();
    sample.busy_cycles += worker.control->busy_cycles.load(std::memory_order_relaxed);
    sample.total_cycles += worker.control->total_cycles.load(std::memory_order_relaxed);
  }
  sample.seconds = schedule_.Seconds();
  const PortStats now = PortStats::Read(plan_.port);
  sample.nic = NicDropsSince(plan_.opened, now);
  if (port != nullptr) *port = now;
  return sample;
}

void Supervisor::Print(const std::string& line) const {
  if (line.empty() || !host::TakesText(plan_.text)) return;
  std::fprintf(plan_.text, "%s\n", line.c_str());
  std::fflush(plan_.text);
}

void Supervisor::LookAtLink() {
  bool up = true;
  {
    const std::scoped_lock lock(PortCalls());
    up = std::ranges::all_of(workers_,
                             [](const WorkerView& worker) { return worker.link_up(worker.job); });
  }
  Print(link_.Look(up, schedule_.Seconds()));
  if (plan_.hooks->link_seen) plan_.hooks->link_seen(up);
}

void Supervisor::Watch() {
  const AppHooks& hooks = *plan_.hooks;
  const double longest = hooks.over ? kOverLookS : kLinkLookS;
  Sample last;
  for (;;) {
    LookAtLink();
    if (schedule_.IsOver() || (hooks.over && hooks.over())) return;
    const int signal = host::WaitForRunSignal(std::min(schedule_.Rest(), longest),
                                              static_cast<bool>(hooks.on_hangup));
    if (signal == SIGHUP) {
      hooks.on_hangup();
    } else if (signal != 0) {
      return;
    }
    if (!schedule_.LineDue()) continue;
    const Sample sample = ReadSample();
    Print(StatsLine(last, sample));
    if (hooks.line && host::TakesText(plan_.text)) Print(hooks.line());
    last = sample;
  }
}

void Supervisor::Drain(RunFigures* figures) const {
  DrainWatch watch(schedule_.Seconds());
  do {
    nanosleep(&kLook, nullptr);  // Spinning would occupy a CPU that the device may need.
    figures->final = ReadSample(&figures->port_final);
  } while (!watch.Over(*figures, schedule_.Seconds()));
}

void Supervisor::Stop(bool model, RunFigures* figures) {
  figures->measured = ReadSample(&figures->port_measured);
  LookAtLink();
  figures->link_up = link_.up();
  link_.End(schedule_.Seconds());
  figures->link_downs = link_.downs();
  figures->link_down_count = link_.count();
  figures->link_down_s = link_.seconds();
  host::UnblockStopSignals();
  if (plan_.hooks->settle) plan_.hooks->settle();
  // Stops the source first, so that the workers process all frames that it sent.
  figures->drained = model && rte_eth_dev_set_link_down(plan_.port) == 0;
  if (figures->drained) Drain(figures);
  for (const WorkerView& worker : workers_) {
    worker.control->stop.store(true, std::memory_order_relaxed);
  }
  rte_eal_mp_wait_lcore();
  figures->final = ReadSample(&figures->port_final);
  for (const WorkerView& worker : workers_) {
    figures->ctx_switches += worker.control->ctx_switches.load(std::memory_order_relaxed);
  }
}

void Supervisor::Run(RunFigures* figures) {
  figures->port_begin = PortStats::Read(plan_.port);
  const bool model = figures->port_begin.IsModel();
  schedule_ = {plan_.hooks->over ? 0 : plan_.duration_s, plan_.stats_period_s};
  const TelemetryScope telemetry([this] { return ReadSample(); }, figures->reasons, figures->map,
                                 plan_.hooks->commands);
  if (plan_.metrics != nullptr) {
    plan_.metrics->Serve(
        [this, reasons = figures->reasons, about = BuildInfo(figures->app, figures->iface)] {
          MetricFamilies families = MetricsOf(ReadSample(), reasons);
          families.insert(families.begin(), about.begin(), about.end());
          if (plan_.hooks->metrics) plan_.hooks->metrics(families);
          return families;
        });
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    rte_eal_remote_launch(workers_[i].main, workers_[i].job, lcores_[i]);
  }
  if (model) rte_eth_dev_set_link_up(plan_.port);
  if (plan_.hooks->started) plan_.hooks->started();
  host::NotifyServiceManager(host::kServiceReady);
  Watch();
  host::NotifyServiceManager(host::kServiceStopping);
  Stop(model, figures);
  if (plan_.metrics != nullptr) plan_.metrics->Serve(nullptr);
}

}  // namespace sluice::runtime
