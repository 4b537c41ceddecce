// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-maglev: a load balancer. The engine is lib/engine/maglev; control.h contains the current
// configuration and the functions that change it; everything else is lib/runtime. Start reading
// here.
#include <gflags/gflags.h>
#include <rte_cycles.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "commands.h"
#include "control.h"
#include "explain.h"
#include "fleet.h"
#include "health.h"
#include "metrics.h"
#include "origin.h"
#include "plan.h"
#include "report.h"
#include "ring_warnings.h"
#include "runtime/command_line.h"
#include "runtime/replay.h"
#include "runtime/sample_capture.h"
#include "runtime/session.h"
#include "steering.h"
#include "traffic.h"

DEFINE_bool(check, false, "Check the configuration: print ok or every error, and exit");
DEFINE_string(
    explain, "",
    "Print where frames of this flow go and why, and exit; a flow is 'tcp 1.2.3.4:5 10.0.0.1:80'");
DEFINE_string(
    plan, "",
    "Print the share of slots and flows that this new configuration file would move, and exit");
DEFINE_string(instance, "",
              "With --plan: compare with the running instance that has this --file-prefix, and "
              "count its live flows");
DECLARE_string(ip);
DECLARE_uint32(flows);

namespace {

using namespace sluice::maglev;
using sluice::engine::maglev::Balancer;
using sluice::engine::maglev::Tables;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::CommandLine;
using sluice::runtime::SampleCapture;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

AppHooks MakeHooks(Control& control, const Fleet& fleet) {
  AppHooks hooks;
  hooks.report = [&](nlohmann::ordered_json& report) { ExtendReport(control, fleet, report); };
  return hooks;
}

int RunReplay(const CommandLine& line, Origin origin) {
  Control control(std::move(origin.config), origin.path, 1);
  const Worker* one = nullptr;
  Fleet fleet(sluice::runtime::kReplayHz,
              [&one] { return one->balancer().seconds() * sluice::runtime::kReplayHz; });
  Worker worker(fleet, control.published(), 0, line.options.seed.value_or(1));
  one = &worker;
  return sluice::runtime::Replay(line, worker, MakeHooks(control, fleet));
}

// Generates traffic to the VIPs on the embedded NIC, unless a flag selects other traffic. Returns
// nullopt if no traffic is generated; on failure, also sets `error` to one line.
std::optional<SampleCapture> MakeTraffic(const sluice::engine::maglev::Setup& setup,
                                         CommandLine* line, std::string* error) {
  sluice::runtime::Options& options = line->options;
  if (!sluice::runtime::WantsSample(*line)) return std::nullopt;
  const TrafficOptions traffic{.flows = FLAGS_flows,
                               .size = options.frame_size,
                               .ipv4_only = options.iface->ipv4_only,
                               .seed = options.seed.value_or(1)};
  const auto write = [&](const std::string& path, std::string* why) {
    return WriteTraffic(setup, traffic, path, why);
  };
  return SampleCapture::Make(
      options, write, "vips:size=" + traffic.size + "+flows=" + std::to_string(traffic.flows), "",
      error);
}

int RunExplain(const Config& config) {
  const auto flow = ParseFlow(FLAGS_explain);
  if (!flow) return BadFlag("explain", "give 'tcp|udp address:port address:port', IPv6 as [::]:80");
  std::fputs(AsLines(Explain(*Tables::Build(config.setup, nullptr), *flow)).c_str(), stdout);
  return 0;
}

int RunPlan(const Origin& origin) {
  std::string error;
  std::vector<std::string> errors;
  std::optional<nlohmann::ordered_json> plan;
  if (!FLAGS_instance.empty()) {
    const std::string path = std::filesystem::absolute(FLAGS_plan);
    plan = AskInstance(FLAGS_instance, "/sluice/maglev/plan", path, &error);
    if (!plan) return BadFlag("instance", error);
    if (plan->contains("error")) return BadFlag("plan", plan->value("error", ""));
  } else if (const auto next = ReadBeside(FLAGS_plan, origin.sources.additions, &errors)) {
    plan = Plan(origin.config.setup, next->setup);
  } else {
    return BadFlag("plan", errors.front());
  }
  std::fputs(PlanText(*plan).c_str(), stdout);
  return 0;
}

int RunLive(CommandLine line, Origin origin) {
  const uint64_t seed = line.options.SeedOrRandom();
  line.options.interface.headroom_bytes = Balancer::kHeadroomBytes;
  line.options.interface.packet_bytes = sluice::engine::maglev::LongestPacket(origin.config.setup);
  line.options.answers = false;
  line.options.hangup = true;
  std::FILE* const text = line.options.Text();
  std::string error;
  auto traffic = MakeTraffic(origin.config.setup, &line, &error);
  if (!error.empty()) return BadFlag("config", error);
  int exit_code = 0;
  const auto session = Session::Start(std::move(line), &exit_code);
  traffic.reset();
  if (session == nullptr) return exit_code;
  error = MtuFault(origin.config.setup, session->packet_bytes());
  if (!error.empty()) return BadFlag("config", error);
  Control control(std::move(origin.config), origin.path, session->workers(),
                  std::move(origin.sources));
  control.set_port_packet_bytes(session->packet_bytes());
  Fleet fleet(rte_get_tsc_hz(), [] { return rte_rdtsc(); });
  control.set_on_new_owners([&fleet](const auto& owners) { fleet.Restart(owners); });
  AppHooks hooks = MakeHooks(control, fleet);
  ShareLine shares(control, fleet);
  hooks.line = [&shares] { return shares.Next(); };
  hooks.metrics = [&](auto& families) { AddMetrics(control, fleet, families); };
  Steering steering(session->port(), session->workers());
  Operator commands(control, fleet, session->has_queues() ? &steering : nullptr);
  hooks.on_hangup = [&commands] { commands.Reload(); };
  hooks.commands = commands.Commands();
  std::fprintf(text, "%s\n", commands.Steer().c_str());
  std::fflush(text);
  commands.PrintSkipped();
  const HealthMonitor health(control);
  if (origin.etcd != nullptr) {
    origin.etcd->Follow([&](const Additions& additions) { commands.ApplyAdditions(additions); },
                        [](const std::string& trouble) {
                          std::fprintf(stderr, "etcd: %s (keeping the configuration)\n",
                                       trouble.c_str());
                        });
  }
  exit_code = session->Run(
      [&](const WorkerInfo& info) { return Worker(fleet, control.published(), info.worker, seed); },
      std::move(hooks));
  // Ends etcd's thread, which uses objects that are destroyed before `origin`.
  origin.etcd.reset();
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "maglev", "distributes connections to virtual IP addresses (VIPs) over their backends", argc,
      argv, &exit_code);
  if (!line) return exit_code;
  if (!FLAGS_ip.empty()) {
    return BadFlag("ip",
                   "the program balances frames for a VIP and passes all others to "
                   "--exception_port: omit --ip");
  }
  Trouble trouble;
  std::optional<Origin> origin = ReadOrigin(&trouble);
  if (origin) PrintRingWarnings(origin->config.setup);
  if (FLAGS_check) {
    for (const std::string& error : trouble.errors) std::printf("%s\n", error.c_str());
    if (origin) {
      for (const auto& [key, line] : origin->config.skipped) std::printf("%s\n", line.c_str());
      std::printf("ok\n");
    }
    return origin ? 0 : 2;
  }
  if (!origin) {
    const std::string more = trouble.errors.size() == 1 ? "" : " (and more: see --check)";
    BadFlag(trouble.flag, trouble.errors.front() + more);
    return trouble.exit_code;
  }
  if (!FLAGS_explain.empty()) return RunExplain(origin->config);
  if (!FLAGS_plan.empty()) return RunPlan(*origin);
  if (!FLAGS_instance.empty()) return BadFlag("instance", "requires --plan=FILE");
  if (sluice::runtime::WantsReplay()) return RunReplay(*line, *std::move(origin));
  return RunLive(*std::move(line), *std::move(origin));
}
