// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the due times of frames with exact rational arithmetic.
#include "engine/pktgen/departures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/pktgen/rate.h"
#include "packet/imix.h"

namespace sluice::engine::pktgen {
namespace {

using workload::Arrivals;
using Unit = Rate::Unit;

constexpr uint64_t kLine = 100'000'000'000;

Departures Of(const Rate& rate, uint64_t end_ps = kNever, Arrivals arrivals = Arrivals::kConstant,
              uint64_t seed = 1) {
  return {{{0, TicksOf(end_ps), Gap(rate, kLine), rate.unit == Unit::kUnlimited}}, arrivals, seed};
}

TEST(PktgenRate, ReadsWhatPeopleWrite) {
  const std::pair<const char*, Rate> good[] = {{"500000", {Unit::kPackets, 5e5}},
                                               {"500k", {Unit::kPackets, 5e5}},
                                               {"10M", {Unit::kPackets, 1e7}},
                                               {"10Mpps", {Unit::kPackets, 1e7}},
                                               {"14.88Mpps", {Unit::kPackets, 14.88e6}},
                                               {"0.001", {Unit::kPackets, 1e-3}},
                                               {"5Gbps", {Unit::kBits, 5e9}},
                                               {"1bps", {Unit::kBits, 1}},
                                               {"80%", {Unit::kPercent, 80}},
                                               {"0.5%", {Unit::kPercent, 0.5}}};
  for (const auto& [text, rate] : good) {
    const auto read = ParseRate(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->unit, rate.unit) << text;
    EXPECT_DOUBLE_EQ(read->value, rate.value) << text;
  }
  for (const char* bad : {"", "0", "0pps", "0%", "-1", "101%", "fast", "10Mbit", "1e13", "nan",
                          "inf", "pps", "%", "1 M", "0.0001", "1e14bps", "10mpps"}) {
    EXPECT_FALSE(ParseRate(bad)) << bad;
  }
}

TEST(PktgenRate, CountsLayerOne) {
  EXPECT_EQ(LayerOneBits(60), 672u);  // 64-byte frames at 10 Gb/s, which is 14.88 Mpps.
  EXPECT_EQ(LayerOneBits(1514), 12304u);
}

TEST(PktgenRate, SchedulesAreReadInOrder) {
  std::string fix;
  const auto phases = ParseSchedule("10Mpps:10s,pause:1s,80%:500ms", &fix);
  ASSERT_TRUE(phases);
  const std::vector<Phase> expected{
      {0, 10 * kPsPerSecond, {Unit::kPackets, 1e7}},
      {11 * kPsPerSecond, 11 * kPsPerSecond + kPsPerSecond / 2, {Unit::kPercent, 80}}};
  EXPECT_EQ(*phases, expected);
  for (const char* bad : {"10Mpps", "10Mpps:", ":10s", "10Mpps:10", "10Mpps:0s", "0:1s", "pause:1s",
                          "1k:1s,,1k:1s", "1k:-1s"}) {
    fix.clear();
    EXPECT_FALSE(ParseSchedule(bad, &fix)) << bad;
    EXPECT_NE(fix, "") << bad;
  }
}

TEST(PktgenRate, OverlapsAreFound) {
  const Rate rate{Unit::kPackets, 1};
  std::vector<Phase> apart{{20, 30, rate}, {0, 10, rate}, {10, 20, rate}};
  EXPECT_EQ(OrderPhases(&apart), "");
  EXPECT_EQ(apart[0].start_ps, 0u);
  std::vector<Phase> overlapping{{20, 30, rate}, {0, 21, rate}};
  EXPECT_NE(OrderPhases(&overlapping), "");
}

// At a rate of p packets per q seconds, departure n is at n q / p, rounded down to picoseconds.
TEST(PktgenDepartures, DoNotDrift) {
  struct {
    double pps;
    // The rate `pps` as a fraction: `per_second` packets in `seconds` seconds.
    uint64_t per_second, seconds;
  } const rates[] = {{1e3, 1000, 1},
                     {3e6, 3'000'000, 1},
                     {14'880'952, 14'880'952, 1},
                     {0.5, 1, 2},
                     {7e11, 700'000'000'000, 1}};
  for (const auto& [pps, per_second, seconds] : rates) {
    Departures departures = Of({Unit::kPackets, pps});
    for (uint64_t n = 0; n < 1'000'000; ++n) {
      const auto exact = static_cast<uint64_t>(static_cast<unsigned __int128>(n) * seconds *
                                               kPsPerSecond / per_second);
      ASSERT_EQ(departures.due_ps(), exact) << pps << " " << n;
      departures.Advance(60, 0);
    }
  }
}

TEST(PktgenDepartures, AreExactOverMixedSizesInBits) {
  for (const double share : {0.1, 33.3, 80.0, 100.0}) {
    Departures departures = Of({Unit::kPercent, share});
    unsigned __int128 bits = 0;
    for (uint32_t n = 0; n < 100'000; ++n) {
      // The exact value in picoseconds is bits / (line × share / 100). `share` has one decimal
      // here.
      const unsigned __int128 exact =
          bits * kPsPerSecond * 1000 / (kLine * static_cast<uint64_t>(std::llround(share * 10)));
      ASSERT_EQ(departures.due_ps(), static_cast<uint64_t>(exact)) << share << " " << n;
      const uint32_t length = packet::kImixSizes[n % packet::kImixSizes.size()] - 4;
      bits += LayerOneBits(length);
      departures.Advance(length, 0);
    }
  }
}

// A second at p packets per second contains exactly p packets, even if 1 / p is not a whole number
// of picoseconds.
TEST(PktgenDepartures, SecondsHaveTheFramesAskedFor) {
  for (const double pps : {1.0, 3.0, 7.0, 1000.0, 333'333.0}) {
    Departures departures = Of({Unit::kPackets, pps}, kPsPerSecond);
    uint64_t frames = 0;
    for (; departures.due_ps() != kNever; ++frames) departures.Advance(60, 0);
    EXPECT_EQ(frames, static_cast<uint64_t>(pps));
  }
}

TEST(PktgenDepartures, SharesAddUp) {
  const Gap whole({Unit::kPackets, 1e6}, kLine);
  // The stream gets three of seven frames, with one frame per 1 us. This is one frame per 7/3 us.
  EXPECT_EQ(PsOf(whole.Share(3, 7).Behind(60) * 3), 7'000'000u);
  const Gap bits({Unit::kBits, 1e9}, kLine);
  EXPECT_EQ(PsOf(bits.Share(1, 2).Behind(60)), 2 * 672'000u);
}

TEST(PktgenDepartures, FollowTheirSchedule) {
  const Gap fast({Unit::kPackets, 1e6}, kLine);
  const Gap slow({Unit::kPackets, 1e3}, kLine);
  const uint64_t ms = kPsPerSecond / 1000;
  Departures departures({{0, TicksOf(2 * ms), slow, false},
                         {TicksOf(5 * ms), TicksOf(5 * ms), fast, false},  // An empty phase.
                         {TicksOf(5 * ms), TicksOf(5 * ms + 3'000'000), fast, false}},
                        Arrivals::kConstant, 1);
  std::vector<uint64_t> due;
  for (; departures.due_ps() != kNever; departures.Advance(60, 0)) {
    due.push_back(departures.due_ps());
  }
  EXPECT_EQ(due, (std::vector<uint64_t>{0, ms, 5 * ms, 5 * ms + 1'000'000, 5 * ms + 2'000'000}));
}

// The gaps of a Poisson process have an exponential distribution: mean m, variance m², and a share
// of e^-1 above m.
TEST(PktgenDepartures, PoissonGapsAreExponential) {
  constexpr uint32_t kGaps = 200'000;
  Departures departures = Of({Unit::kPackets, 1e6}, kNever, Arrivals::kPoisson, 7);
  double sum = 0, squares = 0;
  uint32_t above = 0;
  uint64_t last = departures.due_ps();
  for (uint32_t i = 0; i < kGaps; ++i) {
    departures.Advance(60, 0);
    const double gap = static_cast<double>(departures.due_ps() - last) / 1e6;
    last = departures.due_ps();
    sum += gap;
    squares += gap * gap;
    above += gap > 1;
  }
  const double mean = sum / kGaps;
  // The bounds are six standard deviations of each estimate.
  EXPECT_NEAR(mean, 1, 6 / std::sqrt(kGaps));
  EXPECT_NEAR(squares / kGaps - mean * mean, 1, 6 * std::sqrt(8.0 / kGaps));
  EXPECT_NEAR(static_cast<double>(above) / kGaps, std::exp(-1), 6 * 0.5 / std::sqrt(kGaps));
}

TEST(PktgenDepartures, RepeatCapturedGapsWithoutDrift) {
  auto offsets = std::make_shared<Offsets>();
  offsets->at_ps = {0, 5'000, 5'000, 90'001};
  offsets->period_ps = 100'000;
  Departures departures(offsets, kNever);
  for (uint64_t round = 0; round < 1000; ++round) {
    for (const uint64_t at : offsets->at_ps) {
      ASSERT_EQ(departures.due_ps(), round * 100'000 + at);
      departures.Advance(60, 0);
    }
  }
}

TEST(PktgenDepartures, UnlimitedOnesAreDueAtOnceUntilTheEnd) {
  Departures departures = Of({}, 1000);
  EXPECT_TRUE(departures.unlimited());
  EXPECT_EQ(departures.due_ps(), 0u);
  departures.Advance(60, 700);
  EXPECT_EQ(departures.due_ps(), 700u);
  departures.Advance(60, 1000);
  EXPECT_EQ(departures.due_ps(), kNever);
}

// N frames need N gaps, whether or not a phase ends them.
TEST(PktgenDepartures, FramesTakeTheirGaps) {
  Departures phase = Of({Unit::kPackets, 4}, kPsPerSecond);
  Departures counted = Of({Unit::kPackets, 4});
  for (int i = 0; i < 4; ++i) {
    phase.Advance(60, 0);
    counted.Advance(60, 0);
  }
  EXPECT_EQ(phase.due_ps(), kNever);
  EXPECT_EQ(phase.until_ps(), kPsPerSecond);
  EXPECT_EQ(counted.until_ps(), kPsPerSecond);
}

TEST(PktgenDepartures, CapturesEndWithTheRun) {
  Departures departures(std::make_shared<Offsets>(Offsets{.at_ps = {0, 5}, .period_ps = 10}), 26);
  for (const uint64_t due : {0, 5, 10, 15, 20, 25}) {
    EXPECT_EQ(departures.due_ps(), due);
    departures.Advance(60, 0);
  }
  EXPECT_EQ(departures.due_ps(), kNever);
  EXPECT_EQ(departures.until_ps(), 26u);
}

// Skipping frames at once must yield the same state as advancing over each of them.
TEST(PktgenDepartures, SkipWhatIsDueBeforeATime) {
  const auto offsets =
      std::make_shared<Offsets>(Offsets{.at_ps = {0, 5, 5, 900, 2000}, .period_ps = 2500});
  const Gap fast({Unit::kPackets, 3e9}, kLine);
  const Gap bits({Unit::kPercent, 70}, kLine);
  const Departures all[] = {Departures(offsets, kNever),
                            Of({Unit::kPackets, 3e9}),
                            Of({Unit::kBits, 1e11}),
                            {{{TicksOf(1000), TicksOf(5000), fast, false},
                              {TicksOf(5000), TicksOf(6000), Gap(), true},
                              {TicksOf(7000), TicksOf(100'000), bits, false}},
                             Arrivals::kConstant,
                             1}};
  for (const Departures& departures : all) {
    for (uint64_t before = 0; before < 120'000; before += 333) {
      Departures slow = departures;
      uint64_t turns = 0;
      while (slow.due_ps() < before) {
        turns += !slow.unlimited();
        slow.Advance(60, slow.unlimited() ? before : 0);
      }
      Departures quick = departures;
      EXPECT_EQ(quick.Skip(before, 60, ~uint64_t{0}), turns) << before;
      EXPECT_EQ(quick.due_ps(), slow.due_ps()) << before;
      if (turns < 2) continue;
      Departures few = departures;
      EXPECT_EQ(few.Skip(before, 60, turns - 1), turns - 1) << before;
    }
  }
}

// If independent arrivals are skipped, the number of arrivals per second must still have a Poisson
// distribution, and the first gap after the skip must have an exponential distribution. Compares
// the mean and the variance.
TEST(PktgenDepartures, SkipIndependentArrivalsAsTheyAre) {
  constexpr int kRuns = 20'000;
  double sum = 0, squares = 0, wait_ps = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    Departures departures = Of({Unit::kPackets, 20}, kNever, Arrivals::kPoisson, seed);
    departures.Advance(60, 0);  // The first frame is always due at 0.
    const auto count = static_cast<double>(departures.Skip(kPsPerSecond, 60, ~uint64_t{0}));
    sum += count;
    squares += count * count;
    wait_ps += static_cast<double>(departures.due_ps() - kPsPerSecond);
  }
  const double mean = sum / kRuns;
  EXPECT_NEAR(mean, 20, 5 * std::sqrt(20.0 / kRuns));
  EXPECT_NEAR(squares / kRuns - mean * mean, 20,
              1.1);  // This is five standard deviations of the sample variance.
  EXPECT_NEAR(wait_ps / kRuns, 5e10, 5 * 5e10 / std::sqrt(kRuns));
}

}  // namespace
}  // namespace sluice::engine::pktgen
