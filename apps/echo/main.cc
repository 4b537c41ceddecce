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
#include "runtime/session.h"
#include "runtime/tcp/tcp_clients.h"
#include "runtime/tcp/tcp_server.h"
#include "transport/clients/stream_clients.h"

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
using sluice::runtime::AddClientResults;
using sluice::runtime::AddTcpClients;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::CheckTcp;
using sluice::runtime::CheckTcpPort;
using sluice::runtime::CommandLine;
using sluice::runtime::Complaint;
using sluice::runtime::HasTcpClients;
using sluice::runtime::Session;
using sluice::runtime::TcpServer;
using sluice::runtime::WorkerInfo;

// Runs `Echo` on all workers, without a neighbor engine if there are no addresses.
template <typename Echo>
int RunEcho(Session& session) {
  if (session.own().empty()) return session.Run([](const WorkerInfo&) { return Echo(); });
  return session.Run([](const WorkerInfo& info) { return WithNeighbor<Echo>(info.own, Echo()); });
}

// Returns the bytes of TCP connections. `clients`: the embedded NIC has clients.
int RunStreamEcho(Session& session, TcpServer& server, bool clients) {
  AppHooks hooks;
  if (clients) AddClientResults(session, hooks);
  return server.Run(
      session, [](const WorkerInfo&) { return StreamEcho(); }, std::move(hooks));
}

// Checks the flags; see Complaint.
bool CheckFlags(const CommandLine& line, Complaint complaint) {
  std::string error;
  const bool clients =
      sluice::transport::ReadClientOptions(FLAGS_clients, 7, 0, &error).has_value();
  return complaint.Check(FLAGS_mode == "reflect" || FLAGS_mode == "increment", "mode",
                         "give reflect or increment") &&
         complaint.Check(FLAGS_transport == "frames" || FLAGS_transport == "tcp", "transport",
                         "give frames or tcp") &&
         CheckTcpPort(FLAGS_tcp_port, "tcp_port", complaint) &&
         complaint.Check(clients, "clients", error) &&
         (FLAGS_transport == "frames" || CheckTcp(line, "transport", complaint));
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine("echo", "returns every frame that it receives", argc,
                                               argv, &exit_code);
  if (!line) return exit_code;
  const bool tcp = FLAGS_transport == "tcp";
  const bool clients = tcp && HasTcpClients(*line);
  std::string flag, fix;
  const Complaint complaint{&flag, &fix};
  if (!CheckFlags(*line, complaint) ||
      (clients &&
       !AddTcpClients(*line, "libsluice_echo_wire.so", FLAGS_clients, FLAGS_tcp_port, complaint))) {
    return BadFlag(flag, fix);
  }
  line->options.promiscuous |= !tcp;
  line->options.answers = !tcp;
  TcpServer server({static_cast<uint16_t>(FLAGS_tcp_port)});
  if (tcp) server.Prepare<StreamEcho>(*line);
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  if (tcp) return RunStreamEcho(*session, server, clients);
  return FLAGS_mode == "increment" ? RunEcho<IncrementEcho>(*session)
                                   : RunEcho<ReflectEcho>(*session);
}
