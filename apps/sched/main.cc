// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-sched: runs requests as tasks that an agent on a NIC core schedules, or lets an agent
// schedule threads of this machine's kernel (thread_run.h). The mechanism and the policies are in
// lib/engine/sched, the channels for decisions in lib/offload; worker.h is the code of an lcore;
// everything else is in lib/runtime. Start reading here.
#include <gflags/gflags.h>
#include <rte_cycles.h>

#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "engine/neighbor/neighbor.h"
#include "packet/own_addresses.h"
#include "runtime/command_line.h"
#include "runtime/port_stats.h"
#include "runtime/session.h"
#include "settings.h"
#include "stage.h"
#include "thread_run.h"
#include "views.h"
#include "worker.h"

namespace {

using namespace sluice::sched;
using sluice::engine::WithNeighbor;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::PortStats;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

int Run(Session& session, const Settings& settings, std::FILE* text) {
  Play play(settings.play, Clock(rte_get_tsc_hz()));
  std::fprintf(text, "%s\n", Introduction(settings).c_str());
  if (play.several()) std::fprintf(text, "%s\n", TableHead().c_str());
  std::fflush(text);
  Lines lines(play);
  AppHooks hooks;
  hooks.line = [&] { return lines.Next(PortStats::Read(session.port())); };
  hooks.report = [&](nlohmann::ordered_json& report) {
    play.Close();
    Extend(play.board(), report);
  };
  hooks.commands = Commands(play);
  const int exit_code = session.Run(
      [&](const WorkerInfo& info) {
        return WithNeighbor<Worker>(info.own, std::in_place, play, info.worker, settings.worker);
      },
      std::move(hooks));
  play.Close();
  std::fputs(Totals(play.board()).c_str(), text);
  if (Unfinished(play.board()) == 0) return exit_code;
  std::fprintf(stderr, "%llu requests had no reply when the run ended\n",
               static_cast<unsigned long long>(Unfinished(play.board())));
  return exit_code != 0 ? exit_code : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "sched", "runs each request as a task; an agent on a NIC's core chooses the next task", argc,
      argv, &exit_code);
  if (!line) return exit_code;
  std::string flag, fix;
  const std::optional<Settings> settings = ReadSettings(&*line, &flag, &fix);
  if (!settings) return BadFlag(flag, fix);
  if (settings->threads) {
    try {
      return RunThreads(*settings->threads, line->options);
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "sluice-sched: %s: free memory or descriptors\n", error.what());
      return 1;
    }
  }
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  try {
    return Run(*session, *settings,
               settings->worker.text != nullptr ? settings->worker.text : stderr);
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "sluice-sched: %s: give fewer --max_tasks or a smaller --stack_kb\n",
                 error.what());
    return 1;
  }
}
