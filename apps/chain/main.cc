// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-chain: messages pass through accelerators that push them to each other across a
// programmable PCIe switch. For comparison, a CPU can move every message instead. Start reading at
// system.h (the components), push_control.h and cpu_control.h (the two data paths), and
// device/stage/stage.h (a stage). With --iface, it executes the program in frames/main.cc.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/standard_streams.h"
#include "host/exit_codes.h"
#include "host/report.h"
#include "host/run_signals.h"
#include "host/sibling.h"
#include "report.h"
#include "run.h"
#include "settings.h"
#include "system.h"

namespace {

using sluice::chain_app::Flow;
using sluice::chain_app::Settings;
using sluice::chain_app::System;
using sluice::host::ArgumentOf;
using sluice::host::WriteReport;

/// Returns whether the arguments request frames. A separate program handles frames, so that this
/// one does not contain their code.
bool WantsFrames(std::span<char* const> arguments) {
  const char* const list = ArgumentOf("list", arguments);
  return ArgumentOf("iface", arguments) != nullptr ||
         (list != nullptr && list == std::string_view("interfaces"));
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  if (WantsFrames({argv + 1, argv + argc}))
    return sluice::host::Become(sluice::chain_app::Beside("sluice-chain-frames"), argv);
  int exit_code = 0;
  const std::optional<Settings> settings = sluice::chain_app::ReadSettings(argc, argv, &exit_code);
  if (!settings) return exit_code;
  sluice::host::BlockRunSignals(settings->hangup());
  std::string error;
  errno = 0;
  const auto ledgers = sluice::chain_app::MakeLedgers(*settings, settings->seed, &error);
  std::vector<Flow*> flows;
  if (ledgers)
    for (const auto& ledger : *ledgers) flows.push_back(ledger.get());
  const auto system =
      ledgers ? System::Start(*settings, flows, System::NicSteps::kByThread, &error) : nullptr;
  if (system == nullptr) return sluice::host::FailStart(error);
  const auto figures = sluice::chain_app::Run(*settings, *ledgers, *system);
  const auto stages = system->stages();
  settings->Print(sluice::chain_app::Totals(*settings, stages, figures));
  if (!WriteReport(settings->json, sluice::chain_app::Json(*settings, stages, figures))) return 1;
  const std::string fault = sluice::chain_app::Fault(figures);
  if (!fault.empty()) std::fprintf(stderr, "sluice-chain: %s\n", fault.c_str());
  return fault.empty() ? 0 : 1;
}
