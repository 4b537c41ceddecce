// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-pktgen: sends streams of frames, and checks the received ones. lib/engine/pktgen schedules
// the frames and evaluates the results; worker.h runs lib/engine/pktgen on a queue; generator.h
// controls the workers from the main thread. Start reading here.
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "campaign.h"
#include "generator.h"
#include "nic/eth_port.h"
#include "rfc2544_views.h"
#include "round.h"
#include "runtime/command_line.h"
#include "runtime/session.h"
#include "runtime/tsc_rate.h"
#include "settings.h"
#include "views.h"
#include "worker.h"

namespace {

using sluice::engine::pktgen::TrialResult;
using sluice::pktgen::Campaign;
using sluice::pktgen::Generator;
using sluice::pktgen::Round;
using sluice::pktgen::Settings;
using sluice::pktgen::Views;
using sluice::pktgen::Worker;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

// Returns the line rate in bits per second; 0 if the port does not report it.
uint64_t LineRate(uint16_t port, const Settings& settings) {
  rte_eth_link link{};
  if (settings.line_bps > 0) return settings.line_bps;
  if (rte_eth_link_get_nowait(port, &link) != 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN) {
    return 0;
  }
  return uint64_t{link.link_speed} * 1'000'000;
}

// Returns the hooks that a trial and a test have in common.
AppHooks HooksOf(Generator& generator) {
  AppHooks hooks;
  hooks.link_seen = [&generator](bool up) { generator.LinkSeen(up); };
  return hooks;
}

// Returns the hooks of a single trial with the configured streams.
AppHooks HooksOf(Round& round, Generator& generator, TrialResult& result,
                 const std::string& traffic) {
  AppHooks hooks = HooksOf(generator);
  hooks.started = [&round] { round.Start(rte_rdtsc()); };
  hooks.over = [&round] { return round.Over(rte_rdtsc()); };
  hooks.settle = [&round] { round.Settle(); };
  hooks.findings = [&round, &generator, &result] {
    result = round.Finish(generator.TakenBack());
    return Views::FindingsOf(result);
  };
  hooks.report = [&round, &generator, &result, &traffic](nlohmann::ordered_json& report) {
    report["traffic"] = traffic;
    Views::Extend(result, round.sending_s(), generator.settings(), report);
  };
  return hooks;
}

// Returns the hooks of an RFC 2544 test, which runs many trials.
AppHooks HooksOf(Campaign& campaign, Generator& generator, const std::string& traffic) {
  AppHooks hooks = HooksOf(generator);
  hooks.started = [&campaign] { campaign.Start(); };
  hooks.over = [&campaign] { return campaign.over(); };
  hooks.settle = [&campaign] { campaign.Cancel(); };
  hooks.findings = [&campaign] {
    return sluice::runtime::Findings{.foreign = campaign.found().foreign};
  };
  hooks.line = [&campaign] { return campaign.Line(); };
  hooks.report = [&campaign, &traffic](nlohmann::ordered_json& report) {
    report["traffic"] = traffic;
    report["rfc2544"] = sluice::pktgen::Rfc2544Json(campaign.test(), campaign.found());
  };
  return hooks;
}

// Prints the result of a single trial. Returns the exit code.
int Conclude(const TrialResult& result, double seconds, const Settings& settings, std::FILE* text) {
  std::fputs(Views::Totals(result, seconds).c_str(), text);
  int exit_code = 0;
  const auto sum = result.Sum();
  if (sum.sent > 0 && sum.received == 0 && sum.untagged < sum.sent) {
    std::fprintf(
        stderr,
        "no frame came back: check that the device is connected and returns frames to this port\n");
    exit_code = 1;
  }
  std::string failed;
  if (!settings.hgrm.empty() && !Views::WriteLatencies(result, settings.hgrm, &failed)) {
    std::fprintf(stderr, "--hgrm=%s: %s could not be written\n", settings.hgrm.c_str(),
                 failed.c_str());
    exit_code = 1;
  }
  return exit_code;
}

// Prints the result of a test. Returns the exit code.
int Conclude(const Campaign& campaign, std::FILE* text) {
  std::fputs(sluice::pktgen::Rfc2544Totals(campaign.test(), campaign.found()).c_str(), text);
  const std::string why = sluice::pktgen::WhyNoVerdict(campaign.test(), campaign.found());
  if (why.empty()) return 0;
  std::fprintf(stderr, "no verdict: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "pktgen", "sends streams of frames and checks the returned frames", argc, argv, &exit_code,
      sluice::runtime::TrafficFlags::kOfApplication, sluice::pktgen::OwnHelp());
  if (!line) return exit_code;
  std::string flag, fix;
  const std::optional<Settings> settings = sluice::pktgen::ReadSettings(*line, &flag, &fix);
  if (!settings) return BadFlag(flag, fix);
  std::FILE* const text = line->options.Text();
  const std::string_view iface = line->options.iface->name;
  line->options.promiscuous = true;
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  if (!session->AwaitLink(Generator::kLinkPatienceS)) {
    std::fprintf(text, "%s: the link is still down after %d s; sending begins nevertheless\n",
                 sluice::nic::PortText(session->port()).c_str(), Generator::kLinkPatienceS);
  }
  Generator generator(*settings, session->workers(), LineRate(session->port(), *settings),
                      sluice::runtime::MeasureTscHz());
  // A round with the configured streams exists even before a test, so that frames that a queue
  // cannot send are detected before the first trial.
  const std::unique_ptr<Round> round = generator.Begin(settings->streams, settings->end_ps, &fix);
  if (round == nullptr) return BadFlag(settings->rates, fix);

  std::fputs(Views::CaptureNotes(*settings).c_str(), text);
  const auto make_engine = [&](const WorkerInfo& info) {
    return Worker(generator, info.worker, iface);
  };
  if (settings->rfc2544) {
    if (generator.line_bps() == 0) {
      return BadFlag("line_gbps", "the port does not report its line rate: set --line_gbps");
    }
    Campaign campaign(generator);
    exit_code = session->Run(make_engine, HooksOf(campaign, generator, settings->traffic));
    return std::max(exit_code, Conclude(campaign, text));
  }
  TrialResult result;
  Views views(*round);
  AppHooks hooks = HooksOf(*round, generator, result, settings->traffic);
  hooks.line = [&views] { return views.Line(); };
  hooks.commands = views.Commands();
  exit_code = session->Run(make_engine, std::move(hooks));
  if (result.streams.empty()) return exit_code;  // The trial did not start.
  return std::max(exit_code, Conclude(result, round->sending_s(), *settings, text));
}
