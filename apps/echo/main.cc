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
#include "runtime/session.h"
#include "runtime/tcp/tcp_server.h"

DEFINE_string(mode, "reflect",
              "reflect: return every frame to its sender; increment: add 1 to one payload byte");
DEFINE_string(transport, "frames",
              "frames: return frames; tcp: return the bytes of TCP connections to --ip");
DEFINE_uint32(tcp_port, 7, "TCP: port that accepts connections (RFC 862)");

namespace {

using sluice::engine::IncrementEcho;
using sluice::engine::ReflectEcho;
using sluice::engine::StreamEcho;
using sluice::engine::WithNeighbor;
using sluice::runtime::BadFlag;
using sluice::runtime::CommandLine;
using sluice::runtime::Complaint;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

// Runs `Echo` on all workers, without a neighbor engine if there are no addresses.
template <typename Echo>
int RunEcho(Session& session) {
  if (session.own().empty()) return session.Run([](const WorkerInfo&) { return Echo(); });
  return session.Run([](const WorkerInfo& info) { return WithNeighbor<Echo>(info.own, Echo()); });
}

// Returns the bytes of TCP connections.
int RunStreamEcho(Session& session) {
  return sluice::runtime::RunTcp(session, {static_cast<uint16_t>(FLAGS_tcp_port)},
                                 [](const WorkerInfo&) { return StreamEcho(); });
}

// Checks the flags; see Complaint.
bool CheckFlags(const CommandLine& line, Complaint complaint) {
  return complaint.Check(FLAGS_mode == "reflect" || FLAGS_mode == "increment", "mode",
                         "give reflect or increment") &&
         complaint.Check(FLAGS_transport == "frames" || FLAGS_transport == "tcp", "transport",
                         "give frames or tcp") &&
         (FLAGS_transport == "frames" ||
          (complaint.Check(FLAGS_tcp_port >= 1 && FLAGS_tcp_port <= 65535, "tcp_port",
                           "give 1 to 65535") &&
           sluice::runtime::CheckTcp(line, "transport", complaint)));
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine("echo", "returns every frame that it receives", argc,
                                               argv, &exit_code);
  if (!line) return exit_code;
  std::string flag, fix;
  if (!CheckFlags(*line, {&flag, &fix})) return BadFlag(flag, fix);
  const bool tcp = FLAGS_transport == "tcp";
  line->options.promiscuous |= !tcp;
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  if (tcp) return RunStreamEcho(*session);
  return FLAGS_mode == "increment" ? RunEcho<IncrementEcho>(*session)
                                   : RunEcho<ReflectEcho>(*session);
}
