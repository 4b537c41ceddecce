// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-chain on interfaces that carry frames. Messages arrive in datagrams. The worker acts as
// the chain's NIC: it passes messages to the chain and sends the answers (front.h). The rest of the
// chain is in system.h. sluice-chain executes this program if --iface is given.
#include <gflags/gflags.h>
#include <rte_cycles.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/messages/message_server.h"
#include "frames/client_library.h"
#include "frames/front.h"
#include "frames/settings.h"
#include "frames/views.h"
#include "host/exit_codes.h"
#include "host/run_schedule.h"
#include "report.h"
#include "runtime/command_line.h"
#include "runtime/port_stats.h"
#include "runtime/session.h"
#include "system.h"

DECLARE_double(duration_s);

namespace {

using namespace sluice::chain_app;  // NOLINT
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::FindingsOf;
using sluice::runtime::PortStats;
using sluice::runtime::ReadClients;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;
using std::chrono::steady_clock;

MessageServer::Options ServerOptions(const FrameSettings& settings) {
  MessageServer::Options options{.flows = {},
                                 .messages = 2 * settings.outstanding,
                                 .timeout_cycles = 0,
                                 .cycles_hz = rte_get_tsc_hz()};
  for (const auto flow : settings.flows)
    options.flows.push_back(
        {flow.port, sluice::engine::chain::ChainOf(settings.graph, flow)->message});
  options.messages *= static_cast<uint32_t>(options.flows.size());
  options.timeout_cycles = static_cast<uint64_t>(static_cast<double>(settings.timeout_ns) / 1e9 *
                                                 static_cast<double>(options.cycles_hz));
  return options;
}

// Session callbacks for a run whose messages arrive in frames.
class Run {
 public:
  Run(Session& session, const FrameSettings& settings, MessageServer& server, System& system)
      : session_(session), settings_(settings), server_(server), system_(system) {}

  AppHooks Hooks() {
    AppHooks hooks;
    hooks.started = [this] {
      schedule_ = {FLAGS_duration_s, 0};
      system_.StartTraffic();
    };
    hooks.over = [this] { return Over(); };
    hooks.settle = [this] { Settle(); };
    hooks.line = [this] { return MessageLine(server_, Port()); };
    if (settings_.clients) hooks.findings = [this] { return FindingsOf(Clients()); };
    if (!settings_.graph_file.empty())
      hooks.on_hangup = [this] { settings_.Print(system_.Reload(settings_.graph_file)); };
    hooks.report = [this](nlohmann::ordered_json& report) {
      ExtendByMessages(server_, Port(), settings_.clients, report);
      ExtendByChain(settings_, system_.stages(), Look(), report);
      report["switch_drops"] = DropsOf(Look());
    };
    return hooks;
  }
  Figures Look() {
    Figures figures = system_.ReadFigures();
    figures.endings = EndingsOf(server_.counts());
    figures.latency = server_.latency().Snapshot();
    return figures;
  }
  PortStats Port() const { return PortStats::Read(session_.port()); }
  sluice::emulator::ClientCounts Clients() const { return ReadClients(Port()); }

 private:
  bool Over() {
    settings_.Print(system_.Tend());
    if (schedule_.IsOver()) return true;
    if (!settings_.clients || settings_.messages == 0) return false;
    const sluice::emulator::ClientCounts clients = Clients();
    return clients.requests == settings_.messages * settings_.flows.size() &&
           clients.missing() == 0;
  }
  // Waits until the messages in flight have been answered or have timed out. Waits at most 2 *
  // Timeout() with the built-in clients, and otherwise at most kTheirs, because external clients
  // may continue to send.
  void Settle() {
    constexpr std::chrono::milliseconds kTheirs(100);
    StopClients();
    const auto end = steady_clock::now() + (settings_.clients ? 2 * Timeout() : kTheirs);
    const auto open = [this] { return settings_.clients ? Clients().missing() : server_.open(); };
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      settings_.Print(system_.Tend());
    } while (open() != 0 && steady_clock::now() < end);
  }
  std::chrono::nanoseconds Timeout() const {
    return std::chrono::nanoseconds(settings_.timeout_ns);
  }

  Session& session_;
  const FrameSettings& settings_;
  MessageServer& server_;
  System& system_;
  sluice::host::RunSchedule schedule_{0, 0};  ///< Starts when the clients start.
};

int RunChain(Session& session, const FrameSettings& settings) {
  MessageServer server(ServerOptions(settings));
  std::vector<std::unique_ptr<FrameFlow>> flows;
  std::vector<Flow*> flow_pointers;
  for (size_t i = 0; i < settings.flows.size(); ++i)
    flow_pointers.push_back(flows.emplace_back(std::make_unique<FrameFlow>(server, i)).get());
  std::string error;
  errno = 0;
  const auto system =
      System::Start(settings, std::move(flow_pointers), System::NicSteps::kByOwner, &error);
  if (system == nullptr) return sluice::host::FailStart(error);
  Run run(session, settings, server, *system);
  const int exit_code = session.Run(
      [&](const WorkerInfo& info) {
        server.SetOwn(info.own);
        return sluice::engine::WithNeighbor<Front>(info.own, std::in_place, server, system->nic());
      },
      run.Hooks());
  const Figures figures = run.Look();
  settings.Print(ChainTotals(settings, system->stages(), figures));
  if (exit_code != 0) return exit_code;
  std::string fault = settings.clients ? ClientFault(run.Clients(), figures) : "";
  if (fault.empty()) fault = DownFault(figures);
  if (!fault.empty()) std::fprintf(stderr, "sluice-chain: %s\n", fault.c_str());
  return fault.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "chain",
      "passes messages that arrive in frames through accelerators that push them to each other",
      argc, argv, &exit_code);
  if (!line) return exit_code;
  std::string error;
  const auto settings = ReadFrameSettings(&*line, &error);
  if (!settings) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  // EAL pins the thread that starts it. The chain's threads must not all inherit that CPU.
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  if (known) sched_setaffinity(0, sizeof allowed, &allowed);
  return RunChain(*session, *settings);
}
