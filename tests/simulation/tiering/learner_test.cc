// SPDX-License-Identifier: BSD-3-Clause
//
// Compares an agent's learning with known values: arms with known probabilities, and pages with
// known rates. Also triggers each safeguard and checks that the agent recovers from it.
#include "simulation/tiering/learner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "world.h"

namespace sluice::simulation::tiering {
namespace {

using test::Programs;
using test::World;

// --- Thompson sampling.

double KullbackLeibler(double p, double q) {
  return p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q));
}

TEST(ThompsonSampling, PlaysBadArmsNoMoreThanTheTheoryAllows) {
  // Lai and Robbins: every consistent rule plays arm i at least ln(T) / d(mean_i, best) times in
  // the long run, and Thompson sampling achieves this bound (Agrawal and Goyal, AISTATS'13;
  // Kaufmann et al., ALT'12). A finite T adds a factor and a constant.
  const std::array<double, kArms> means{0.2, 0.5, 0.6, 0.9, 0.7, 0.3};
  constexpr int kPlays = 4000, kRuns = 20;
  double bound = 0;
  for (const double mean : means) {
    if (mean != 0.9) bound += std::log(kPlays) / KullbackLeibler(mean, 0.9);
  }
  double bad = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::mt19937_64 random(static_cast<uint64_t>(run) + 1);
    Bandit bandit;
    for (int i = 0; i < kPlays; ++i) {
      const uint32_t arm = bandit.Choose(random);
      bandit.Reward(arm, std::bernoulli_distribution(means[arm])(random));
      bad += arm != 3;
    }
    EXPECT_EQ(bandit.Best(), 3u);
    EXPECT_NEAR(bandit.Mean(3), 0.9, 0.03);
  }
  EXPECT_LT(bad / kRuns, 2 * bound + 20) << "of " << kPlays;
  EXPECT_GT(bad / kRuns, kArms) << "every arm has to be tried";
}

TEST(ThompsonSampling, EveryArmIsAsLikelyWhileNothingIsKnown) {
  std::mt19937_64 random(1);
  const Bandit bandit;
  std::array<int, kArms> played{};
  for (int i = 0; i < 6000; ++i) ++played[bandit.Choose(random)];
  // The distribution is Binomial(6000, 1/6); five standard deviations are 144.
  for (const int times : played) EXPECT_NEAR(times, 1000, 144);
}

TEST(ThompsonSampling, IsTheSameForTheSameSeed) {
  std::mt19937_64 a(7), b(7);
  Bandit bandit;
  for (int i = 0; i < 100; ++i) {
    const uint32_t arm = bandit.Choose(a);
    ASSERT_EQ(arm, bandit.Choose(b));
    bandit.Reward(arm, arm == 2);
  }
}

/// Returns the probability that a scan of `arm` is good if all 64 pages have the rate `rate`: a
/// binomial sum.
double ChanceOfGoodScan(uint32_t arm, double rate) {
  const double p = -std::expm1(-rate * PeriodTicks(arm));
  double chance = 0;
  for (int k = 0; k <= 64; ++k) {
    const double log = std::lgamma(65) - std::lgamma(k + 1) - std::lgamma(65 - k) +
                       k * std::log(p) + (64 - k) * std::log1p(-p);
    const bool good = k < 16 ? arm == kArms - 1 : k <= 48 || arm == 0;
    if (good) chance += std::exp(log);
  }
  return chance;
}

