// SPDX-License-Identifier: BSD-3-Clause
#include "workers.h"

#include <absl/strings/str_format.h>

#include "base/monotonic_clock.h"
#include "counters.h"
#include "engine/kv/totals.h"

namespace sluice::kv {
namespace {

using engine::kv::ProtocolCounters;
using engine::kv::ResponderCounters;

double Seconds() { return static_cast<double>(base::MonotonicNs()) / 1e9; }

}  // namespace

Workers::Workers(const engine::kv::Store& store) : store_(store), last_s_(Seconds()) {}

std::string Workers::NextLine(const runtime::PortStats& port) {
  const ResponderCounters now = TrafficOf(store_);
  const double now_s = Seconds();
  const auto since = [&](uint64_t ProtocolCounters::*total) {
    return now.mica.*total + now.memcached.*total - last_.mica.*total - last_.memcached.*total;
  };
  const uint64_t requests = since(&ProtocolCounters::requests);
  const uint64_t hits = since(&ProtocolCounters::get_hits);
  const uint64_t gets = hits + since(&ProtocolCounters::get_misses);
  const double period_s = now_s - last_s_;
  last_ = now;
  last_s_ = now_s;
  std::string line =
      absl::StrFormat("    %s Mops, %s of gets found, %d items",
                      absl::StrFormat("%.3f", static_cast<double>(requests) / period_s / 1e6),
                      gets > 0 ? absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(hits) /
                                                                static_cast<double>(gets))
                               : "-",
                      ItemsOf(store_).items);
  if (port.Get("wire_client_requests") > 0) {
    // TCP clients do not measure gets apart.
    const bool all = port.Get("wire_client_p50_ns") > 0;
    const std::string latency = all ? "wire_client_" : "wire_client_get_";
    absl::StrAppendFormat(
        &line, "; client: %s p50 %.1f, p99 %.1f us, %d wrong, %d %s", all ? "requests" : "gets",
        static_cast<double>(port.Get(latency + "p50_ns")) / 1e3,
        static_cast<double>(port.Get(latency + "p99_ns")) / 1e3, port.Get("wire_client_wrong"),
        port.Get("wire_client_lost"), all ? "lost" : "timed out");
  }
  return line;
}

void Workers::Extend(nlohmann::ordered_json& report) const {
  report["store"] = ToJson(ItemsOf(store_));
  AppendCounters(TrafficOf(store_), &report);
}

}  // namespace sluice::kv
