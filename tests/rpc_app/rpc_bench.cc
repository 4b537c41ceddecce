// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the host's cost of a null RPC on each interface, with both ends in one thread. Under
// callgrind with --toggle-collect='Worker*', it counts the host's instructions.
//
//   rpc_app_bench <interface> <frame_size> <burst> <packets>
//
// For `coherent`, it measures a service's thread from the answer to its load to the load that
// returns the result. The size and the burst do not matter, because the NIC delivers decoded calls
// one at a time. For the other interfaces, it measures a worker's poll with the server from
// lib/engine/rpc (nic/queue_bench.h). scripts/instructions also counts the cost of a port's driver.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../nic/queue_bench.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"
#include "engine/rpc/server.h"
#include "packet/datagram.h"
#include "packet/own_addresses.h"
#include "process_page.h"
#include "rpc/call.h"
#include "service_functions.h"

using namespace sluice;  // NOLINT

/// Performs one step of a core: answers a pending call and loads the next line.
extern "C" [[gnu::noinline]] bool WorkerServe(coherent::HostEnd* end, rpc_app::Answerer* answerer) {
  if (end->Wait(0) != coherent::Got::kContent) return false;
  answerer->Answer(*end);
  return end->Wait(0) == coherent::Got::kNothing;
}

namespace {

constexpr uint16_t kPort = 20049;

int OnLines(const rpc_app::ServiceFunctions& functions, uint64_t calls) {
  std::vector<uint8_t> pages(rpc_app::kUserGeometry.Bytes() + 4096);
  const std::span<uint8_t> memory = std::span(pages)
                                        .subspan(-reinterpret_cast<uintptr_t>(pages.data()) & 4095)
                                        .first(rpc_app::kUserGeometry.Bytes());
  const auto endpoint = coherent::EndpointMemory::Format(memory, rpc_app::kUserGeometry);
  coherent::HostEnd host(endpoint, coherent::WaitMethod::kPause);
  coherent::NicEnd nic(endpoint, {}, 0);
  rpc_app::Answerer answerer(functions.table());
  nic.Resume();
  const device::rpc::Entry entry = functions.entries().back();
  host.Wait(0);
  for (uint64_t i = 0; i < calls; ++i) {
    while (nic.Look(coherent::Pair::kReceive, 0) != coherent::Seen::kNothing) {
    }
    if (!nic.Deliver(coherent::Pair::kReceive,
                     {.kind = coherent::Kind::kRequest, .code = entry.code, .data = entry.data}, 0,
                     i) ||
        !WorkerServe(&host, &answerer)) {
      return 1;
    }
  }
  std::printf("%lu packets\n", calls);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = nic_test::QueueBenchOptions::Parse(argc, argv);
  if (!options) return 2;
  std::string error;
  const auto functions = rpc_app::ServiceFunctions::Load(NOTHING_OBJECT, NOTHING_X, &error);
  if (functions == nullptr) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  if (options->iface == "coherent") return OnLines(*functions, options->packets);

  const rpc::Procedure& procedure = functions->table().procedures.back();
  std::vector<uint8_t> frame(options->size);
  constexpr uint32_t kHeaders = packet::Datagram::kPlainPayload;
  if (frame.size() < kHeaders + rpc::kCallBytes) return 2;
  packet::Datagram::WritePlain(
      frame.data(),
      {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {10, 0, 0, 1}, {10, 0, 0, 2}, 40000, kPort},
      rpc::kCallBytes);
  rpc::WriteCall(&frame[kHeaders], 1, procedure.program, procedure.version, procedure.number);
  device::rpc::Services services;
  if (!services.Add(0, functions->At(kPort))) return 1;
  engine::rpc::Counts counts{};
  engine::rpc::Server server(services, counts, packet::OwnAddresses());
  const auto next = [&]() -> std::span<const uint8_t> { return frame; };
  const int exit_code = nic_test::QueueBench(*options, server, next).Run();
  const uint64_t sent = counts[static_cast<uint32_t>(device::rpc::RpcCounter::kSent)];
  return exit_code != 0 || sent < options->packets ? 1 : 0;
}
