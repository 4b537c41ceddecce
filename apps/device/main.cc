// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-device: a model NIC and its wire in a separate process, for one host process at a time.
// The model is lib/emulator/running_model.h, its interface to hosts lib/emulator/front.h; this file
// handles EAL, signals and the report.
#include <rte_eal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/hosted_model.h"
#include "emulator/model.h"
#include "emulator/running_model.h"
#include "flags.h"
#include "front.h"
#include "report.h"
#include "runtime/exit_codes.h"
#include "runtime/runtime_folder.h"
#include "runtime/service_manager.h"
#include "runtime/standard_streams.h"
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
using sluice::device_app::WriteFile;
using sluice::emulator::Front;
using sluice::emulator::HostedModel;
using sluice::emulator::Statistic;
using sluice::runtime::StartFailureCode;
using Clock = std::chrono::steady_clock;

// Returns a signalfd for the signals of a run.
sluice::emulator::File Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return sluice::emulator::File(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Serves hosts until the duration is over or a signal arrives.
void Run(const Flags& flags, HostedModel& model, Front& front, int signals, std::FILE* text) {
  const auto begin = Clock::now();
  const auto at = [&](double s) {
    return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  };
  constexpr double kForeverS = 1e8;
  const auto end = at(flags.duration_s > 0 ? std::min(flags.duration_s, kForeverS) : kForeverS);
  const double period_s = flags.stats_period_s > 0 ? flags.stats_period_s : kForeverS;
  std::vector<Statistic> last = model.Statistics();
  for (double next_s = period_s; Clock::now() < end;) {
    const auto left = std::min(end, at(std::min(next_s, kForeverS))) - Clock::now();
    const auto patience = std::chrono::ceil<std::chrono::milliseconds>(left);
    front.Serve(signals, std::clamp(patience, std::chrono::milliseconds(0),
                                    std::chrono::milliseconds(3'600'000)));
    signalfd_siginfo signal;
    while (read(signals, &signal, sizeof(signal)) == sizeof(signal)) {
      if (signal.ssi_signo != SIGHUP) return;
      front.Reset();
    }
    if (Clock::now() < at(next_s)) continue;
    const std::vector<Statistic> now = model.Statistics();
    const std::string host = front.Attached();
    std::fprintf(text, "%7.1f s  %s attached  %s\n", next_s,
                 host.empty() ? "no host" : host.c_str(), RatesLine(last, now, period_s).c_str());
    std::fflush(text);
    last = now;
    while (Clock::now() >= at(next_s)) next_s += period_s;
  }
}

int Serve(const Flags& flags, int signals) {
  std::string error;
  errno = 0;
  const sluice::emulator::ModelInfo& info = *flags.server.model;
  const auto model = sluice::emulator::MakeModel(SocketOf(flags), info, flags.model, &error);
  if (model == nullptr) {
    const int exit_code = StartFailureCode(errno);
    std::fprintf(stderr, "--%s\n", error.c_str());
    return exit_code;
  }
  const std::unique_ptr<Front> front = MakeFront(flags, *model, &error);
  if (front == nullptr) {
    const int exit_code = StartFailureCode(errno);
    std::fprintf(stderr, "%s\n", error.c_str());
    return exit_code;
  }
  std::FILE* const text = flags.json == "-" ? stderr : stdout;
  std::fprintf(text, "sluice-device, a model of %s, wire %s, listens at %s\n%s\n",
               std::string(info.title).c_str(), flags.wire.c_str(), SocketOf(flags).c_str(),
               Hint(flags).c_str());
  std::fflush(text);
  const auto begin = Clock::now();
  sluice::runtime::NotifyServiceManager(sluice::runtime::kServiceReady);
  Run(flags, *model, *front, signals, text);
  sluice::runtime::NotifyServiceManager(sluice::runtime::kServiceStopping);
  const std::chrono::duration<double> ran = Clock::now() - begin;
  front->Reset();  // Frames that the host still has count as abandoned.
  const std::vector<Statistic> totals = model->Statistics();
  std::fprintf(text, "hosts %lu; %s\n", front->hosts(), TotalsText(totals).c_str());
  std::fflush(text);
  if (flags.json.empty()) return 0;
  if (WriteFile(flags.json, JsonReport(flags, totals, front->hosts(), ran.count()))) return 0;
  std::fprintf(stderr, "--json=%s: could not be written\n", flags.json.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  sluice::runtime::OpenStandardStreams();
  int exit_code = 0;
  const std::optional<Flags> flags = ReadFlags(argc, argv, &exit_code);
  if (!flags) return exit_code;
  const sluice::emulator::File signals = Signals();
  std::string file_prefix;  // Prefix of this process, unless the user chose one.
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
