// SPDX-License-Identifier: BSD-3-Clause
//
// Statistics of wires that act as clients of an application. All clients use the same names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace sluice::emulator {

/// The requests that a wire's clients have sent, by outcome.
struct ClientCounts {
  uint64_t requests = 0;    ///< All requests that were sent.
  uint64_t answered = 0;    ///< Requests that got a correct answer in time.
  uint64_t wrong = 0;       ///< Requests that got an incorrect answer.
  uint64_t refused = 0;     ///< Requests that were answered with an error.
  uint64_t lost = 0;        ///< Requests that were not answered in time.
  uint64_t duplicated = 0;  ///< Additional answers to requests that had already been answered.
  uint64_t late = 0;        ///< Answers to requests that are counted as lost.
  uint64_t unknown = 0;     ///< Frames that are not the answer to any request.

  /// Returns the number of requests without an outcome.
  uint64_t missing() const { return requests - answered - wrong - refused - lost; }
};

/// A member of ClientCounts and the name of its statistic.
struct ClientCount {
  std::string_view name;
  uint64_t ClientCounts::*member;
};
inline constexpr std::array kClientCounts = {
    ClientCount{"client_requests", &ClientCounts::requests},
    ClientCount{"client_answered", &ClientCounts::answered},
    ClientCount{"client_wrong", &ClientCounts::wrong},
    ClientCount{"client_refused", &ClientCounts::refused},
    ClientCount{"client_lost", &ClientCounts::lost},
    ClientCount{"client_duplicated", &ClientCounts::duplicated},
    ClientCount{"client_late", &ClientCounts::late},
    ClientCount{"client_unknown", &ClientCounts::unknown},
};

/// Returns the statistics of a wire's clients. The wire may append others.
inline std::vector<device::Counter> ClientStatistics(const ClientCounts& counts) {
  std::vector<device::Counter> statistics;
  for (const auto& [name, member] : kClientCounts) statistics.push_back({name, counts.*member});
  return statistics;
}

/// Appends the statistics of a histogram of latencies in nanoseconds (engine/workload/histogram.h).
template <typename Histogram>
void AppendLatency(const Histogram& latency, std::vector<device::Counter>& statistics) {
  statistics.insert(statistics.end(), {{"client_mean_ns", static_cast<uint64_t>(latency.mean())},
                                       {"client_p50_ns", latency.Percentile(0.5)},
                                       {"client_p99_ns", latency.Percentile(0.99)},
                                       {"client_p999_ns", latency.Percentile(0.999)},
                                       {"client_max_ns", latency.max()}});
}

}  // namespace sluice::emulator
