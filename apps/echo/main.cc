// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-echo: returns every frame. The engine is lib/engine/echo, preceded by lib/engine/neighbor
// if the program has IP addresses; everything else is lib/runtime. Start reading here, then follow
// Session::Run.
#include <gflags/gflags.h>

#include <string>
#include <utility>

#include "engine/echo/echo.h"
#include "engine/neighbor/neighbor.h"
#include "runtime/command_line.h"
#include "runtime/session.h"

DEFINE_string(mode, "reflect",
              "reflect: return every frame to its sender; increment: add 1 to one payload byte");

namespace {

using sluice::engine::IncrementEcho;
using sluice::engine::ReflectEcho;
using sluice::engine::WithNeighbor;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

// Runs `Echo` on all workers, without a neighbor engine if there are no addresses.
template <typename Echo>
int RunEcho(Session& session) {
  if (session.own().empty()) return session.Run([](const WorkerInfo&) { return Echo(); });
  return session.Run([](const WorkerInfo& info) { return WithNeighbor<Echo>(info.own, Echo()); });
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine("echo", "returns every frame that it receives", argc,
                                               argv, &exit_code);
  if (!line) return exit_code;
  if (FLAGS_mode != "reflect" && FLAGS_mode != "increment") {
    return sluice::runtime::BadFlag("mode", "give reflect or increment");
  }
  line->options.promiscuous = true;
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  return FLAGS_mode == "increment" ? RunEcho<IncrementEcho>(*session)
                                   : RunEcho<ReflectEcho>(*session);
}
