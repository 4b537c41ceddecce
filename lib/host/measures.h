// SPDX-License-Identifier: BSD-3-Clause
//
// Converts counts and times in nanoseconds for reports.
#pragma once

#include <absl/strings/str_format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice::host {

inline double Us(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

inline double PerSecond(uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// Returns the median and the 99th percentile of `histogram` as text, in microseconds. The
/// histogram's values must be in nanoseconds (engine/workload/histogram.h).
template <typename Histogram>
std::string LatencyText(const Histogram& histogram) {
  return absl::StrFormat("p50 %.2f  p99 %.2f us", Us(histogram.Percentile(0.5)),
                         Us(histogram.Percentile(0.99)));
}
template <typename Histogram>
nlohmann::ordered_json LatencyJson(const Histogram& histogram) {
  return {{"count", histogram.count()},
          {"min", Us(histogram.min())},
          {"mean", histogram.mean() / 1e3},
          {"p50", Us(histogram.Percentile(0.5))},
          {"p90", Us(histogram.Percentile(0.9))},
          {"p99", Us(histogram.Percentile(0.99))},
          {"p99.9", Us(histogram.Percentile(0.999))},
          {"max", Us(histogram.max())}};
}

/// Returns the members that the "Latency" page of sluice-top shows. `times` must be in nanoseconds.
template <typename Histogram>
nlohmann::ordered_json LatencyNsJson(const Histogram& times) {
  return {{"count", times.count()},
          {"mean_ns", times.mean()},
          {"p50_ns", times.Percentile(0.5)},
          {"p99_ns", times.Percentile(0.99)},
          {"p999_ns", times.Percentile(0.999)},
          {"max_ns", times.max()}};
}

/// Like LatencyNsJson, plus a member for each nonempty power-of-two bucket, named "le_" and the
/// bucket's upper bound in nanoseconds.
template <typename Histogram>
nlohmann::ordered_json BucketsJson(const Histogram& times) {
  nlohmann::ordered_json json = LatencyNsJson(times);
  const auto powers = times.PowersOfTwo();
  for (size_t bits = 0; bits < powers.size(); ++bits) {
    if (powers[bits] == 0) continue;
    json["le_" + std::to_string((uint64_t{1} << bits) - 1)] = powers[bits];
  }
  return json;
}

}  // namespace sluice::host