TEST(ScanPeriods, ConvergeToTheBestArmOfARegionThatStaysAsItIs) {
  // If the period of an arm is ln(2) / rate, half of 64 pages are accessed within it.
  for (uint32_t best = 0; best != kArms; ++best) {
    const double rate = std::log(2) / PeriodTicks(best);
    for (uint32_t arm = 0; arm != kArms; ++arm) {
      ASSERT_LE(ChanceOfGoodScan(arm, rate), ChanceOfGoodScan(best, rate));
    }
    std::mt19937_64 random(best + 1);
    ScanPeriods periods;
    uint32_t wrong = 0;
    constexpr uint32_t kEpochs = 100;
    for (uint32_t epoch = 0; epoch != kEpochs; ++epoch) {
      periods.Begin(/*full_rate=*/false, random);
      wrong += periods.arm() != best;
      const uint32_t ticks = PeriodTicks(periods.arm());
      std::bernoulli_distribution accessed(-std::expm1(-rate * ticks));
      for (uint32_t t = 0; t != kEpochTicks; t += ticks) {
        ScanRecord record{.ticks = ticks, .mapped = ~uint64_t{0}};
        for (uint32_t i = 0; i != 64; ++i) record.accessed |= uint64_t{accessed(random)} << i;
        periods.Learn(record, GoodScan{});
      }
      periods.End(1);
    }
    EXPECT_EQ(periods.bandit().Best(), best);
    // An epoch has at least four trials of its arm. The neighboring arms succeed in at most 15 %
    // and 81 % of the trials, so a few epochs suffice to distinguish the arms.
    EXPECT_LT(wrong, kEpochs / 4) << "arm " << best;
  }
}

TEST(ScanPeriods, AtTheFullRateEveryArmIsLearnt) {
  for (uint32_t best = 0; best != kArms; ++best) {
    const double rate = std::log(2) / PeriodTicks(best);
    std::mt19937_64 random(best + 1);
    ScanPeriods periods;
    periods.Begin(/*full_rate=*/true, random);
    EXPECT_EQ(periods.arm(), 0u);
    std::bernoulli_distribution accessed(-std::expm1(-rate));
    for (uint32_t t = 0; t != kEpochTicks; ++t) {
      ScanRecord record{.ticks = 1, .mapped = ~uint64_t{0}};
      for (uint32_t i = 0; i != 64; ++i) record.accessed |= uint64_t{accessed(random)} << i;
      periods.Learn(record, GoodScan{});
    }
    // The means of a few trials differ from the probabilities, but the best arm must not appear to
    // be bad.
    for (uint32_t arm = 0; arm != kArms; ++arm) {
      const double trials = static_cast<double>(kEpochTicks) / PeriodTicks(arm);
      const double expected = (1 + trials * ChanceOfGoodScan(arm, rate)) / (2 + trials);
      EXPECT_NEAR(periods.bandit().Mean(arm), expected, 4 * 0.5 / std::sqrt(trials + 3));
    }
  }
}

// --- Rates.

TEST(AccessRates, AreFoundFromBitsOfAnyPeriod) {
  std::mt19937_64 random(1);
  for (const double rate : {0.02, 0.1, 0.5, 1.5}) {
    AccessRates rates;
    for (int scan = 0; scan < 400; ++scan) {
      const uint32_t ticks = rate > 0.3 ? 1 : PeriodTicks(static_cast<uint32_t>(scan % 4));
      std::bernoulli_distribution accessed(-std::expm1(-rate * ticks));
      ScanRecord record{.ticks = ticks, .mapped = ~uint64_t{0}};
      for (uint32_t i = 0; i != 64; ++i) record.accessed |= uint64_t{accessed(random)} << i;
      rates.Learn(record);
    }
    double logs = 0;
    for (uint32_t i = 0; i != 64; ++i) logs += std::log(rates.rate(i));
    EXPECT_NEAR(std::exp(logs / 64) / rate, 1, 0.35) << rate;
  }
}

TEST(AccessRates, SlowScansDoNotMakeForgottenWhatFastOnesFoundOfAVeryHotPage) {
  AccessRates rates;
  const ScanRecord fast{.ticks = 1, .accessed = 1, .mapped = 1};
  for (int i = 0; i < 100; ++i) rates.Learn(fast);
  const double before = rates.rate(0);
  EXPECT_GT(before, 3) << "each of 100 bits set";
  const ScanRecord slow{.ticks = 32, .accessed = 1, .mapped = 1};
  for (int i = 0; i < 100; ++i) rates.Learn(slow);
  EXPECT_NEAR(rates.rate(0), before, 1e-3);
}

TEST(AccessRates, OfAPageThatBecameAnotherNothingIsKept) {
  AccessRates rates;
  for (int i = 0; i < 100; ++i) rates.Learn({.ticks = 1, .accessed = 1, .mapped = 1});
  rates.Learn({.ticks = 1, .accessed = 0, .mapped = 1, .fresh = 1});
  EXPECT_LT(rates.rate(0), 0.5);
  rates.Learn({.ticks = 1, .mapped = 0});
  EXPECT_EQ(rates.rate(0), 0);
}

