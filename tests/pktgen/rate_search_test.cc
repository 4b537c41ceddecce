// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the search with devices in virtual time. The search does not know their caps.
#include "engine/pktgen/rate_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace sluice::engine::pktgen {
namespace {

constexpr double kLinePps = 14'880'952;  // 64-byte frames on a 10 Gb/s line.

// How a device with a cap loses excess frames.
enum class Loss { kAtOnce, kLate, kInBursts };

// A device that serves `cap` frames per second and buffers `buffer` frames. Trials use a fluid
// model, which is exact except for the frames in the buffer at the end of a trial.
struct Policer {
  double cap;
  double buffer = 0;
  uint64_t burst = 1;           // Frames are lost in groups of this size.
  double spurious = 0;          // Share of trials below the cap that lose frames.
  double disturbed = 0;         // Share of trials that the host disturbs.
  double wander = 0;            // Maximum relative deviation of a trial's cap.
  double generator = INFINITY;  // Maximum rate of the generator.
  mutable std::mt19937_64 random = std::mt19937_64(1);
  mutable uint64_t trials = 0;

  bool Happens(double share) const {
    return std::uniform_real_distribution<>(0, 1)(random) < share;
  }

  Outcome operator()(const Offer& offer) const {
    ++trials;
    Outcome outcome;
    outcome.offered = static_cast<uint64_t>(std::llround(offer.rate_pps * offer.duration_s));
    const double sent_pps = std::min(offer.rate_pps, generator);
    const auto sent = static_cast<uint64_t>(std::llround(sent_pps * offer.duration_s));
    outcome.unsent = outcome.offered - std::min(sent, outcome.offered);
    const double now = cap * (1 + std::uniform_real_distribution<>(-1, 1)(random) * wander);
    const double excess = std::max((sent_pps - now) * offer.duration_s - buffer, 0.0);
    outcome.lost = static_cast<uint64_t>(excess) / burst * burst;
    if (Happens(spurious)) outcome.lost += 1 + random() % 100;
    if (Happens(disturbed)) {
      outcome.disturbed = true;
      outcome.lost = random() % 2;
    }
    return outcome;
  }
};

RateSearch Search() { return {.max_pps = kLinePps, .generator_pps = kLinePps}; }

TEST(RateSearch, FindsCapsOfEverySeedWithinOnePercent) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Policer device{.cap = 0};
    device.random.seed(seed);
    std::uniform_real_distribution<> exponent(std::log(10'000.0), std::log(0.98 * kLinePps));
    device.cap = std::exp(exponent(device.random));
    switch (static_cast<Loss>(seed % 3)) {
      case Loss::kAtOnce:
        break;
      // If a trial exceeds the cap by half a percent, the buffer fills up in 8 s.
      case Loss::kLate:
        device.buffer = 0.005 * 8 * device.cap;
        break;
      case Loss::kInBursts:
        device.burst = 1 + device.random() % 256;
        break;
    }
    device.spurious = seed % 4 == 3 ? 0.05 : 0;
    device.disturbed = seed % 5 == 4 ? 0.2 : 0;
    const FoundRate found = FindRate(Search(), device);
    EXPECT_EQ(found.limit, RateLimit::kDevice) << seed;
    EXPECT_NEAR(found.low_pps, device.cap, 0.01 * device.cap) << seed;
    EXPECT_NEAR(found.high_pps, device.cap, 0.01 * device.cap) << seed;
    EXPECT_LE(found.high_pps, (device.spurious == 0 ? 1.005001 : 1.015) * found.low_pps) << seed;
    EXPECT_EQ(found.confidence, 0.95) << seed;
  }
}

TEST(RateSearch, StartsGently) {
  Policer device{.cap = 1'000'000};
  const FoundRate found = FindRate(Search(), device);
  ASSERT_FALSE(found.trials.empty());
  EXPECT_LT(found.trials[0].offer.rate_pps, kLinePps / 1000);
  double highest = found.trials[0].offer.rate_pps;
  for (const TrialRecord& record : found.trials) {
    EXPECT_LE(record.offer.rate_pps, 2 * highest);
    highest = std::max(highest, record.offer.rate_pps);
  }
}

TEST(RateSearch, ToleratedLossFindsAHigherRate) {
  Policer device{.cap = 1'000'000};
  RateSearch search = Search();
  search.tolerated_loss = 0.01;
  const FoundRate found = FindRate(search, device);
  // The expected rate follows from (rate - cap) / rate = 0.01.
  EXPECT_NEAR(found.low_pps, 1'000'000 / 0.99, 0.006 * 1'000'000);
}

TEST(RateSearch, NamesWhatWasTheLimit) {
  struct Case {
    const char* name;
    Policer device;
    double generator_pps;
    RateLimit limit;
    double low_pps;  // Expected low_pps; 0 if low_pps is not checked.
  };
  const Case cases[] = {
      {"nothing is lost on the line", {.cap = 2 * kLinePps}, kLinePps, RateLimit::kLine, kLinePps},
      {"the loopback was slower",
       {.cap = 2 * kLinePps},
       kLinePps / 2,
       RateLimit::kGenerator,
       kLinePps / 2},
      {"slower than on the loopback",
       {.cap = 2 * kLinePps, .generator = 5e6},
       kLinePps,
       RateLimit::kGenerator,
       5e6},
      {"the device is slower than the generator",
       {.cap = 4e6, .generator = 5e6},
       kLinePps,
       RateLimit::kDevice,
       4e6},
      {"every second trial loses", {.cap = 1e6, .spurious = 0.5}, kLinePps, RateLimit::kNoise, 0},
      {"most trials are disturbed", {.cap = 1e6, .disturbed = 0.8}, kLinePps, RateLimit::kNoise, 0},
      {"all trials are disturbed", {.cap = 1e6, .disturbed = 1}, kLinePps, RateLimit::kNoise, 0},
      {"nothing passes", {.cap = -1e9}, kLinePps, RateLimit::kDevice, 0},
  };
  for (Case test : cases) {
    RateSearch search = Search();
    search.generator_pps = test.generator_pps;
    const FoundRate found = FindRate(search, test.device);
    EXPECT_EQ(NameOf(found.limit), NameOf(test.limit)) << test.name;
    if (test.low_pps != 0) {
      EXPECT_NEAR(found.low_pps, test.low_pps, 0.01 * test.low_pps) << test.name;
    }
    EXPECT_EQ(found.confidence == 0, test.limit == RateLimit::kNoise) << test.name;
    EXPECT_LE(found.trials.size(), search.max_trials) << test.name;
    if (test.device.disturbed == 1) {
      EXPECT_EQ(found.trials.size(), 10u);
    }
    EXPECT_EQ(found.trials.size(), test.device.trials) << test.name;
  }
}

TEST(RateSearch, ADeviceThatForwardsNothingHasRateZero) {
  Policer device{.cap = -1e9};
  const FoundRate found = FindRate(Search(), device);
  EXPECT_EQ(found.low_pps, 0);
  EXPECT_GT(found.high_pps, 0);
}

// Requests a stop during the trial after the first `trials` trials. Counts the trials after the
// stop.
struct Stopped {
  Policer device;
  uint64_t trials;
  mutable uint64_t refused = 0;

  std::optional<Outcome> operator()(const Offer& offer) const {
    if (device.trials < trials && refused == 0) return device(offer);
    ++refused;
    return std::nullopt;
  }
};

TEST(RateSearch, ReportsWhatWasMeasuredBeforeItWasStopped) {
  Policer whole{.cap = 1e6};
  const size_t all = FindRate(Search(), whole).trials.size();
  for (size_t trials = 0; trials < all; ++trials) {
    const Stopped stopped{.device = {.cap = 1e6}, .trials = trials};
    const FoundRate found = FindRate(Search(), stopped);
    EXPECT_EQ(found.trials.size(), trials);
    EXPECT_EQ(stopped.refused, 1u) << trials;
    EXPECT_EQ(NameOf(found.limit), "stopped") << trials;
    EXPECT_EQ(found.confidence, 0) << trials;
    // A trial of one second offers a whole number of frames.
    EXPECT_LE(found.low_pps, 1e6 + 1) << trials;
    EXPECT_TRUE(found.high_pps == found.low_pps || found.high_pps > 1e6) << trials;
  }
}

}  // namespace
}  // namespace sluice::engine::pktgen
