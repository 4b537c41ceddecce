// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc: serves ONC-RPC programs, each in a process of its own, on a NIC that is part of the
// operating system. Start reading at nic_thread.h (the NIC), kernel_core.h (the operating system)
// and service_main.cc (a service).
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coherent/wait.h"
#include "kernel_core.h"
#include "load_wire.h"
#include "nic_thread.h"
#include "packet_wire.h"
#include "placement.h"
#include "process_table.h"
#include "report.h"
#include "run.h"
#include "rpc/x_compiler.h"
#include "service_functions.h"
#include "settings.h"
#include "supervision.h"
#include "trace.h"

namespace {

using sluice::device::rpc::RpcNic;
using sluice::rpc_app::Figures;
using sluice::rpc_app::LoadTarget;
using sluice::rpc_app::LoadWire;
using sluice::rpc_app::NicThread;
using sluice::rpc_app::Settings;

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  return set;
}

// What clients call of a service: what they know how to check, else procedure 0.
LoadTarget TargetOf(const sluice::rpc_app::ServiceFiles& files, const sluice::rpc::Table& table) {
  using Kind = LoadTarget::Kind;
  const bool known = files.name == "nothing" || files.name == "echo" || files.name == "add";
  const sluice::rpc::Procedure& called = known ? table.procedures.back() : table.procedures.front();
  const Kind kind = files.name == "echo" ? Kind::kEcho
                    : files.name == "add" ? Kind::kAdd
                                          : Kind::kEmpty;
  return {kind, called.program, called.version, known ? called.number : 0, files.port};
}

// What the port mapper reads.
std::string Programs(const Settings& settings,
                     const std::vector<sluice::rpc::CompiledX>& compiled) {
  std::string text;
  for (size_t i = 0; i < compiled.size(); ++i) {
    uint64_t last = 0;  // Procedures are in the order of programs and versions.
    for (const auto& procedure : compiled[i].table.procedures) {
      const uint64_t version = uint64_t{procedure.program} << 32 | procedure.version;
      if (std::exchange(last, version) == version) continue;
      if (!text.empty()) text += ' ';
      text.append(std::to_string(procedure.program)).append(1, ':');
      text.append(std::to_string(procedure.version)).append(1, ':');
      text.append(std::to_string(settings.services[i].port));
    }
  }
  return text;
}

bool Compile(const Settings& settings, std::vector<sluice::rpc::CompiledX>* compiled,
             std::string* error) {
  for (const auto& files : settings.services) {
    const std::optional<std::string> text = sluice::rpc_app::ReadFile(files.x);
    auto one = text ? sluice::rpc::CompileX(*text, files.x, error) : std::nullopt;
    if (!text) *error = files.x + ": cannot be read";
    if (one && one->table.procedures.empty()) *error = files.x + ": declares no program";
    if (!one || one->table.procedures.empty()) return false;
    compiled->push_back(std::move(*one));
  }
  return true;
}

bool Write(const std::string& path, const std::string& text) {
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0;
  std::ofstream file(path);
  file << text;
  return file.flush().good();
}

int Serve(const Settings& settings) {
  std::string error;
  std::vector<sluice::rpc::CompiledX> compiled;
  if (!Compile(settings, &compiled, &error)) {
    std::fprintf(stderr, "--services: %s\n", error.c_str());
    return 2;
  }
  sluice::rpc_app::LoadOptions load = {.targets = {},
                                       .outstanding = settings.outstanding,
                                       .run_calls = settings.run_calls,
                                       .echo_bytes = settings.echo_bytes,
                                       .timeout_ns = settings.timeout_ns,
                                       .seed = settings.seed};
  setenv("SLUICE_RPC_PROGRAMS", Programs(settings, compiled).c_str(), 1);
  for (size_t i = 0; i < compiled.size(); ++i) {
    load.targets.push_back(TargetOf(settings.services[i], compiled[i].table));
  }
  const auto wait = sluice::coherent::BestWaitMethod();
  sluice::rpc_app::ProcessTable processes;
  std::vector<std::unique_ptr<sluice::rpc_app::KernelCore>> cores;
  for (uint32_t core = 0; core < settings.cores; ++core) {
    cores.push_back(std::make_unique<sluice::rpc_app::KernelCore>(core, processes, wait));
    if (!*cores.back()) {
      std::fprintf(stderr, "no memory for the endpoint of core %u\n", core);
      return 1;
    }
  }
  const auto placement =
      sluice::rpc_app::MakePlacement(settings.policy, settings.cores, settings.slice_ns);
  LoadWire clients(load);
  std::unique_ptr<sluice::rpc_app::PacketWire> network;
  if (!settings.interface.empty()) {
    network = sluice::rpc_app::PacketWire::Open(settings.interface, settings.addresses, &error);
    if (network == nullptr) {
      std::fprintf(stderr, "--wire=%s --ip=%s: %s\n", settings.interface.c_str(),
                   settings.addresses.c_str(), error.c_str());
      return 2;
    }
  }
  sluice::emulator::Wire& wire =
      network != nullptr ? static_cast<sluice::emulator::Wire&>(*network) : clients;
  const sluice::device::rpc::RpcNicConfig config = {
      .dispatcher = {.cores = settings.cores,
                     .queue_capacity = settings.queue,
                     .preempt_bound = settings.preempt_ns,
                     .handler_bound = settings.handler_ns,
                     .retire_after = settings.retire_ns},
      .users = sluice::rpc_app::kUserGeometry,
      .dma_bytes = settings.dma_bytes};
  auto nic = std::make_unique<NicThread>(config, *placement, wire, processes, cores,
                                         settings.traces);
  nic->Do([&](RpcNic& device) {
    for (uint32_t core = 0; core < settings.cores; ++core) {
      device.AttachKernel(static_cast<uint16_t>(core), cores[core]->endpoint());
    }
  });
  for (const auto& core : cores) core->Start();
  sluice::rpc_app::Supervision supervision(settings, compiled, processes, *nic);
  if (!supervision.Start(&error)) {
    std::fprintf(stderr, "--services: %s\n", error.c_str());
    nic.reset();
    return 2;
  }
  const Figures figures =
      sluice::rpc_app::Run(settings, StopSignals(),
                                               network == nullptr ? &clients : nullptr, *nic,
                                               supervision);
  const auto traces = nic->Traces();
  nic.reset();    // Before the memory that it looks at.
  cores.clear();  // Before the processes that they wait for.
  for (const auto& trace : traces) {
    std::fputs(sluice::rpc_app::TraceText(trace, settings.services[trace.process].name).c_str(),
               settings.Text());
  }
  const std::string method(sluice::coherent::Name(wait));
  std::fputs(sluice::rpc_app::Totals(settings, figures, method).c_str(), settings.Text());
  if (!settings.json.empty() &&
      !Write(settings.json, sluice::rpc_app::Json(settings, figures, method))) {
    std::fprintf(stderr, "--json=%s: could not be written\n", settings.json.c_str());
    return 1;
  }
  if (network != nullptr) return 0;
  return figures.load.answered > 0 && figures.load.wrong == 0 && figures.missing() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<Settings> settings = sluice::rpc_app::ReadSettings(argc, argv, &exit_code);
  if (!settings) return exit_code;
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Of all threads to come.
  return Serve(*settings);
}
