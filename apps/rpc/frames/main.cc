// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc on interfaces that carry frames: the host decodes calls from frames or from TCP
// connections, and calls the services' functions in this process. The engines are lib/engine/rpc;
// everything else is lib/runtime. sluice-rpc executes this program if --iface selects such an
// interface.
#include <gflags/gflags.h>
#include <rte_ethdev.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/neighbor/neighbor.h"
#include "engine/rpc/server.h"
#include "engine/rpc/stream_server.h"
#include "frames/settings.h"
#include "frames/views.h"
#include "runtime/command_line.h"
#include "runtime/port_stats.h"
#include "runtime/session.h"
#include "runtime/tcp/tcp_server.h"
#include "runtime/wire_clients.h"
#include "service_functions.h"

namespace {

using sluice::device::rpc::ProcessId;
using sluice::device::rpc::Services;
using sluice::engine::WithNeighbor;
using sluice::engine::rpc::Counts;
using sluice::engine::rpc::Server;
using sluice::engine::rpc::StreamServer;
using sluice::rpc_app::FrameSettings;
using sluice::rpc_app::ServiceFunctions;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::FindingsOf;
using sluice::runtime::PortStats;
using sluice::runtime::ReadClients;
using sluice::runtime::Session;
using sluice::runtime::TcpServer;
using sluice::runtime::WorkerInfo;

// Loads the functions of all services into this process. Returns false and sets `error` on failure.
bool Load(const FrameSettings& settings, Services* services,
          std::vector<std::unique_ptr<ServiceFunctions>>* loaded, std::string* error) {
  for (const auto& files : settings.services) {
    auto functions = ServiceFunctions::Load(files.object, files.x, error, files.define);
    if (functions == nullptr) return false;
    if (!services->Add(static_cast<ProcessId>(loaded->size()), functions->At(files.port))) {
      *error = files.name + ": another service provides the same program";
      return false;
    }
    loaded->push_back(std::move(functions));
  }
  return true;
}

int ServeFrames(Session& session, const Services& services, std::vector<Counts>& counts,
                AppHooks& hooks) {
  uint16_t mtu = 0;
  if (rte_eth_dev_get_mtu(session.port(), &mtu) != 0) mtu = RTE_ETHER_MTU;
  return session.Run(
      [&](const WorkerInfo& info) {
        return WithNeighbor<Server>(info.own, std::in_place, services, counts[info.worker],
                                    info.own, mtu);
      },
      std::move(hooks));
}

int ServeStreams(Session& session, TcpServer& server, const Services& services,
                 std::vector<Counts>& counts, AppHooks& hooks) {
  return server.Run(
      session, [&](const WorkerInfo& info) { return StreamServer(services, counts[info.worker]); },
      std::move(hooks));
}

std::vector<uint16_t> PortsOf(const FrameSettings& settings) {
  std::set<uint16_t> ports;
  for (const auto& files : settings.services) ports.insert(files.port);
  return {ports.begin(), ports.end()};
}

int Run(Session& session, TcpServer& server, const FrameSettings& settings,
        const Services& services) {
  std::vector<Counts> counts(session.workers(), Counts{});
  AppHooks hooks;
  hooks.line = [&] { return sluice::rpc_app::ClientLine(PortStats::Read(session.port())); };
  if (settings.clients) {
    hooks.findings = [&] { return FindingsOf(ReadClients(PortStats::Read(session.port()))); };
  }
  hooks.report = [&](nlohmann::ordered_json& report) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const auto& files : settings.services) names.push_back(files.name);
    report["services"] = std::move(names);
    sluice::rpc_app::Extend(PortStats::Read(session.port()), counts, report);
  };
  const int exit_code = settings.tcp ? ServeStreams(session, server, services, counts, hooks)
                                     : ServeFrames(session, services, counts, hooks);
  if (!settings.clients || exit_code != 0) return exit_code;
  const PortStats port = PortStats::Read(session.port());
  const auto clients = ReadClients(port);
  const bool good = clients.answered > 0 && clients.wrong + clients.missing() == 0;
  if (!good) std::fprintf(stderr, "%s\n", sluice::rpc_app::ClientLine(port).c_str());
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine("rpc", "serves ONC-RPC programs in frames", argc,
                                               argv, &exit_code);
  if (!line) return exit_code;
  std::string flag, fix;
  const auto settings = sluice::rpc_app::ReadFrameSettings(&*line, &flag, &fix);
  if (!settings) return BadFlag(flag, fix);
  Services services;
  std::vector<std::unique_ptr<ServiceFunctions>> loaded;
  if (!Load(*settings, &services, &loaded, &fix)) return BadFlag("services", fix);
  TcpServer server(PortsOf(*settings));
  if (settings->tcp) server.Prepare<StreamServer>(*line);
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  return Run(*session, server, *settings, services);
}
