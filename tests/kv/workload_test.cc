// SPDX-License-Identifier: BSD-3-Clause
//
// Tests workloads. Compares draws with the probabilities of their distributions (chi-square), and
// histograms with sorted samples. Seeds are fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/kv/client/items.h"
#include "engine/workload/histogram.h"
#include "engine/workload/popularity.h"
#include "engine/workload/schedule.h"

namespace sluice::engine::workload {
namespace {

using namespace kv::client;
using kv::Bytes;

/// Returns how far Pearson's statistic is from its mean, in standard deviations. This value is
/// approximately normally distributed.
double ChiSquareDeviation(const std::vector<uint64_t>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double difference = static_cast<double>(seen[i]) - expected[i];
    sum += difference * difference / expected[i];
  }
  const double freedom = static_cast<double>(seen.size()) - 1;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(PopularityTest, FollowsZipfsLaw) {
  constexpr uint64_t kItems = 1000, kDraws = 1'000'000;
  for (const double exponent : {0.0, 0.5, 0.99, 1.0, 1.2, 2.0}) {
    double total = 0;
    for (uint64_t i = 1; i <= kItems; ++i) total += std::pow(i, -exponent);
    std::vector<double> expected;
    for (uint64_t i = 1; i <= kItems; ++i) {
      expected.push_back(kDraws * std::pow(i, -exponent) / total);
    }
    const Popularity popularity(kItems, exponent);
    Random random(1);
    std::vector<uint64_t> seen(kItems);
    for (uint64_t i = 0; i < kDraws; ++i) {
      const uint64_t item = popularity.Draw(random);
      ASSERT_LT(item, kItems);
      ++seen[item];
    }
    // Merges rare items into bins with at least 10 expected draws.
    while (expected.back() < 10) {
      const double rare = expected.back();
      const uint64_t draws = seen.back();
      expected.pop_back(), seen.pop_back();
      expected.back() += rare, seen.back() += draws;
    }
    EXPECT_LT(std::abs(ChiSquareDeviation(seen, expected)), 4) << exponent;
  }
}

TEST(PopularityTest, FollowsZipfsLawOverManyItems) {
  // Shares of the first 1, 10, 100 … items, computed by summing 16 Mi terms.
  constexpr uint64_t kItems = 16 << 20, kDraws = 1'000'000;
  std::vector<uint64_t> ends;
  std::vector<double> sums;
  double sum = 0;
  for (uint64_t i = 1, end = 1; i <= kItems; ++i) {
    sum += std::pow(static_cast<double>(i), -0.99);
    if (i != end && i != kItems) continue;
    ends.push_back(i), sums.push_back(sum);
    end *= 10;
  }
  const Popularity popularity(kItems, 0.99);
  Random random(2);
  std::vector<uint64_t> seen(ends.size());
  for (uint64_t i = 0; i < kDraws; ++i) {
    const uint64_t rank = popularity.Draw(random) + 1;
    ++seen[static_cast<size_t>(std::ranges::lower_bound(ends, rank) - ends.begin())];
  }
  std::vector<double> expected;
  for (size_t i = 0; i < ends.size(); ++i) {
    expected.push_back(kDraws * (sums[i] - (i == 0 ? 0 : sums[i - 1])) / sum);
  }
  EXPECT_LT(std::abs(ChiSquareDeviation(seen, expected)), 4);
}

TEST(PopularityTest, DrawsTheOnlyItem) {
  Random random(3);
  for (const double exponent : {0.0, 0.99, 5.0}) {
    const Popularity popularity(1, exponent);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(0u, popularity.Draw(random));
  }
}

TEST(ItemsTest, KeysAreDistinctAndPrintable) {
  for (const ItemSizes sizes : {ItemSizes{.key_bytes = 2}, ItemSizes{.key_bytes = 8},
                                ItemSizes{.key_bytes = 16}, ItemSizes{.key_bytes = 250}}) {
    const uint64_t items = std::min<uint64_t>(sizes.MaxItems(), 5000);
    std::set<std::string> keys;
    for (uint64_t item = 0; item < items; ++item) {
      std::string key(sizes.key_bytes, '\0');
      MakeKey(item, sizes, reinterpret_cast<uint8_t*>(key.data()));
      EXPECT_TRUE(std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; }));
      keys.insert(key);
    }
    EXPECT_EQ(items, keys.size());
  }
  EXPECT_EQ(4096u, ItemSizes{.key_bytes = 2}.MaxItems());
}

TEST(ItemsTest, CharactersAreDigitsOfBase64) {
  uint64_t digits = 0;
  for (const uint64_t digit : {63, 32, 7, 6, 5, 2, 1, 0}) digits = digits << 6 | digit;
  const uint64_t characters = KeyCharacters(digits);
  EXPECT_EQ(";<=@AB[z", std::string(reinterpret_cast<const char*>(&characters), 8));
}

TEST(ItemsTest, ValuesTellTheirVersion) {
  for (uint32_t bytes = 8; bytes <= 70; ++bytes) {
    for (const uint32_t version : {0u, 1u, 77u, UINT32_MAX}) {
      std::vector<uint8_t> value(bytes);
      MakeValue(bytes, version, value);
      EXPECT_EQ(version, VersionOf(bytes, bytes, value));
      EXPECT_FALSE(VersionOf(bytes + 1, bytes, value)) << "another item's";
      EXPECT_FALSE(VersionOf(bytes, bytes - 1, value));
      EXPECT_FALSE(VersionOf(bytes, bytes, Bytes(value).first(bytes - 1)));
    }
  }
}

