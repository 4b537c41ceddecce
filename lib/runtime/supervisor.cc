// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/supervisor.h"

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>

#include "nic/eth_port.h"
#include "runtime/drain.h"
#include "runtime/log.h"
#include "runtime/output_text.h"
#include "runtime/service_manager.h"
#include "runtime/telemetry.h"

namespace sluice::runtime {

namespace {

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

// Sleeps for `seconds`; returns the signal that ended the sleep, or 0.
int WaitForSignal(double seconds, bool hangup) {
  sigset_t set = StopSignals();
  if (hangup) sigaddset(&set, SIGHUP);
  const double whole = std::floor(std::max(seconds, 0.0));
  const timespec timeout{static_cast<time_t>(whole),
                         static_cast<long>((std::max(seconds, 0.0) - whole) * 1e9)};
  return std::max(sigtimedwait(&set, nullptr, &timeout), 0);
}

// Unblocks the stop signals, which from then on end the process at once.
void UnblockSignals() {
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

constexpr double kOverLookS = 0.005;     // Period of checks whether a run is over.
constexpr double kLinkLookS = 0.1;       // Period of checks of the link.
constexpr timespec kLook{0, 1'000'000};  // Period of checks of a drain: 1 ms.

}  // namespace

void BlockSignals(bool hangup) {
  sigset_t set = StopSignals();
  if (hangup) sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool StopAsked() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

Supervisor::Supervisor(const Plan& plan, std::span<const WorkerView> workers)
    : plan_(plan), workers_(workers), link_(nic::PortText(plan.port)) {
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
  sample.seconds = Now() - begin_s_;
  const PortStats now = PortStats::Read(plan_.port);
  sample.nic = NicDropsSince(plan_.opened, now);
  if (port != nullptr) *port = now;
  return sample;
}

void Supervisor::Print(const std::string& line) const {
  if (line.empty() || !TakesText(plan_.text)) return;
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
  Print(link_.Look(up, Now() - begin_s_));
  if (plan_.hooks->link_seen) plan_.hooks->link_seen(up);
}

void Supervisor::Watch() {
  const AppHooks& hooks = *plan_.hooks;
  const double end = plan_.duration_s > 0 && !hooks.over ? plan_.duration_s : INFINITY;
  const double longest = hooks.over ? kOverLookS : kLinkLookS;
  Sample last;
  double next_line = plan_.stats_period_s > 0 ? plan_.stats_period_s : INFINITY;
  for (;;) {
    LookAtLink();
    const double now = Now() - begin_s_;
    if (now >= end || (hooks.over && hooks.over())) return;
    const int signal =
        WaitForSignal(std::min({next_line - now, end - now, longest}), bool{hooks.on_hangup});
    if (signal == SIGHUP) {
      hooks.on_hangup();
    } else if (signal != 0) {
      return;
    }
    if (Now() - begin_s_ < next_line) continue;
    const Sample sample = ReadSample();
    Print(StatsLine(last, sample));
    if (hooks.line && TakesText(plan_.text)) Print(hooks.line());
    last = sample;
    while (next_line <= sample.seconds) next_line += plan_.stats_period_s;
  }
}

void Supervisor::Drain(RunFigures* figures) const {
  DrainWatch watch(Now());
  do {
    nanosleep(&kLook, nullptr);  // Spinning would occupy a CPU that the device may need.
    figures->final = ReadSample(&figures->port_final);
  } while (!watch.Over(*figures, Now()));
}

void Supervisor::Stop(bool model, RunFigures* figures) {
  figures->measured = ReadSample(&figures->port_measured);
  LookAtLink();
  figures->link_up = link_.up();
  link_.End(Now() - begin_s_);
  figures->link_downs = link_.downs();
  figures->link_down_count = link_.count();
  figures->link_down_s = link_.seconds();
  UnblockSignals();
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
  const TelemetryScope telemetry([this] { return ReadSample(); }, figures->reasons, figures->map,
                                 plan_.hooks->commands);
  begin_s_ = Now();
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
  NotifyServiceManager(kServiceReady);
  Watch();
  NotifyServiceManager(kServiceStopping);
  Stop(model, figures);
  if (plan_.metrics != nullptr) plan_.metrics->Serve(nullptr);
}

}  // namespace sluice::runtime
