// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-echo: returns every frame. The engine is lib/engine/echo, preceded by lib/engine/neighbor
// if the program has IP addresses; everything else is lib/runtime. Start reading here, then follow
// Session::Run. With --transport=tcp it returns the bytes of TCP connections instead.
#include <gflags/gflags.h>

#include <string>
#include <utility>

#include "engine/echo/echo.h"
#include "engine/echo/stream_echo.h"
#include "engine/neighbor/neighbor.h"
#include "runtime/command_line.h"
#include "runtime/hooks.h"
#include "runtime/port_stats.h"
#include "runtime/session.h"
#include "runtime/tcp/tcp_server.h"
#include "runtime/wire_clients.h"
#include "stream_clients.h"

DEFINE_string(mode, "reflect",
              "reflect: return every frame to its sender; increment: add 1 to one payload byte");
DEFINE_string(transport, "frames",
              "frames: return frames; tcp: return the bytes of TCP connections to --ip");
DEFINE_uint32(tcp_port, 7, "TCP: port that accepts connections (RFC 862)");
DEFINE_string(clients, "connections=16+bytes=64",
              "Embedded NIC, TCP: clients, each with one message in flight; bytes of a message");

namespace {

using sluice::engine::IncrementEcho;
using sluice::engine::ReflectEcho;
using sluice::engine::StreamEcho;
using sluice::engine::WithNeighbor;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::ClientLatency;
using sluice::runtime::CommandLine;
using sluice::runtime::Complaint;
using sluice::runtime::FindingsOf;
using sluice::runtime::PortStats;
using sluice::runtime::ReadClients;
using sluice::runtime::RunTcp;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

// Runs `Echo` on all workers, without a neighbor engine if there are no addresses.
template <typename Echo>
int RunEcho(Session& session) {
  if (session.own().empty()) return session.Run([](const WorkerInfo&) { return Echo(); });
  return session.Run([](const WorkerInfo& info) { return WithNeighbor<Echo>(info.own, Echo()); });
}

// Uses TCP clients as the embedded NIC's traffic, unless a flag selects other traffic. They connect
// to the first IPv4 address of --ip, or to 10.0.0.2. Returns whether they are used.
bool AddClients(CommandLine& line) {
  sluice::runtime::Options& options = line.options;
  std::string error;
  if (line.own_port || options.frame_size.empty()) return false;
  if (options.own.empty()) options.own.Add("10.0.0.2", &error);
  options.wire =
      "library:libsluice_echo_wire.so+" + FLAGS_clients + "+port=" + std::to_string(FLAGS_tcp_port);
  if (!options.own.ipv4().empty()) {
    const auto& to = options.own.ipv4().front();
    options.wire += "+ip=" + std::to_string(to[0]) + '.' + std::to_string(to[1]) + '.' +
                    std::to_string(to[2]) + '.' + std::to_string(to[3]);
  }
  options.wire_flag = "clients";
  options.traffic = "clients";
  return true;
}

// Echoes the bytes of TCP connections. `clients`: the embedded NIC has clients.
int RunStreamEcho(Session& session, bool clients) {
  AppHooks hooks;
  if (clients) {
    hooks.findings = [&] { return FindingsOf(ReadClients(PortStats::Read(session.port()))); };
    hooks.report = [&](nlohmann::ordered_json& report) {
      const PortStats port = PortStats::Read(session.port());
      report["clients"]["answered"] = ReadClients(port).answered;
      report["clients"]["latency_us"] = ClientLatency(port);
    };
  }
  return RunTcp(
      session, {static_cast<uint16_t>(FLAGS_tcp_port)},
      [](const WorkerInfo&) { return StreamEcho(); }, std::move(hooks));
}

// Checks the flags; see Complaint.
bool CheckFlags(const CommandLine& line, Complaint complaint) {
  std::string error;
  const bool clients = sluice::echo::ReadClientOptions(FLAGS_clients, 0, &error).has_value();
  return complaint.Check(FLAGS_mode == "reflect" || FLAGS_mode == "increment", "mode",
                         "give reflect or increment") &&
         complaint.Check(FLAGS_transport == "frames" || FLAGS_transport == "tcp", "transport",
                         "give frames or tcp") &&
         complaint.Check(FLAGS_tcp_port >= 1 && FLAGS_tcp_port <= 65535, "tcp_port",
                         "give 1 to 65535") &&
         complaint.Check(clients, "clients", error) &&
         (FLAGS_transport == "frames" || sluice::runtime::CheckTcp(line, "transport", complaint));
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine("echo", "returns every frame that it receives", argc,
                                               argv, &exit_code);
  if (!line) return exit_code;
  const bool tcp = FLAGS_transport == "tcp";
  const bool clients = tcp && AddClients(*line);
  std::string flag, fix;
  if (!CheckFlags(*line, {&flag, &fix})) return BadFlag(flag, fix);
  line->options.promiscuous |= !tcp;
  line->options.answers = !tcp;
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  if (tcp) return RunStreamEcho(*session, clients);
  return FLAGS_mode == "increment" ? RunEcho<IncrementEcho>(*session)
                                   : RunEcho<ReflectEcho>(*session);
}
