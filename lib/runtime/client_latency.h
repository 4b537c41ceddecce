// SPDX-License-Identifier: BSD-3-Clause
//
// Latencies that the clients of an application have measured through a model NIC, as a member of a
// report.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "runtime/measures.h"
#include "runtime/port_stats.h"

namespace sluice::runtime {

/// Returns the latency statistics of `count` answers, in microseconds. They come from the wire's
/// statistics wire_client_mean_ns, wire_client_p50_ns, …
inline nlohmann::ordered_json ClientLatency(const PortStats& port, uint64_t count) {
  const auto us = [&](const char* name) { return Us(port.Get(name)); };
  return {{"count", count},
          {"mean", us("wire_client_mean_ns")},
          {"p50", us("wire_client_p50_ns")},
          {"p99", us("wire_client_p99_ns")},
          {"p99.9", us("wire_client_p999_ns")},
          {"max", us("wire_client_max_ns")}};
}

}  // namespace sluice::runtime
