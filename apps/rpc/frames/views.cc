// SPDX-License-Identifier: BSD-3-Clause
#include "frames/views.h"

#include <absl/strings/str_format.h>

#include "runtime/client_latency.h"
#include "runtime/measures.h"

namespace sluice::rpc_app {

using runtime::Us;

std::string ClientLine(const runtime::PortStats& port) {
  if (port.Get("wire_client_calls") == 0) return "";
  return absl::StrFormat(
      "            calls %d  answered %d  p50 %.2f  p99 %.2f us  refused %d  lost %d  wrong %d",
      port.Get("wire_client_calls"), port.Get("wire_client_answered"),
      Us(port.Get("wire_client_p50_ns")), Us(port.Get("wire_client_p99_ns")),
      port.Get("wire_client_refused"), port.Get("wire_client_lost"), port.Get("wire_client_wrong"));
}

uint64_t Missing(const runtime::PortStats& port) {
  return port.Get("wire_client_calls") - port.Get("wire_client_answered") -
         port.Get("wire_client_wrong") - port.Get("wire_client_refused") -
         port.Get("wire_client_lost");
}

runtime::Findings FindingsOf(const runtime::PortStats& port) {
  return {.lost = port.Get("wire_client_lost") + Missing(port),
          .corrupted = port.Get("wire_client_wrong")};
}

void Extend(const runtime::PortStats& port, const std::vector<engine::rpc::Counts>& counts,
            nlohmann::ordered_json& report) {
  for (const char* const name : {"answered", "refused", "late", "unknown"}) {
    report[name] = port.Get(std::string("wire_client_") + name);
  }
  report["missing"] = Missing(port);
  report["latency_us"] = runtime::ClientLatency(port, port.Get("wire_client_answered"));
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
