// SPDX-License-Identifier: BSD-3-Clause
//
// Tests RFC 2544 loss rates and bursts with devices in virtual time, and the results of trials in
// which the generator did not offer all frames.
#include "engine/pktgen/rfc2544.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace sluice::engine::pktgen {
namespace {

constexpr double kTenGigPps = 14'880'952;  // 64-byte frames on a 10 Gb/s line.

/// A device that serves `cap` frames per second and buffers `buffer` frames. The generator sends at
/// most `generator` frames per second.
struct Capped {
  double cap = INFINITY;
  double buffer = 0;
  double generator = INFINITY;
  /// Maximum delay of a frame in the generator, in seconds; later frames count as unsent.
  double patience_s = 0.01;
  uint64_t stopped_after = ~uint64_t{0};
  uint64_t spoilt = 0;  ///< Number of disturbed trials before each trial that counts.
  mutable uint64_t trials = 0;
  mutable uint64_t sent = 0;
  mutable uint64_t refused = 0;

  std::optional<Outcome> operator()(const Offer& offer) const {
    if (trials == stopped_after || refused > 0) {
      ++refused;
      return std::nullopt;
    }
    ++trials;
    Outcome outcome;
    outcome.offered = static_cast<uint64_t>(std::llround(offer.rate_pps * offer.duration_s));
    const double sent_pps = std::min(offer.rate_pps, generator);
    const auto due = static_cast<double>(outcome.offered);
    outcome.overrun_s = std::min(due / sent_pps - due / offer.rate_pps, patience_s);
    const double send_s = offer.duration_s + outcome.overrun_s;
    outcome.unsent =
        outcome.offered -
        std::min(outcome.offered, static_cast<uint64_t>(std::llround(sent_pps * send_s)));
    const double excess = std::max((sent_pps - cap) * offer.duration_s - buffer, 0.0);
    outcome.lost = static_cast<uint64_t>(excess);
    outcome.disturbed = trials % (spoilt + 1) != 0;
    if (outcome.disturbed) outcome.lost += 1000;
    sent += outcome.offered - outcome.unsent;
    return outcome;
  }
};

TEST(Rfc2544, StoppedTestsReportWholeTrialsAlone) {
  const Capped loss{.cap = 0.75 * kTenGigPps, .stopped_after = 3};
  EXPECT_EQ(FrameLossRate(kTenGigPps, 1, 1, loss).size(), 3u);
  EXPECT_EQ(loss.refused, 1u);

  // There is only one trial per repetition, because every burst has the maximum length.
  const Capped bursts{.cap = kTenGigPps, .stopped_after = 2};
  const BackToBack found = LongestBursts(1000, 2, 5, bursts);
  EXPECT_EQ(found.bursts, (std::vector<uint64_t>{2000, 2000}));
  EXPECT_EQ(found.refusal, Refusal::kStopped);
  EXPECT_EQ(bursts.refused, 1u);

  // The test is stopped during the search for the first burst.
  const Capped search{.cap = kTenGigPps / 2, .buffer = 100, .stopped_after = 4};
  EXPECT_TRUE(LongestBursts(kTenGigPps, 2, 5, search).bursts.empty());
  EXPECT_EQ(search.refused, 1u);
}

TEST(Rfc2544, FrameLossRateEndsAfterTwoCleanRates) {
  const Capped device{.cap = 0.75 * kTenGigPps};
  const std::vector<LossAtRate> rates = FrameLossRate(kTenGigPps, 1, 4, device);
  // The trials at 100, 90 and 80 % have losses; those at 70 and 60 % do not.
  ASSERT_EQ(rates.size(), 5u);
  for (size_t i = 0; i < rates.size(); ++i) {
    EXPECT_EQ(rates[i].percent, 100 - 10 * i);
    EXPECT_EQ(rates[i].refusal, Refusal::kNone);
    EXPECT_EQ(rates[i].losses.size(), 4u);
    EXPECT_EQ(rates[i].trials.size(), 4u);
    // The expected loss is (rate - cap) / rate.
    const double rate = 1.0 - 0.1 * static_cast<double>(i);
    const double expected = std::max(100 * (rate - 0.75) / rate, 0.0);
    const Spread spread = SpreadOf(rates[i].losses);
    EXPECT_NEAR(spread.average, expected, 1e-4);
    EXPECT_NEAR(spread.minimum, spread.maximum, 1e-9);
    EXPECT_NEAR(spread.deviation, 0, 1e-9);
  }
  const Capped deaf{.cap = -1e9};
  EXPECT_EQ(FrameLossRate(kTenGigPps, 1, 1, deaf).size(), 10u);
}

TEST(Rfc2544, SpreadsAreThoseOfASample) {
  const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};  // The squared differences from 5 add up to 32.
  const Spread spread = SpreadOf(values);
  EXPECT_DOUBLE_EQ(spread.average, 5);
  EXPECT_DOUBLE_EQ(spread.minimum, 2);
  EXPECT_DOUBLE_EQ(spread.maximum, 9);
  EXPECT_DOUBLE_EQ(spread.deviation, std::sqrt(32.0 / 7));
  EXPECT_EQ(SpreadOf({}).average, 0);
  EXPECT_EQ(SpreadOf(std::vector<double>{3}).deviation, 0);
}

