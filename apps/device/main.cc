// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-device: a model NIC and its wire in a process of its own, for one host process
// at a time. The model is lib/emulator/running_model.h, what hosts see of it
// lib/emulator/front.h; here are EAL, signals and the report.
#include <rte_eal.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/hosted_model.h"
#include "emulator/model.h"
#include "emulator/running_model.h"
#include "flags.h"
#include "front.h"
#include "report.h"
#include "runtime/runtime_folder.h"
#include "runtime/service_manager.h"
#include "runtime/standard_streams.h"
#include "runtime/start_log.h"

namespace {

using sluice::device_app::Flags;
using sluice::device_app::Hint;
using sluice::device_app::JsonReport;
using sluice::device_app::MakeFront;
using sluice::device_app::RatesLine;
using sluice::device_app::ReadFlags;
using sluice::device_app::SocketOf;
using sluice::device_app::TotalsText;
using sluice::device_app::WriteFile;
using sluice::emulator::Front;
using sluice::emulator::HostedModel;
using sluice::emulator::Statistic;
using sluice::runtime::StartLog;
using Clock = std::chrono::steady_clock;

// A file that tells the signals of a run.
sluice::emulator::File Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return sluice::emulator::File(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The CPUs that this process may run on, as EAL lists them.
std::string Cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::string list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    if (!list.empty()) list += ',';
    list += std::to_string(cpu);
  }
  return list;
}

// What the user leaves open: no hugepages, since all memory that matters is the host's; no
// devices but those that are named; one lcore, which sleeps, on all CPUs, so that the
// model's thread may take any that the host leaves.
bool StartEal(const Flags& flags, std::string* file_prefix) {
  const auto says = [&](std::initializer_list<std::string_view> options) {
    return std::any_of(flags.eal.begin(), flags.eal.end(), [&](std::string_view argument) {
      return std::any_of(options.begin(), options.end(),
                         [&](std::string_view option) { return argument.starts_with(option); });
    });
  };
  std::vector<std::string> arguments = {"sluice-device"};
  arguments.insert(arguments.end(), flags.eal.begin(), flags.eal.end());
  if (!says({"--file-prefix", "--in-memory"})) {
    *file_prefix = sluice::runtime::FilePrefix("device", getpid());
    arguments.push_back("--file-prefix=" + *file_prefix);
  }
  if (!says({"-a", "--allow", "-m", "--no-huge", "--in-memory", "--socket-mem", "--huge-dir"})) {
    arguments.insert(arguments.end(), {"--no-huge", "-m", "256"});
  }
  if (!says({"-a", "--allow", "--no-pci"})) arguments.push_back("--no-pci");
  if (!says({"-l", "-c", "--lcores"})) arguments.push_back("--lcores=0@(" + Cpus() + ")");
  if (!says({"--telemetry", "--no-telemetry"})) arguments.push_back("--no-telemetry");
  if (!says({"--log-level"})) arguments.push_back("--log-level=lib.eal:warning");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  StartLog log(flags.eal.empty() ? StartLog::Lines::kKept : StartLog::Lines::kShown);
  if (log.StartEal(static_cast<int>(arguments.size()), argv.data())) {
    log.Show();
    sluice::runtime::SweepDeadRuns(*file_prefix);
    return true;
  }
  std::fprintf(stderr, "EAL does not start: %s: arguments before -- are EAL's\n",
               log.WhyNotStarted().c_str());
  return false;
}

// Serves until the time is over or a signal says so.
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
  const sluice::emulator::ModelInfo& info = *flags.server.model;
  const auto model = sluice::emulator::MakeModel(SocketOf(flags), info, flags.model, &error);
  if (model == nullptr) {
    std::fprintf(stderr, "--%s\n", error.c_str());
    return 2;
  }
  const std::unique_ptr<Front> front = MakeFront(flags, *model, &error);
  if (front == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  std::FILE* const text = flags.json == "-" ? stderr : stdout;
  std::fprintf(text, "sluice-device, a model of %s, wire %s, listens at %s\n%s\n",
               std::string(info.title).c_str(), flags.wire.c_str(), SocketOf(flags).c_str(),
               Hint(flags).c_str());
  std::fflush(text);
  const auto begin = Clock::now();
  sluice::runtime::TellServiceManager(sluice::runtime::kServiceReady);
  Run(flags, *model, *front, signals, text);
  sluice::runtime::TellServiceManager(sluice::runtime::kServiceStopping);
  const std::chrono::duration<double> ran = Clock::now() - begin;
  front->Reset();  // What the host still had counts as abandoned.
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
  std::string file_prefix;  // Of this process, unless the user chose one.
  if (!StartEal(*flags, &file_prefix)) {
    sluice::runtime::RemoveOwnRun(file_prefix);
    return 2;
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
