// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-device: a model NIC and its wire in a separate process, for one host process at a time.
// The model is in lib/emulator/running_model.h, and its interface to hosts is in
// lib/emulator/front.h; this file handles EAL, signals and the report.
#include <rte_eal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/standard_streams.h"
#include "emulator/hosted_model.h"
#include "emulator/model.h"
#include "emulator/running_model.h"
#include "flags.h"
#include "front.h"
#include "host/exit_codes.h"
#include "host/report.h"
#include "host/run_schedule.h"
#include "host/run_signals.h"
#include "host/service_manager.h"
#include "report.h"
#include "runtime/runtime_folder.h"
#include "start_eal.h"

namespace {

using sluice::device_app::Flags;
using sluice::device_app::Hint;
using sluice::device_app::JsonReport;
using sluice::device_app::MakeFront;
using sluice::device_app::RatesLine;
using sluice::device_app::ReadFlags;
using sluice::device_app::SocketOf;
using sluice::device_app::StartEal;
using sluice::device_app::TotalsText;
using sluice::emulator::Front;
using sluice::emulator::HostedModel;
using sluice::emulator::Statistic;
using sluice::host::FailStart;
using sluice::host::WriteReport;

// Blocks the signals that control a run, and returns a signalfd for them.
sluice::base::OwnedFd Signals() {
  sluice::host::BlockRunSignals(true);
  const sigset_t set = sluice::host::RunSignals(true);
  return sluice::base::OwnedFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Serves hosts until the duration is over or a signal arrives. Returns the elapsed time in seconds.
double Run(const Flags& flags, HostedModel& model, Front& front, int signals) {
  sluice::host::RunSchedule schedule(flags.duration_s, flags.stats_period_s);
  constexpr double kLongestWaitS = 3600;
  std::vector<Statistic> last = model.Statistics();
  for (double before_s = 0; !schedule.IsOver();) {
    const std::chrono::duration<double> rest(std::min(schedule.Rest(), kLongestWaitS));
    front.Serve(signals, std::chrono::ceil<std::chrono::milliseconds>(rest));
    signalfd_siginfo signal;
    while (read(signals, &signal, sizeof(signal)) == sizeof(signal)) {
      if (signal.ssi_signo != SIGHUP) return schedule.Seconds();
      front.Reset();
    }
    if (!schedule.LineDue()) continue;
    const std::vector<Statistic> now = model.Statistics();
    const double now_s = schedule.Seconds();
    const std::string host = front.Attached();
    std::fprintf(flags.Text(), "%7.1f s  ", now_s);
    flags.Print((host.empty() ? "no host" : host) + " attached  " +
                RatesLine(last, now, now_s - before_s) + "\n");
    last = now;
    before_s = now_s;
  }
  return schedule.Seconds();
}

int Serve(const Flags& flags, int signals) {
  std::string error;
  errno = 0;
  const sluice::emulator::ModelInfo& info = *flags.server.model;
  const auto model = sluice::emulator::MakeModel(SocketOf(flags), info, flags.model, &error);
  if (model == nullptr) return FailStart("--" + error);
  const std::unique_ptr<Front> front = MakeFront(flags, *model, &error);
  if (front == nullptr) return FailStart(error);
  flags.Print("sluice-device, a model of " + std::string(info.title) + ", wire " + flags.wire +
              ", listens at " + SocketOf(flags) + "\n" + Hint(flags) + "\n");
  sluice::host::NotifyServiceManager(sluice::host::kServiceReady);
  const double ran_s = Run(flags, *model, *front, signals);
  sluice::host::NotifyServiceManager(sluice::host::kServiceStopping);
  front->Reset();  // Frames that the host still holds count as abandoned.
  const std::vector<Statistic> totals = model->Statistics();
  flags.Print("hosts " + std::to_string(front->hosts()) + "; " + TotalsText(totals) + "\n");
  return WriteReport(flags.json, JsonReport(flags, totals, front->hosts(), ran_s)) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  int exit_code = 0;
  const std::optional<Flags> flags = ReadFlags(argc, argv, &exit_code);
  if (!flags) return exit_code;
  const sluice::base::OwnedFd signals = Signals();
  std::string file_prefix;  // Set by StartEal, unless the user chose a prefix.
  exit_code = StartEal(*flags, &file_prefix);
  if (exit_code != 0) {
    sluice::runtime::RemoveOwnRun(file_prefix);
    return exit_code;
  }
  try {
    exit_code = Serve(*flags, signals.fd());
  } catch (const std::exception&) {
    std::fprintf(stderr, "%s\n", sluice::emulator::WhyNotStarted().c_str());
    exit_code = 1;
  }
  rte_eal_cleanup();
  sluice::runtime::RemoveOwnRun(file_prefix);
  return exit_code;
}
