// SPDX-License-Identifier: BSD-3-Clause
#include "frames/views.h"

#include <absl/strings/str_format.h>

#include "host/measures.h"
#include "runtime/wire_clients.h"

namespace sluice::rpc_app {

using host::Us;

std::string ClientLine(const runtime::PortStats& port) {
  const emulator::ClientCounts clients = runtime::ReadClients(port);
  if (clients.requests == 0) return "";
  return absl::StrFormat(
      "            calls %d  answered %d  p50 %.2f  p99 %.2f us  refused %d  lost %d  wrong %d",
      clients.requests, clients.answered, Us(port.Get("wire_client_p50_ns")),
      Us(port.Get("wire_client_p99_ns")), clients.refused, clients.lost, clients.wrong);
}

void Extend(const runtime::PortStats& port, const std::vector<engine::rpc::Counts>& counts,
            nlohmann::ordered_json& report) {
  const emulator::ClientCounts clients = runtime::ReadClients(port);
  report["answered"] = clients.answered;
  report["refused"] = clients.refused;
  report["late"] = clients.late;
  report["unknown"] = clients.unknown;
  report["missing"] = clients.missing();
  report["latency_us"] = runtime::ClientLatency(port);
  nlohmann::ordered_json rpc = nlohmann::ordered_json::object();
  for (uint32_t i = 0; i < device::rpc::kRpcCounters; ++i) {
    const std::string name(device::rpc::kRpcCounterNames[i]);
    if (name.starts_with("rpc_drop_")) continue;  // Reported as a drop of the queue.
    uint64_t sum = 0;
    for (const engine::rpc::Counts& worker : counts) sum += worker[i];
    rpc[name] = sum;
  }
  report["rpc"] = std::move(rpc);
}

}  // namespace sluice::rpc_app