// --- Placement.

std::vector<PageRate> Pages(const std::vector<float>& rates, const std::vector<bool>& fast) {
  std::vector<PageRate> pages;
  for (size_t i = 0; i != rates.size(); ++i) {
    pages.push_back({.rate = rates[i], .page = static_cast<Vpn>(i), .fast = fast[i]});
  }
  return pages;
}

TEST(Placement, PromotesJustEnoughOfTheHottest) {
  auto pages = Pages({1, 50, 3, 30, 2}, {false, false, false, false, false});
  const Moves moves =
      Place(pages, {.fast_capacity = 5, .slow_rate = 6.5, .shrink = false, .max_moves = 9});
  EXPECT_EQ(moves.promote, (std::vector<Vpn>{1, 3}));
  EXPECT_TRUE(moves.demote.empty());
}

TEST(Placement, MakesRoomByTheColdestAndOnlyForWhoIsMuchHotter) {
  auto pages = Pages({10, 1, 9, 8}, {true, true, false, false});
  Moves moves = Place(
      pages, {.fast_capacity = 2, .fast_used = 2, .slow_rate = 0, .shrink = false, .max_moves = 9});
  EXPECT_EQ(moves.promote, (std::vector<Vpn>{2}));
  EXPECT_EQ(moves.demote, (std::vector<Vpn>{1}));
  pages = Pages({10, 8, 9}, {true, true, false});
  moves = Place(
      pages, {.fast_capacity = 2, .fast_used = 2, .slow_rate = 0, .shrink = false, .max_moves = 9});
  EXPECT_TRUE(moves.promote.empty() && moves.demote.empty()) << "9 is not worth the way";
}

TEST(Placement, NeverPlansMoreThanFits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::vector<PageRate> pages;
    uint32_t used = 0;
    const auto capacity = static_cast<uint32_t>(random() % 30);
    for (Vpn page = 0; page != 60; ++page) {
      const bool fast = used < capacity && random() % 2 == 0;
      used += fast;
      pages.push_back({.rate = static_cast<float>(random() % 1000),
                       .page = page,
                       .fast = fast,
                       .fixed = random() % 8 == 0});
    }
    const std::vector<PageRate> before = pages;
    const Moves moves = Place(pages, {.fast_capacity = capacity,
                                      .fast_used = used,
                                      .slow_rate = static_cast<double>(random() % 9000),
                                      .fill = random() % 4 != 0,
                                      .shrink = random() % 2 == 0,
                                      .max_moves = static_cast<uint32_t>(random() % 40)});
    EXPECT_LE(used + moves.promote.size(), capacity + moves.demote.size());
    for (const Vpn page : moves.promote) EXPECT_FALSE(before[page].fast || before[page].fixed);
    for (const Vpn page : moves.demote) EXPECT_TRUE(before[page].fast && !before[page].fixed);
  }
}

// --- Safeguards.

constexpr uint32_t kPages = 1024;

TEST(Safeguards, RecordsThatCannotBeAreNotLearntFrom) {
  Learner learner({});
  learner.Reset(kPages, 100);
  const ScanRecord good{
      .region = 3, .ticks = 1, .generation = 50, .accessed = 1, .mapped = 3, .fast = 1};
  learner.OnScan(good);
  EXPECT_EQ(learner.counters().invalid_records, 0u);
  const auto expect_invalid = [&](ScanRecord record) {
    const uint64_t before = learner.counters().invalid_records;
    learner.OnScan(record);
    EXPECT_EQ(learner.counters().invalid_records, before + 1);
  };
  ScanRecord bad = good;
  bad.region = kPages / kRegionPages;
  expect_invalid(bad);
  bad.region = UINT32_MAX;
  expect_invalid(bad);
  bad = good;
  bad.accessed = 4;  // A page that is not mapped.
  expect_invalid(bad);
  bad = good;
  bad.fast = 4;
  expect_invalid(bad);
  bad = good;
  bad.generation = 49;  // Time must not go back.
  expect_invalid(bad);
  learner.OnTick(101, 0, 0);  // There are more fast pages than fit in the tier.
  EXPECT_EQ(learner.counters().invalid_ticks, 1u);
}

