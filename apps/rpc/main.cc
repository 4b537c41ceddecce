// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc: serves ONC-RPC programs, each in a separate process, on a NIC that is part of the
// operating system. Start reading at nic_thread.h (the NIC), kernel_core.h (the operating system)
// and service_main.cc (a service). frames/main.cc handles the other interfaces.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/standard_streams.h"
#include "bindings.h"
#include "coherent/wait.h"
#include "host/exit_codes.h"
#include "host/report.h"
#include "host/run_signals.h"
#include "kernel_core.h"
#include "kernel_ports.h"
#include "load_wire.h"
#include "nic_thread.h"
#include "other_interface.h"
#include "packet_wire.h"
#include "placement.h"
#include "process_table.h"
#include "report.h"
#include "run.h"
#include "service_files.h"
#include "settings.h"
#include "supervision.h"
#include "trace.h"

namespace {

using sluice::device::rpc::RpcNic;
using sluice::host::FailStart;
using sluice::host::WriteReport;
using sluice::rpc_app::Figures;
using sluice::rpc_app::LoadWire;
using sluice::rpc_app::NicThread;
using sluice::rpc_app::Served;
using sluice::rpc_app::Settings;

// If the kernel also has the NIC's addresses, binds the services' UDP ports to these addresses, and
// lets the port mapper listen on its TCP port.
std::optional<sluice::rpc_app::KernelPorts> BindPorts(Settings* settings, std::string* error) {
  std::set<uint16_t> ports;
  sluice::rpc_app::ServiceFiles* mapper = nullptr;
  for (auto& files : settings->services) {
    ports.insert(files.port);
    if (sluice::rpc_app::IsPortMapper(files)) mapper = &files;
  }
  const uint16_t tcp = mapper != nullptr ? mapper->port : uint16_t{0};
  auto kernel = sluice::rpc_app::KernelPorts::Bind(settings->addresses, ports, tcp, error);
  if (!kernel || mapper == nullptr) return kernel;
  for (const auto& listener : kernel->listeners()) mapper->listeners.push_back(listener.fd());
  return kernel;
}

int Complain(const Settings& settings, const std::string& error) {
  return FailStart("--wire=" + settings.interface + " --ip=" + settings.addresses + ": " + error);
}

int Serve(Settings settings) {
  std::string error;
  errno = 0;
  const auto compiled = sluice::rpc_app::CompileAll(settings.services, &error);
  if (!compiled) {
    std::fprintf(stderr, "--services: %s\n", error.c_str());
    return 2;
  }
  const auto kernel =
      settings.interface.empty() ? sluice::rpc_app::KernelPorts() : BindPorts(&settings, &error);
  if (!kernel) return Complain(settings, error);
  sluice::rpc_app::PublishToPortMapper(
      settings.addresses, settings.services, *compiled,
      kernel->listeners().empty() ? Served::kUdp : Served::kUdpAndPortMapperTcp);
  setenv("SLUICE_RPC_STORE_MIB", std::to_string(settings.store_mib).c_str(), 1);
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
  LoadWire clients({.targets = sluice::rpc_app::TargetsOf(settings.services, *compiled),
                    .outstanding = settings.outstanding,
                    .run_calls = settings.run_calls,
                    .echo_bytes = settings.echo_bytes,
                    .timeout_ns = settings.timeout_ns,
                    .seed = settings.seed});
  std::unique_ptr<sluice::rpc_app::PacketWire> network;
  if (!settings.interface.empty()) {
    network = sluice::rpc_app::PacketWire::Open(settings.interface, settings.addresses,
                                                kernel->any(), &error);
    if (network == nullptr) return Complain(settings, error);
  }
  sluice::emulator::Wire& wire =
      network != nullptr ? static_cast<sluice::emulator::Wire&>(*network) : clients;
  const sluice::device::rpc::DispatcherConfig dispatcher = {.cores = settings.cores,
                                                            .queue_capacity = settings.queue,
                                                            .suspended_capacity = settings.nested,
                                                            .preempt_bound = settings.preempt_ns,
                                                            .handler_bound = settings.handler_ns,
                                                            .nested_bound = settings.nested_ns,
                                                            .retire_after = settings.retire_ns};
  const auto services = static_cast<uint32_t>(settings.services.size());
  const sluice::device::rpc::RpcNicConfig config = {
      .dispatcher = dispatcher,
      .users = sluice::rpc_app::kUserGeometry,
      .slots = sluice::device::rpc::SlotsFor(dispatcher, services),
      .dma_bytes = settings.dma_bytes,
      .nested_depth = settings.nested_depth};
  auto nic =
      std::make_unique<NicThread>(config, *placement, wire, processes, cores, settings.traces);
  nic->Do([&](RpcNic& device) {
    for (uint32_t core = 0; core < settings.cores; ++core) {
      device.AttachKernel(static_cast<uint16_t>(core), cores[core]->endpoint());
    }
  });
  for (const auto& core : cores) core->Start();
  sluice::rpc_app::Supervision supervision(settings, *compiled, processes, *nic);
  errno = 0;
  if (!supervision.Start(&error)) {
    const int exit_code = FailStart("--services: " + error);
    nic.reset();
    return exit_code;
  }
  const Figures figures =
      sluice::rpc_app::Run(settings, network == nullptr ? &clients : nullptr, *nic, supervision);
  const auto traces = nic->Traces();
  nic.reset();    // The NIC must be destroyed before the memory that it reads is released.
  cores.clear();  // These threads must end before the processes on which they wait.
  for (const auto& trace : traces) {
    settings.Print(sluice::rpc_app::TraceText(trace, settings.services[trace.process].name));
  }
  const std::string method(sluice::coherent::Name(wait));
  settings.Print(sluice::rpc_app::Totals(settings, figures, method));
  if (!WriteReport(settings.json, sluice::rpc_app::Json(settings, figures, method))) return 1;
  if (network != nullptr) return 0;
  // A run without a time limit that was stopped before its first call has not failed.
  const bool served =
      figures.load.answered > 0 || (settings.duration_s == 0 && figures.load.calls == 0);
  return served && figures.load.wrong == 0 && figures.missing() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  int exit_code = 0;
  if (sluice::rpc_app::WantsOtherInterface(argc, argv)) {
    return sluice::rpc_app::RunOtherInterface(argv);
  }
  const std::optional<Settings> settings = sluice::rpc_app::ReadSettings(argc, argv, &exit_code);
  if (!settings) return exit_code;
  sluice::host::BlockRunSignals(false);
  return Serve(*settings);
}