TEST(ItemsTest, EveryBitOfAValueIsChecked) {
  for (const uint32_t bytes : {8u, 9u, 64u, 100u}) {
    std::vector<uint8_t> value(bytes);
    MakeValue(5, 6, value);
    for (uint32_t bit = 0; bit < 8 * bytes; ++bit) {
      value[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(VersionOf(5, bytes, value)) << bit;
      value[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
  }
}

constexpr double kShares[] = {0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};

uint64_t NearestRank(const std::vector<uint64_t>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

TEST(HistogramTest, CountsPowersOfTwo) {
  Histogram histogram;
  for (const uint64_t value : {0u, 1u, 2u, 3u, 255u, 256u, 1000u, 1023u, 1024u}) {
    histogram.Record(value);
  }
  histogram.Record(~uint64_t{0});
  std::array<uint64_t, Histogram::kPowers> expected = {};
  expected[0] = expected[1] = 1;  // 0 and 1.
  expected[2] = 2;                // 2, 3.
  expected[8] = expected[9] = 1;  // 255, 256.
  expected[10] = 2;               // 512 ... 1023.
  expected[11] = expected[44] = 1;
  EXPECT_EQ(histogram.PowersOfTwo(), expected);
}

TEST(HistogramTest, PercentilesAreWithinOnePercentOfThoseOfSortedSamples) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> narrow(8, 0.5), wide(10, 5);
  std::uniform_int_distribution<uint64_t> small(0, 300), large(0, uint64_t{1} << 40);
  const std::vector<std::function<uint64_t()>> sources = {
      [&] { return static_cast<uint64_t>(narrow(random)); },
      [&] { return static_cast<uint64_t>(std::min(wide(random), 1e13)); },
      [&] { return small(random); }, [&] { return large(random); }, [] { return uint64_t{0}; }};
  for (const auto& source : sources) {
    Histogram histogram;
    std::vector<uint64_t> samples;
    for (int i = 0; i < 20'000; ++i) {
      samples.push_back(source());
      histogram.Record(samples.back());
    }
    std::ranges::sort(samples);
    for (const double share : kShares) {
      const auto exact = static_cast<double>(NearestRank(samples, share));
      EXPECT_LE(std::abs(static_cast<double>(histogram.Percentile(share)) - exact), 0.01 * exact)
          << share;
    }
    EXPECT_EQ(samples.front(), histogram.min());
    EXPECT_EQ(samples.back(), histogram.max());
    EXPECT_EQ(samples.size(), histogram.count());
    double sum = 0;
    for (const uint64_t sample : samples) sum += static_cast<double>(sample);
    EXPECT_NEAR(sum / 20'000, histogram.mean(), 1e-6 * histogram.mean());
  }
}

TEST(HistogramTest, SumsUp) {
  Histogram low, high, both;
  for (uint64_t i = 1; i <= 100; ++i) {
    low.Record(i), both.Record(i);
    high.Record(i << 20), both.Record(i << 20);
  }
  low.Add(high);
  for (const double share : kShares) EXPECT_EQ(both.Percentile(share), low.Percentile(share));
  EXPECT_EQ(200u, low.count());
  EXPECT_EQ(1u, low.min());
  EXPECT_EQ(uint64_t{100} << 20, low.max());
}

TEST(HistogramTest, OfNothingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(0u, histogram.Percentile(0.5));
  EXPECT_EQ(0u, histogram.min());
  EXPECT_EQ(0u, histogram.max());
  EXPECT_EQ(0, histogram.mean());
}

TEST(ScheduleTest, ConstantArrivalsAreAtEqualDistances) {
  Schedule schedule(3e6, Arrivals::kConstant, 1000, 1);
  for (uint64_t i = 0; i < 10'000'000; ++i) {
    if (i % 3'000'000 == 0) {
      EXPECT_NEAR(1000 + i / 3 * 1000, schedule.due_ns(), 1);
    }
    schedule.Advance();
  }
}

TEST(ScheduleTest, PoissonArrivalsHaveExponentialGaps) {
  constexpr int kGaps = 100'000, kBins = 20;
  Schedule schedule(1e6, Arrivals::kPoisson, 0, 7);
  std::vector<uint64_t> seen(kBins);
  uint64_t last = schedule.due_ns();
  for (int i = 0; i < kGaps; ++i) {
    schedule.Advance();
    ASSERT_GE(schedule.due_ns(), last);
    // For an exponential distribution with a mean of 1000 ns, all bins have the same probability.
    const double uniform = 1 - std::exp(-static_cast<double>(schedule.due_ns() - last) / 1000);
    ++seen[static_cast<size_t>(uniform * kBins)];
    last = schedule.due_ns();
  }
  EXPECT_LT(std::abs(ChiSquareDeviation(seen, std::vector<double>(kBins, kGaps / kBins))), 4);
  EXPECT_NEAR(1000.0 * kGaps, static_cast<double>(last), 1000 * 4 * std::sqrt(kGaps));
}

}  // namespace
}  // namespace sluice::engine::workload
