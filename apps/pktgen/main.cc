// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-pktgen: sends streams of frames, and checks what comes back. lib/engine/pktgen says what is
// sent when and what was found; worker.h runs it on a queue, generator.h from the main thread.
// Start reading here.
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "generator.h"
#include "runtime/command_line.h"
#include "runtime/session.h"
#include "settings.h"
#include "views.h"
#include "worker.h"

namespace {

using sluice::pktgen::Generator;
using sluice::pktgen::Settings;
using sluice::pktgen::Views;
using sluice::pktgen::Worker;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

// Bits per second; 0: the port does not tell.
uint64_t LineRate(uint16_t port, const Settings& settings) {
  rte_eth_link link{};
  if (settings.line_bps > 0) return settings.line_bps;
  if (rte_eth_link_get_nowait(port, &link) != 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN) {
    return 0;
  }
  return uint64_t{link.link_speed} * 1'000'000;
}

AppHooks HooksOf(Generator& generator, Views& views, const std::string& traffic) {
  AppHooks hooks;
  hooks.started = [&generator] { generator.Start(rte_rdtsc()); };
  hooks.over = [&generator] { return generator.Over(rte_rdtsc()); };
  hooks.settle = [&generator] { generator.Settle(); };
  hooks.findings = [&generator] {
    generator.Finish();
    return Views::FindingsOf(generator.result());
  };
  hooks.line = [&views] { return views.Line(); };
  hooks.report = [&generator, &traffic](nlohmann::ordered_json& report) {
    report["traffic"] = traffic;
    Views::Extend(generator.result(), generator.sending_s(), report);
  };
  hooks.commands = views.Commands();
  return hooks;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "pktgen", "sends streams of frames, and checks what comes back", argc, argv, &exit_code,
      sluice::runtime::TrafficFlags::kOfApplication);
  if (!line) return exit_code;
  std::string flag, fix;
  const std::optional<Settings> settings = sluice::pktgen::ReadSettings(*line, &flag, &fix);
  if (!settings) return BadFlag(flag, fix);
  std::FILE* const text = line->options.json == "-" ? stderr : stdout;
  const std::string_view iface = line->options.iface->name;
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  const auto generator =
      Generator::Make(*settings, session->workers(), LineRate(session->port(), *settings),
                      rte_get_tsc_hz(), &fix);
  if (generator == nullptr) return BadFlag(settings->rates, fix);

  Views views(*generator);
  exit_code = session->Run(
      [&](const WorkerInfo& info) { return Worker(*generator, info.worker, iface); },
      HooksOf(*generator, views, settings->traffic));
  const sluice::engine::pktgen::TrialResult& result = generator->result();
  if (result.streams.empty()) return exit_code;  // It did not begin.
  std::fputs(Views::Totals(result, generator->sending_s()).c_str(), text);
  const auto sum = result.Sum();
  if (sum.sent > 0 && sum.received == 0 && sum.untagged < sum.sent) {
    std::fprintf(stderr, "no frame came back: is the device connected, and does it return frames "
                         "to this port?\n");
    exit_code = std::max(exit_code, 1);
  }
  if (!settings->hgrm.empty() && !Views::WriteLatencies(result, settings->hgrm, &fix)) {
    std::fprintf(stderr, "--hgrm=%s: %s could not be written\n", settings->hgrm.c_str(),
                 fix.c_str());
    exit_code = std::max(exit_code, 1);
  }
  return exit_code;
}
