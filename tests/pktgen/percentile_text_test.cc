// SPDX-License-Identifier: BSD-3-Clause
//
// Checks that Histogram has the same buckets as HdrHistogram, and that PercentileText prints the
// text format of HdrHistogram's tools. The expected values are calculated from the published
// definitions of both; HdrHistogram itself is not used.
#include "engine/pktgen/percentile_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace sluice::engine::pktgen {
namespace {

using workload::Histogram;

// Computes as HdrHistogram (AbstractHistogram.java) does for two significant digits: there are 256
// sub-buckets, and each bucket except the first uses only their upper half.
uint64_t HighestEquivalent(uint64_t value) {
  const int bucket = 64 - __builtin_clzll(value | 255) - 8;
  const uint64_t sub_bucket = value >> bucket;
  return (sub_bucket << bucket) + (uint64_t{1} << bucket) - 1;
}

TEST(PktgenHistogram, HasTheBucketsOfHdrHistogram) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> values{
      0, 1, 127, 128, 255, 256, 257, 258, 511, 512, 515, 516, 1000, (1ull << 44) - 1, 1ull << 43};
  for (int i = 0; i < 1000; ++i) values.push_back(random() >> (20 + random() % 44));
  for (const uint64_t value : values) {
    Histogram histogram;
    histogram.Record(value);
    uint64_t buckets = 0;
    histogram.ForEachBucket([&](uint64_t lowest, uint64_t highest, uint64_t count) {
      if (count == 0) return;
      ++buckets;
      EXPECT_LE(lowest, value);
      EXPECT_EQ(highest, HighestEquivalent(value));
      // Each bucket is narrower than 1 % of its values, because there are two digits.
      EXPECT_LE(static_cast<double>(highest - lowest), 0.01 * static_cast<double>(value));
    });
    EXPECT_EQ(buckets, 1u) << value;
  }
}

TEST(PktgenHistogram, SnapshotsDiffer) {
  Histogram histogram;
  histogram.Record(10);
  const Histogram earlier = histogram.Snapshot();
  histogram.Record(30);
  histogram.Record(30);
  Histogram later = histogram.Snapshot();
  later.Subtract(earlier);
  EXPECT_EQ(later.count(), 2u);
  EXPECT_DOUBLE_EQ(later.mean(), 30);
  EXPECT_EQ(later.Percentile(0.01), 30u);
}

// There are ten values of 100 and ten of 200. Each level advances by a fifth of half the distance
// to 100 %: 0, 10, … 50, 55, … 75, 77.5, …. The rows up to 50 % count the values of 100; the next
// row counts all values.
TEST(PktgenPercentileText, IsWhatHdrHistogramPrints) {
  Histogram histogram;
  for (int i = 0; i < 10; ++i) {
    histogram.Record(100);
    histogram.Record(200);
  }
  EXPECT_EQ(PercentileText(histogram, 1),
            "       Value     Percentile TotalCount 1/(1-Percentile)\n"
            "\n"
            "     100.000 0.000000000000         10           1.00\n"
            "     100.000 0.100000000000         10           1.11\n"
            "     100.000 0.200000000000         10           1.25\n"
            "     100.000 0.300000000000         10           1.43\n"
            "     100.000 0.400000000000         10           1.67\n"
            "     100.000 0.500000000000         10           2.00\n"
            "     200.000 0.550000000000         20           2.22\n"
            "     200.000 1.000000000000         20\n"
            "#[Mean    =      150.000, StdDeviation   =       50.000]\n"
            "#[Max     =      200.000, Total count    =           20]\n"
            "#[Buckets =           37, SubBuckets     =          256]\n");
}

TEST(PktgenPercentileText, OfNothingHasNoRows) {
  EXPECT_EQ(PercentileText(Histogram(), 1),
            "       Value     Percentile TotalCount 1/(1-Percentile)\n"
            "\n"
            "#[Mean    =        0.000, StdDeviation   =        0.000]\n"
            "#[Max     =        0.000, Total count    =            0]\n"
            "#[Buckets =           37, SubBuckets     =          256]\n");
}

}  // namespace
}  // namespace sluice::engine::pktgen
