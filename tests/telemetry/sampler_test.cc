// SPDX-License-Identifier: BSD-3-Clause
//
// Compares gaps with the geometric distribution: mean 1/p, variance (1-p)/p², P(g) = p·(1-p)^(g-1).
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/telemetry/gap_sampler.h"
#include "engine/telemetry/row_sampler.h"

namespace sluice::engine::telemetry {
namespace {

TEST(GapSampler, DrawsGapsOfTheGeometricDistribution) {
  constexpr int kDraws = 400'000;
  for (const double p : {0.5, 0.3, 0x1p-7, 0.01}) {
    GapSampler gaps(7);
    gaps.SetProbability(p);
    double sum = 0, squares = 0;
    int ones = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto gap = static_cast<double>(gaps.Next());
      ASSERT_GE(gap, 1);
      sum += gap;
      squares += gap * gap;
      ones += gap == 1;
    }
    const double q = gaps.probability();
    const double mean = sum / kDraws;
    const double deviation = std::sqrt((1 - q) / (q * q));
    EXPECT_NEAR(mean, 1 / q, 5 * deviation / std::sqrt(kDraws)) << p;
    // The variance of the sample variance of a geometric distribution is below 10·σ⁴/n.
    EXPECT_NEAR(squares / kDraws - mean * mean, deviation * deviation,
                5 * deviation * deviation * std::sqrt(10.0 / kDraws))
        << p;
    EXPECT_NEAR(ones, kDraws * q, 5 * std::sqrt(kDraws * q * (1 - q))) << p;
  }
}

TEST(GapSampler, DrawsEveryGapAsOftenAsItShould) {
  constexpr int kDraws = 2'000'000;
  for (const double p : {0.5, 0.1, 0.01, 0x1p-7}) {
    GapSampler gaps(11);
    gaps.SetProbability(p);
    const double q = gaps.probability();
    // Computes χ² with one class for each gap whose expected count is at least 20, and one class
    // for all other gaps.
    std::vector<double> expected(1), counted(1);
    for (double share = q; share * kDraws >= 20; share *= 1 - q) expected.push_back(share * kDraws);
    double rest = kDraws;
    for (const double count : expected) rest -= count;
    expected[0] = rest;
    counted.resize(expected.size());
    for (int i = 0; i < kDraws; ++i) {
      const uint32_t gap = gaps.Next();
      ++counted[gap < counted.size() ? gap : 0];
    }
    double chi_squared = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      chi_squared += (counted[i] - expected[i]) * (counted[i] - expected[i]) / expected[i];
    }
    const auto freedom = static_cast<double>(expected.size() - 1);
    EXPECT_LT(chi_squared, freedom + 5 * std::sqrt(2 * freedom)) << p;
  }
}

TEST(RowSampler, TellsGapsAsFramesAndRows) {
  for (const uint32_t rows : {1u, 3u, 8u, 40u, 128u}) {
    for (const double p : {0.5, 0.01, 0x1p-16}) {
      GapSampler gaps(5);
      RowSampler samples(rows, 5);
      gaps.SetProbability(p);
      samples.SetProbability(p);
      // Number of rows before the current sample, and number of frames up to the sample's frame.
      uint64_t behind = 0, frame = 0;
      for (int i = 0; i < 1000; ++i) {
        behind += gaps.Next();
        const RowSampler::Sample sample = samples.Next();
        frame += sample.frames;
        ASSERT_EQ((frame - 1) * rows + sample.row, behind - 1);
      }
    }
  }
}

TEST(GapSampler, TakesTheProbabilityWhoseInverseItCanCountExactly) {
  GapSampler gaps(1);
  for (const double p : {1.0, 0.9, 0.7, 0.3, 0.1, 0.01, 0x1p-7, 0x1p-16}) {
    gaps.SetProbability(p);
    EXPECT_DOUBLE_EQ(gaps.probability() * static_cast<double>(gaps.weight()), kUnit);
    EXPECT_NEAR(gaps.probability() / p, 1, 1.0 / kUnit);
  }
  gaps.SetProbability(0.01);
  EXPECT_EQ(gaps.weight(), 100 * kUnit);
}

TEST(GapSampler, SamplesEverythingAtOneAndStaysFiniteAtTheLeastProbability) {
  GapSampler gaps(3);
  gaps.SetProbability(1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(gaps.Next(), 1u);
  gaps.SetProbability(0x1p-16);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t gap = gaps.Next();
    EXPECT_GE(gap, 1u);
    EXPECT_LE(gap, 2'500'000u);  // 52·ln 2·2^16 is 2.36 million.
  }
}

TEST(GapSampler, ForgetsWhatItDrewForAnotherProbability) {
  GapSampler gaps(5);
  for (int round = 0; round < 3; ++round) {
    gaps.SetProbability(0x1p-16);
    EXPECT_GT(gaps.Next(), 1u);
    gaps.SetProbability(1);
    EXPECT_EQ(gaps.Next(), 1u);
  }
}

TEST(GapSampler, DrawsTheSameFromTheSameSeedAndOthersFromAnother) {
  GapSampler a(1), b(1), c(2);
  for (GapSampler* gaps : {&a, &b, &c}) gaps->SetProbability(0.01);
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t gap = a.Next();
    EXPECT_EQ(gap, b.Next());
    same += gap == c.Next();
  }
  EXPECT_LT(same, 100);
}

}  // namespace
}  // namespace sluice::engine::telemetry