TEST(Rfc2544, BackToBackFindsTheBuffer) {
  for (const double buffer : {0.0, 1.0, 100.0, 4096.0, 1e6}) {
    const Capped device{.cap = kTenGigPps / 2, .buffer = buffer};
    const BackToBack found = LongestBursts(kTenGigPps, 2, 3, device);
    ASSERT_EQ(found.bursts.size(), 3u);
    EXPECT_EQ(found.refusal, Refusal::kNone);
    // The device drains while the burst arrives, so n frames leave n / 2 in the buffer. A loss of
    // less than one frame counts as zero.
    const double longest = 2 * (buffer + 1);
    for (const uint64_t burst : found.bursts) {
      EXPECT_NEAR(static_cast<double>(burst), longest, 0.005 * longest + 2) << buffer;
    }
  }
}

TEST(Rfc2544, BackToBackKnowsItsLongestBurst) {
  const Capped device{.cap = kTenGigPps};
  const BackToBack found = LongestBursts(1000, 2, 2, device);
  EXPECT_EQ(found.longest, 2000u);
  EXPECT_EQ(found.bursts, (std::vector<uint64_t>{2000, 2000}));
  const Capped deaf{.cap = -1e9};
  EXPECT_EQ(LongestBursts(1000, 2, 2, deaf).bursts, (std::vector<uint64_t>{0, 0}));
}

// The line carries 64-byte frames at 400 Gb/s, but the generator sends only 10 million per second.
// Therefore, bursts and rates above a sixtieth of the line cannot be offered, whatever the
// patience.
TEST(Rfc2544, WhatTheGeneratorDidNotOfferNeitherPassedNorFailed) {
  const double line_pps = 400e9 / 672;
  for (const double patience_s : {0.01, 60.0}) {
    const Capped device{.generator = 10e6, .patience_s = patience_s};
    const BackToBack bursts = LongestBursts(line_pps, 0.2, 5, device);
    EXPECT_TRUE(bursts.bursts.empty());
    EXPECT_EQ(bursts.refusal, Refusal::kGenerator);
    EXPECT_EQ(device.trials, 10u);
    const std::vector<LossAtRate> rates = FrameLossRate(line_pps, 0.2, 3, device);
    ASSERT_EQ(rates.size(), 10u);
    for (const LossAtRate& rate : rates) {
      EXPECT_TRUE(rate.losses.empty());
      EXPECT_EQ(rate.refusal, Refusal::kGenerator);
    }
  }
}

TEST(Rfc2544, DisturbedTrialsAreRepeatedTenTimesAtMost) {
  const Capped device{.cap = 0.55 * kTenGigPps, .buffer = 100, .spoilt = 9};
  const std::vector<LossAtRate> rates = FrameLossRate(kTenGigPps, 1, 2, device);
  ASSERT_EQ(rates.size(), 7u);
  EXPECT_EQ(rates[0].trials.size(), 20u);
  EXPECT_EQ(rates[0].losses.size(), 2u);
  EXPECT_NEAR(rates[0].losses[1], 45, 0.01);
  const Capped worse{.cap = kTenGigPps, .spoilt = 10};
  EXPECT_EQ(FrameLossRate(kTenGigPps, 1, 2, worse)[0].refusal, Refusal::kHost);
  const Capped worst{.cap = kTenGigPps, .spoilt = 10};
  EXPECT_EQ(LongestBursts(kTenGigPps, 1, 2, worst).refusal, Refusal::kHost);
  EXPECT_EQ(worst.trials, 10u);
}

// The device is a lossless loopback, but the generator sometimes does not offer any frames.
TEST(Rfc2544, TrialsThatOfferedNothingAreNoFailuresOfTheDevice) {
  for (const uint64_t every : {2, 3, 5, 7}) {
    uint64_t trials = 0;
    const FoundRate found =
        FindRate({.max_pps = kTenGigPps, .generator_pps = kTenGigPps}, [&](const Offer& offer) {
          Outcome outcome;
          if (++trials % every != 0) {
            outcome.offered = static_cast<uint64_t>(offer.rate_pps * offer.duration_s);
          }
          return std::optional(outcome);
        });
    EXPECT_NE(NameOf(found.limit), "device") << every;
  }
}

}  // namespace
}  // namespace sluice::engine::pktgen