TEST(Safeguards, ARoundOfTooMuchInvalidDataDecidesNothingAndTheNextOneDoes) {
  Learner learner({.validated = 0});
  learner.Reset(kPages, 100);
  std::vector<Element> wishes;
  uint64_t generation = 0;
  const auto run_round = [&](bool valid) {
    uint32_t migrations = 0;
    for (uint32_t tick = 0; tick != kSlowestTicks; ++tick) {
      for (Region region = 0; region != kPages / kRegionPages; ++region) {
        ScanRecord record{.region = region,
                          .ticks = 1,
                          .generation = ++generation,
                          .accessed = region < 1 ? ~uint64_t{0} : 0,
                          .mapped = ~uint64_t{0}};
        if (!valid && region % 2 == 0) record.fast = 1, record.mapped = 0, record.accessed = 0;
        learner.OnScan(record);
      }
      learner.OnTick(0, 0, 6400);
      while (learner.Dequeue(wishes, kMaxElements) != 0) {
        for (const Element& e : wishes) migrations += e.kind == Element::kMigrate;
      }
    }
    return migrations;
  };
  EXPECT_EQ(run_round(false), 0u);
  EXPECT_GT(learner.counters().withheld_rounds, 0u);
  const uint64_t withheld = learner.counters().withheld_rounds;
  EXPECT_GT(run_round(true), 0u);
  EXPECT_EQ(learner.counters().withheld_rounds, withheld);
}

// To serve 82 % of the accesses (the target and its margin), the fast tier needs nine of ten
// equally busy pages, even if the bits show few of the accesses.
TEST(Learner, MovesTheShareThatIsWantedWhateverTheBitsHide) {
  for (const uint64_t accesses : {10u, 6400u}) {
    Learner learner({.target = 0.8, .margin = 0.02, .validated = 0});
    learner.Reset(kPages, kPages);
    for (uint32_t tick = 1; learner.counters().rounds == 0; ++tick) {
      ASSERT_LE(tick, kSlowestTicks);
      learner.OnScan({.region = 0, .ticks = 1, .generation = tick, .mapped = 0x3ff});
      learner.OnTick(0, 0, accesses);
    }
    uint32_t moved = 0;
    std::vector<Element> wishes;
    while (learner.Dequeue(wishes, kMaxElements) != 0) {
      for (const Element& e : wishes) {
        if (e.kind == Element::kMigrate) moved += e.count;
      }
    }
    EXPECT_EQ(moved, 9u) << "of " << accesses << " accesses a tick";
  }
}

template <typename W>
void Play(W& world, Programs& programs, uint32_t ticks) {
  for (uint32_t i = 0; i < ticks; ++i) {
    programs.RunTick(world.table);
    world.Tick();
  }
}

/// Returns the number of regions whose best learned arm is `arm`.
uint32_t Believers(const Learner& learner, uint32_t arm) {
  uint32_t count = 0;
  for (Region i = 0; i != learner.regions(); ++i) {
    count += learner.periods(i).bandit().Best() == arm;
  }
  return count;
}

TEST(Safeguards, AModelThatFailsIsForgottenAndEverythingScannedForAnEpoch) {
  World<test::Wave> world(kPages, kPages, {.validated = 0.25});
  world.StartAgent();
  Programs programs(kPages);
  const Learner& learner = world.agent->learner();
  programs.Set(0, kPages, std::log(2) / PeriodTicks(4));
  Play(world, programs, 16 * kEpochTicks + 2);
  const uint64_t failed = learner.counters().failed_validations;
  EXPECT_FALSE(learner.in_default());
  EXPECT_GE(Believers(learner, 4), learner.regions() * 3 / 4);

  // The pages are sixteen times as busy, so a scan with the period that was best before finds every
  // page accessed.
  programs.Set(0, kPages, std::log(2) / PeriodTicks(0));
  uint32_t epochs = 0;
  while (!learner.in_default() && epochs++ < 4) Play(world, programs, kEpochTicks);
  ASSERT_TRUE(learner.in_default());
  EXPECT_EQ(learner.counters().failed_validations, failed + 1);
  const uint64_t scanned = world.host.counters().scanned_regions;
  Play(world, programs, kEpochTicks - 8);
  EXPECT_GE(world.host.counters().scanned_regions - scanned,
            uint64_t{learner.regions()} * (kEpochTicks - 8 - kSlowestTicks))
      << "the default action scans everything at the full rate";
  Play(world, programs, 6 * kEpochTicks);
  EXPECT_FALSE(learner.in_default());
  EXPECT_EQ(learner.counters().failed_validations, failed + 1) << "the new model holds";
  EXPECT_GE(Believers(learner, 0), learner.regions() * 3 / 4);
}

