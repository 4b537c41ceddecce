// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/percentile_text.h"

#include <absl/strings/str_format.h>

#include <cmath>
#include <cstdint>

namespace sluice::engine::pktgen {

namespace {

constexpr double kTicksPerHalving = 5;
// Layout of the histogram: 44 bits; the first bucket has 256 counters, the others 128 each.
constexpr int kBuckets = 37;
constexpr int kSubBuckets = 256;

double NextLevel(double level) {
  const double halvings = std::floor(std::log2(100 / (100 - level))) + 1;
  return level + 100 / (kTicksPerHalving * std::exp2(halvings));
}

double Deviation(const workload::Histogram& histogram) {
  double squares = 0;
  histogram.ForEachBucket([&](uint64_t lowest, uint64_t highest, uint64_t count) {
    const double middle = (static_cast<double>(lowest) + static_cast<double>(highest)) / 2;
    squares +=
        (middle - histogram.mean()) * (middle - histogram.mean()) * static_cast<double>(count);
  });
  return histogram.count() == 0 ? 0 : std::sqrt(squares / static_cast<double>(histogram.count()));
}

}  // namespace

std::string PercentileText(const workload::Histogram& histogram, double unit) {
  std::string text = absl::StrFormat("%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
                                     "1/(1-Percentile)");
  const uint64_t total = histogram.count();
  uint64_t seen = 0;
  double level = 0;
  histogram.ForEachBucket([&](uint64_t /*lowest*/, uint64_t highest, uint64_t count) {
    if (count == 0) return;
    seen += count;
    const double reached = 100 * static_cast<double>(seen) / static_cast<double>(total);
    const double value = static_cast<double>(highest) / unit;
    while (reached >= level) {
      absl::StrAppendFormat(&text, "%12.3f %2.12f %10d %14.2f\n", value, level / 100, seen,
                            1 / (1 - level / 100));
      level = NextLevel(level);
      if (seen == total) {
        absl::StrAppendFormat(&text, "%12.3f %2.12f %10d\n", value, 1.0, total);
        break;
      }
    }
  });
  absl::StrAppendFormat(&text, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
                        histogram.mean() / unit, Deviation(histogram) / unit);
  absl::StrAppendFormat(&text, "#[Max     = %12.3f, Total count    = %12d]\n",
                        static_cast<double>(histogram.max()) / unit, total);
  absl::StrAppendFormat(&text, "#[Buckets = %12d, SubBuckets     = %12d]\n", kBuckets, kSubBuckets);
  return text;
}

}  // namespace sluice::engine::pktgen
