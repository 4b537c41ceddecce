// SPDX-License-Identifier: BSD-3-Clause
//
// Measures how often a search's interval contains the rate at which half of all trials fail, for
// devices with a known failure probability at each rate.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/pktgen/rate_search.h"
#include "gtest/gtest.h"

namespace sluice::engine::pktgen::coverage {
namespace {

constexpr double kLinePps = 14'880'952;  // 64-byte frames on a 10 Gb/s line.
constexpr double kTrialS = 10;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 200;
#else
constexpr uint64_t kSeeds = 4000;
#endif

using Random = std::mt19937_64;

double Uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

double Gauss(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * Uniform(random));
}

struct Trial {
  Offer offer;
  double cap;    // Frames per second, drawn for each search.
  int number;    // Number of earlier trials.
  bool& failed;  // The device's state, which is initially false and persists across the trials of a
                 // search.

  // Returns whether a device that serves `served` frames per second and buffers `buffer` frames
  // loses a frame.
  bool Exceeds(double served, double buffer = 0) const {
    return (offer.rate_pps - served) * offer.duration_s - buffer >= 1;
  }
};

struct Device {
  std::string name;
  std::function<bool(const Trial&, Random&)> loses;
  // Limits for a device: the maximum share of searches without a verdict, the maximum mean width of
  // intervals in percent, and the maximum mean number of trials. The width, and the number of
  // trials divided by 1.5, are the results of an earlier search that pooled its error rate over all
  // trials, on the same devices and seeds.
  double refused, width, trials;
  // Returns the rate at which half of all full trials fail, after `trials` trials.
  std::function<double(double cap, int trials)> truth = [](double cap, int) { return cap; };
};

constexpr double kAny = INFINITY;

Device Late(double share, double trials) {
  // Buffer size in frames per frame/s of the cap.
  const double frames = share * 0.005 * kTrialS;
  return {.name = absl::StrCat("late ", share),
          .loses = [=](const Trial& t, Random&) { return t.Exceeds(t.cap, frames * t.cap); },
          .refused = 0,
          .width = 0.5001,
          .trials = 1.5 * trials,
          .truth = [=](double cap, int) { return cap * (1 + frames / kTrialS); }};
}

Device LosesFrames(double share, double trials) {
  return {.name = absl::StrCat("loses frames ", share),
          .loses =
              [=](const Trial& t, Random& random) {
                const double frames = t.offer.rate_pps * t.offer.duration_s;
                return t.Exceeds(t.cap) || Uniform(random) > std::exp(-share * frames);
              },
          .refused = 1,
          .width = kAny,
          .trials = 1.5 * trials,
          .truth = [=](double cap,
                       int) { return std::min(cap, std::numbers::ln2 / (share * kTrialS)); }};
}

Device Wanders(double share, double trials) {
  return {.name = absl::StrCat("wanders ", share),
          .loses =
              [=](const Trial& t, Random& random) {
                return t.Exceeds(t.cap * (1 + (2 * Uniform(random) - 1) * share));
              },
          .refused = 0.3,
          .width = kAny,
          .trials = 1.5 * trials};
}

Device Gaussian(double share, double trials) {
  return {.name = absl::StrCat("gaussian ", share),
          .loses = [=](const Trial& t,
                       Random& random) { return t.Exceeds(t.cap * (1 + Gauss(random) * share)); },
          .refused = 0.3,
          .width = kAny,
          .trials = 1.5 * trials};
}

// Loses frames in a share of all trials, whatever the rate.
Device Spurious(double share, double refused, double trials) {
  return {.name = absl::StrCat("spurious ", share),
          .loses = [=](const Trial& t,
                       Random& random) { return Uniform(random) < share || t.Exceeds(t.cap); },
          .refused = refused,
          .width = kAny,
          .trials = 1.5 * trials};
}

// Loses bursts of frames at random points in time. Probes are shorter than trials, so they see
// fewer bursts.
Device Bursts(double a_trial) {
  return {.name = absl::StrCat("bursts ", a_trial),
          .loses =
              [=](const Trial& t, Random& random) {
                const double expected = a_trial * t.offer.duration_s / kTrialS;
                return Uniform(random) > std::exp(-expected) || t.Exceeds(t.cap);
              },
          .refused = 0.05,
          .width = kAny,
          .trials = kAny};
}

// The trials are not independent: at any rate, a failed trial is followed by three more failures on
// average.
Device Episodes(double share) {
  return {.name = absl::StrCat("episodes ", share),
          .loses =
              [=](const Trial& t, Random& random) {
                t.failed = Uniform(random) < (t.failed ? 0.75 : share);
                return t.failed || t.Exceeds(t.cap);
              },
          .refused = 0.3,
          .width = kAny,
          .trials = kAny};
}

// The cap changes by `share` over the first hundred trials. The interval must contain the final
// cap.
Device Drifts(double share) {
  const auto cap_at = [=](double cap, int trial) {
    return cap * (1 + share * std::min(trial, 100) / 100);
  };
  return {.name = absl::StrCat("drifts ", share),
          .loses = [=](const Trial& t, Random&) { return t.Exceeds(cap_at(t.cap, t.number)); },
          .refused = 0,
          .width = kAny,
          .trials = kAny,
          .truth = [=](double cap, int trials) { return cap_at(cap, trials - 1); }};
}

TEST(RateCoverage, IntervalsHoldTheRateAsOftenAsTheySay) {
  const Device devices[] = {{.name = "exact",
                             .loses = [](const Trial& t, Random&) { return t.Exceeds(t.cap); },
                             .refused = 0,
                             .width = 0.273,
                             .trials = 1.5 * 27},
                            Late(0.2, 33),
                            Late(0.5, 39),
                            Late(1, 45),
                            Late(3, 51),
                            LosesFrames(1e-7, 98),
                            LosesFrames(1e-6, 151),
                            LosesFrames(1e-5, 182),
                            LosesFrames(1e-4, 183),
                            Wanders(0.001, 32),
                            Wanders(0.0025, 39),
                            Wanders(0.005, 46),
                            Wanders(0.01, 61),
                            Wanders(0.02, 83),
                            Wanders(0.03, 96),
                            Wanders(0.05, 115),
                            Wanders(0.1, 137),
                            Gaussian(0.0025, 42),
                            Gaussian(0.005, 52),
                            Gaussian(0.01, 70),
                            Gaussian(0.02, 93),
                            Spurious(0.05, 0.05, 42),
                            Spurious(0.1, 0.05, 57),
                            Spurious(0.2, 0.15, 92),
                            Spurious(0.3, 1, 142),
                            Bursts(0.05),
                            Bursts(0.2),
                            Episodes(0.02),
                            Episodes(0.05),
                            Drifts(-0.02),
                            Drifts(0.02),
                            Drifts(-0.05)};
  std::printf("device                  verdicts missed    held  trials  width %%\n");
  for (const Device& device : devices) {
    uint64_t verdicts = 0, missed = 0, trials = 0;
    double width = 0, confidence = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Random random(seed);
      const double cap =
          std::exp(std::log(1e4) + Uniform(random) * (std::log(0.88 * kLinePps) - std::log(1e4)));
      int number = 0;
      bool failed = false;
      const auto measure = [&](const Offer& offer) -> std::optional<Outcome> {
        Outcome outcome;
        outcome.offered = static_cast<uint64_t>(std::llround(offer.rate_pps * offer.duration_s));
        outcome.lost = device.loses({offer, cap, number++, failed}, random) ? 1 : 0;
        return outcome;
      };
      const FoundRate found =
          FindRate({.max_pps = kLinePps, .generator_pps = kLinePps, .trial_s = kTrialS}, measure);
      trials += found.trials.size();
      if (found.limit == RateLimit::kNoise) continue;
      ASSERT_EQ(NameOf(found.limit), "device") << device.name << ", seed " << seed;
      ++verdicts;
      confidence += found.confidence;
      width += std::min(100 * (found.high_pps / found.low_pps - 1), 100.0);
      const double truth = device.truth(cap, number);
      // Trials offer whole numbers of frames.
      missed += found.low_pps > truth * 1.00001 || found.high_pps < truth;
    }
    const auto all = static_cast<double>(std::max<uint64_t>(verdicts, 1));
    const double held = 1 - static_cast<double>(missed) / all;
    std::printf("%-23s %8lu %6lu %7.4f %7.1f %8.3f\n", device.name.c_str(), verdicts, missed, held,
                static_cast<double>(trials) / kSeeds, width / all);
    // If at most one search in a thousand has a verdict, the verdicts are accidental, because
    // searches on such devices should end without a verdict.
    if (verdicts > kSeeds / 1000) {
      EXPECT_GE(held, confidence / all - 0.01) << device.name;
    }
    EXPECT_LE(missed, kSeeds / 20) << device.name;
    EXPECT_GE(static_cast<double>(verdicts), (1 - device.refused) * kSeeds) << device.name;
    EXPECT_LE(width / all, device.width) << device.name;
    EXPECT_LE(static_cast<double>(trials) / kSeeds, device.trials) << device.name;
  }
}

}  // namespace
}  // namespace sluice::engine::pktgen::coverage