TEST(Safeguards, WhileTheModelIsDistrustedNothingMovesThatNeedNot) {
  World<test::Wave> world(kPages, kPages / 2, {.validated = 0.25, .max_regret = -1});
  world.StartAgent();
  Programs programs(kPages);
  // All accessed pages are in the fast tier. Half of them are rarely accessed and might be moved
  // out.
  programs.Set(0, kPages / 4, 1);
  programs.Set(kPages / 4, kPages / 4, 0.001);
  for (Vpn page = 0; page != kPages / 2; ++page) world.table.Touch(page);
  const Learner& learner = world.agent->learner();
  for (int i = 0; i < 12 && !learner.in_default(); ++i) Play(world, programs, kEpochTicks);
  ASSERT_TRUE(learner.in_default());
  ASSERT_FALSE(learner.mitigating());
  Play(world, programs, kSlowestTicks);
  const uint64_t demoted = world.table.demoted();
  const uint64_t rounds = learner.counters().rounds;
  Play(world, programs, kEpochTicks - kSlowestTicks - 2);
  EXPECT_EQ(learner.counters().rounds, rounds);
  EXPECT_EQ(world.table.demoted(), demoted);
}

TEST(Safeguards, IfTheFastTierTakesTooLittleHotPagesMoveAtOnceUntilItTakesEnough) {
  World<test::Wave> world(kPages, kPages / 4, {});
  for (Vpn page = 0; page != kPages; ++page) world.table.Touch(page);
  world.StartAgent();
  Programs programs(kPages);
  const Learner& learner = world.agent->learner();
  programs.Set(0, kPages, 0.01);
  programs.Set(0, kPages / 8, 2);
  Play(world, programs, kEpochTicks);
  ASSERT_FALSE(learner.mitigating());
  const uint64_t trips = learner.counters().actuator_trips;
  programs.Set(0, kPages / 8, 0.01);
  programs.Set(kPages / 2, kPages / 8, 2);
  uint32_t ticks = 0;
  while (learner.counters().actuator_trips == trips && ticks < kSlowestTicks) {
    Play(world, programs, 1);
    ++ticks;
  }
  EXPECT_EQ(learner.counters().actuator_trips, trips + 1);
  EXPECT_LE(ticks, kSlowestTicks) << "it does not wait for the end of the epoch";
  Play(world, programs, 4 * kSlowestTicks);
  EXPECT_FALSE(learner.mitigating());
  EXPECT_EQ(learner.counters().actuator_trips, trips + 1);
  const uint64_t fast = world.table.accesses(Tier::kFast);
  const uint64_t slow = world.table.accesses(Tier::kSlow);
  Play(world, programs, kSlowestTicks);
  EXPECT_GT(world.table.accesses(Tier::kFast) - fast,
            4 * (world.table.accesses(Tier::kSlow) - slow));
}

TEST(Learner, DecidesTheSameForTheSameSeed) {
  std::vector<uint64_t> promoted;
  for (int i = 0; i < 2; ++i) {
    World<test::Wave> world(kPages, kPages / 4, {.seed = 9});
    for (Vpn page = 0; page != kPages; ++page) world.table.Touch(page);
    world.StartAgent();
    Programs programs(kPages);
    programs.Set(0, kPages, 0.05);
    programs.Set(kPages / 2, kPages / 8, 1);
    Play(world, programs, 3 * kEpochTicks);
    promoted.push_back(world.table.promoted());
    promoted.push_back(world.host.counters().scanned_regions);
  }
  EXPECT_EQ(promoted[0], promoted[2]);
  EXPECT_EQ(promoted[1], promoted[3]);
}

}  // namespace
}  // namespace sluice::simulation::tiering
