// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-logmon: matches log lines as they cross the network, or serves syslog over TCP. The
// engines are lib/engine/logmon; settings.h describes the flags; collector.h describes how matches
// are processed; everything else is lib/runtime. Start reading here.
#include <gflags/gflags.h>
#include <rte_cycles.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "collector.h"
#include "engine/logmon/scan/rule_set.h"
#include "recorder.h"
#include "report.h"
#include "runtime/command_line.h"
#include "runtime/session.h"
#include "runtime/tcp/tcp_server.h"
#include "settings.h"
#include "test_filter.h"
#include "worker.h"

DEFINE_string(test_filter, "",
              "Print, as JSON, the lines of standard input that this pattern matches, and exit");

namespace {

using sluice::engine::logmon::RuleSet;
using sluice::logmon::Collector;
using sluice::logmon::Figures;
using sluice::logmon::Recorder;
using sluice::logmon::Settings;
using sluice::logmon::SyslogWorker;
using sluice::logmon::WallClock;
using sluice::logmon::Worker;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::Session;
using sluice::runtime::TcpServer;
using sluice::runtime::WorkerInfo;

// Maximum wait for missing bytes of a TCP stream: several retransmissions.
constexpr uint64_t kGapSeconds = 3;
// Maximum time between two lines of a login session, as in fail2ban's mlfidCache.
constexpr uint64_t kSessionSeconds = 300;

int RunTest() {
  std::string error;
  const auto answer = sluice::logmon::TestFilter(FLAGS_test_filter, std::cin, &error);
  if (!answer) return BadFlag("test_filter", error);
  std::fputs(sluice::logmon::AsciiLine(*answer).c_str(), stdout);
  return 0;
}

uint64_t UnixNs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

AppHooks MakeHooks(Collector& collector, const Settings& settings) {
  const auto& config = settings.config;
  AppHooks hooks;
  hooks.line = [&, last = std::make_shared<Figures>(), then = UnixNs()]() mutable {
    Figures figures = collector.ReadFigures();
    const uint64_t before = std::exchange(then, UnixNs());
    const double seconds = static_cast<double>(then - before) * 1e-9;
    std::string line = PeriodLine(*last, figures, seconds, config);
    *last = std::move(figures);
    return line;
  };
  hooks.report = [&](nlohmann::ordered_json& report) {
    collector.Stop();
    report["logmon"] = FiguresJson(collector.ReadFigures(), config);
    report["logmon"]["minutes"] = collector.Minutes();
  };
  hooks.metrics = [&](sluice::runtime::MetricFamilies& families) {
    AddMetrics(collector.ReadFigures(), config, families);
  };
  hooks.commands = {
      {"/sluice/logmon/filters", "Filters, with the number of events of each. No parameters.",
       [&](std::string_view) {
         // Indexed by number, because filter names can be too long for telemetry names.
         nlohmann::ordered_json answer;
         const Figures figures = collector.ReadFigures();
         for (size_t i = 0; i < config.about.size(); ++i) {
           answer[std::to_string(i)] = {{"name", config.about[i].name},
                                        {"events", figures.filters[i].events}};
         }
         return answer;
       }},
      {"/sluice/logmon/sources", "Counters of the text that sources send. No parameters.",
       [&](std::string_view) { return FiguresJson(collector.ReadFigures(), config)["sources"]; }}};
  return hooks;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "logmon", "matches log lines in received frames against filters", argc, argv, &exit_code);
  if (!line) return exit_code;
  // An empty pattern is valid and matches every line, so check whether the flag was set.
  if (!gflags::GetCommandLineFlagInfoOrDie("test_filter").is_default) return RunTest();
  std::string flag, fix;
  std::optional<sluice::runtime::SampleCapture> capture;
  std::optional<Settings> settings = sluice::logmon::ReadSettings(*line, &flag, &fix);
  if (!settings) return BadFlag(flag, fix);
  const auto rules = RuleSet::Compile(std::move(settings->config.filters), &fix);
  if (rules == nullptr) return BadFlag("filters", fix);
  if (!MakeSample(*settings, &*line, &capture, &flag, &fix)) return BadFlag(flag, fix);
  line->options.answers = false;
  line->options.promiscuous |= settings->server_port == 0;
  // An Enso NIC may deliver a SYN late, and to a different pipe than the rest of its stream. The
  // monitor could then not tell whether the stream begins with a whole line, so one pipe is used.
  if (!(settings->monitor.tcp_ports.empty() && settings->monitor.syslog_tcp_ports.empty()) &&
      gflags::GetCommandLineFlagInfoOrDie("pipes").is_default) {
    line->options.interface.pipes = 1;
  }

  std::FILE* const text = line->options.Text();
  const uint64_t seed = line->options.SeedOrRandom();
  TcpServer server({settings->server_port});
  if (settings->server_port != 0) server.Prepare<SyslogWorker>(*line);
  const auto session = Session::Start(*std::move(line), &exit_code);
  capture.reset();
  if (session == nullptr) return exit_code;
  for (const std::string& skipped_rules : settings->config.skipped_rules) {
    std::fprintf(stderr, "--filters: skipped %s\n", skipped_rules.c_str());
  }

  const uint64_t hz = rte_get_tsc_hz();
  settings->monitor.idle_cycles = static_cast<uint64_t>(settings->idle_s * static_cast<double>(hz));
  settings->monitor.gap_cycles = kGapSeconds * hz;
  settings->monitor.session_cycles = kSessionSeconds * hz;
  const WallClock clock(UnixNs(), rte_rdtsc(), hz);
  Collector collector(*settings, clock, session->workers(), text);
  if (!collector.Open(&flag, &fix)) return BadFlag(flag, fix);
  collector.Start();
  const auto make_recorder = [&](uint32_t worker) {
    return Recorder(settings->config, clock, collector.batches(worker));
  };
  AppHooks hooks = MakeHooks(collector, *settings);
  if (settings->server_port != 0) {
    exit_code = server.Run(
        *session,
        [&](const WorkerInfo& info) {
          return SyslogWorker(*rules, settings->monitor, make_recorder(info.worker),
                              collector.batches(info.worker));
        },
        std::move(hooks));
  } else {
    exit_code = session->Run(
        [&](const WorkerInfo& info) {
          return Worker(info.own, *rules, settings->monitor, make_recorder(info.worker),
                        collector.batches(info.worker), seed);
        },
        std::move(hooks));
  }
  collector.Stop();
  return exit_code == 0 && collector.failed() ? 1 : exit_code;
}
