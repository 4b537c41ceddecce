// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>
#include <vector>

#include "engine/maglev/ring_cache.h"
#include "maglev/katran_endpoints.h"
#include "maglev/ring_counts.h"

namespace sluice::engine::maglev {
namespace {

using test::Counts;
using test::KatranPermutation;
using test::Ring;
using enum WeightRule;

uint32_t Spread(const Ring& ring, size_t permutations) {
  const std::vector<uint32_t> counts = Counts(ring, permutations);
  const auto [least, most] = std::ranges::minmax(counts);
  return most - least;
}

std::vector<Permutation> RandomPermutations(std::mt19937& random, size_t count, uint32_t slots,
                                            uint32_t max_weight = 1) {
  std::vector<Permutation> permutations(count);
  for (Permutation& permutation : permutations) {
    permutation = {static_cast<uint32_t>(random() % slots),
                   static_cast<uint32_t>(random() % (slots - 1) + 1),
                   static_cast<uint32_t>(random() % max_weight + 1)};
  }
  return permutations;
}

/// The pseudocode from Maglev (NSDI'16, section 3.4, "Populate Maglev hashing lookup table") with
/// 64-bit permutations, and with the weights from Katran's and Cilium's sources.
class Oracle {
 public:
  Oracle(const std::vector<Permutation>& permutations, uint32_t slots)
      : permutations_(permutations), next_(permutations.size()), ring_(slots, -1) {}

  std::vector<int> Fill(WeightRule rule) {
    switch (rule) {
      case kProportional:
        FillInProportion();
        break;
      case kFirstRound:
        FillWeightFirst();
        break;
      case kCilium:
        FillByCounters();
        break;
    }
    return ring_;
  }

 private:
  bool Full() const { return taken_ == ring_.size(); }

  void Claim(size_t permutation) {
    uint64_t slot;
    do {
      slot = (permutations_[permutation].offset +
              next_[permutation]++ * permutations_[permutation].skip) %
             ring_.size();
    } while (ring_[slot] >= 0);
    ring_[slot] = static_cast<int>(permutation);
    ++taken_;
  }

  void FillInProportion() {
    const uint32_t most = std::ranges::max(permutations_, {}, &Permutation::weight).weight;
    std::vector<uint64_t> earned(permutations_.size());
    while (!Full()) {
      for (size_t i = 0; i < permutations_.size() && !Full(); ++i) {
        earned[i] += permutations_[i].weight;
        if (earned[i] < most) continue;
        earned[i] -= most;
        Claim(i);
      }
    }
  }

  void FillWeightFirst() {
    for (bool first = true; !Full(); first = false) {
      for (size_t i = 0; i < permutations_.size(); ++i) {
        const uint32_t turns = first ? permutations_[i].weight : 1;
        for (uint32_t turn = 0; turn < turns && !Full(); ++turn) Claim(i);
      }
    }
  }

  void FillByCounters() {
    double sum = 0;
    for (const Permutation& permutation : permutations_) sum += permutation.weight;
    const bool weights_used = sum / static_cast<double>(permutations_.size()) > 1;
    std::vector<double> counters;
    for (const Permutation& permutation : permutations_) {
      counters.push_back(permutation.weight / static_cast<double>(permutations_.size()));
    }
    for (uint64_t n = 0; n < ring_.size(); ++n) {
      size_t i = n % permutations_.size();
      if (weights_used) {
        while ((n + 1) * permutations_[i].weight < static_cast<uint64_t>(counters[i])) {
          i = (i + 1) % permutations_.size();
        }
        counters[i] += sum;
      }
      Claim(i);
    }
  }

  const std::vector<Permutation>& permutations_;
  std::vector<uint64_t> next_;
  std::vector<int> ring_;
  size_t taken_ = 0;
};

void ExpectOraclesRing(const std::vector<Permutation>& permutations, uint32_t slots,
                       WeightRule rule) {
  const Ring ring = FillRing(permutations, slots, rule);
  const std::vector<int> expected = Oracle(permutations, slots).Fill(rule);
  ASSERT_EQ(ring.size(), slots);
  EXPECT_TRUE(std::ranges::equal(ring, expected))
      << slots << " slots, " << permutations.size() << " seats, rule " << static_cast<int>(rule);
}

TEST(Ring, OfThePapersExample) {
  std::vector<Permutation> permutations{{3, 4}, {0, 2}, {3, 1}};
  EXPECT_EQ(FillRing(permutations, 7, kProportional), (Ring{1, 0, 1, 0, 2, 2, 0}));
  permutations[1].weight = 0;
  EXPECT_EQ(FillRing(permutations, 7, kProportional), (Ring{0, 0, 0, 0, 2, 2, 2}));
}

TEST(Ring, OfGoMaglevsTest) {
  std::vector<Permutation> permutations{{2, 4}, {0, 5}, {1, 2}};
  EXPECT_EQ(FillRing(permutations, 7, kProportional), (Ring{1, 2, 0, 2, 0, 1, 0}));
  permutations[1].weight = 0;
  EXPECT_EQ(FillRing(permutations, 7, kProportional), (Ring{0, 2, 0, 2, 0, 2, 0}));
}

TEST(Ring, OfKatransSmallExamples) {
  std::vector<Permutation> permutations{KatranPermutation(1000, 7), KatranPermutation(2000, 7)};
  EXPECT_EQ(permutations[0].offset, 2u);
  EXPECT_EQ(permutations[0].skip, 2u);
  EXPECT_EQ(permutations[1].offset, 3u);
  EXPECT_EQ(permutations[1].skip, 6u);
  EXPECT_EQ(FillRing(permutations, 7, kFirstRound), (Ring{1, 1, 0, 1, 0, 0, 0}));
  EXPECT_EQ(FillRing(permutations, 7, kProportional), (Ring{1, 1, 0, 1, 0, 0, 0}));
  permutations[0].weight = 2;
  EXPECT_EQ(FillRing(permutations, 7, kFirstRound), (Ring{1, 1, 0, 1, 0, 0, 0}));
  EXPECT_EQ(FillRing(permutations, 7, kProportional), (Ring{1, 0, 0, 1, 0, 0, 0}));

  permutations = {KatranPermutation(111, 11, 1), KatranPermutation(222, 11, 2)};
  EXPECT_EQ(FillRing(permutations, 11, kFirstRound), (Ring{1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(FillRing(permutations, 11, kProportional), (Ring{1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0}));

  permutations = {KatranPermutation(1, 13), KatranPermutation(2, 13), KatranPermutation(3, 13)};
  const Ring thirteen{2, 0, 1, 2, 1, 2, 2, 1, 1, 0, 0, 0, 0};
  EXPECT_EQ(FillRing(permutations, 13, kFirstRound), thirteen);
  EXPECT_EQ(FillRing(permutations, 13, kProportional), thirteen);
}

/// Returns the reals in Katran's tests: the hash of real i is 10 · i.
std::vector<Permutation> KatransReals(uint32_t count, uint32_t weight = 1) {
  std::vector<Permutation> permutations;
  for (uint32_t i = 0; i < count; ++i)
    permutations.push_back(KatranPermutation(10 * i, kSmallRing, weight));
  return permutations;
}

TEST(Ring, SharesAreThoseOfKatransTests) {
  EXPECT_EQ(Spread(FillRing(KatransReals(400), kSmallRing, kFirstRound), 400), 1u);
  EXPECT_EQ(Spread(FillRing(KatransReals(400), kSmallRing, kProportional), 400), 1u);

  std::vector<Permutation> uneven = KatransReals(3);
  uneven[0].weight = 2;
  EXPECT_EQ(Spread(FillRing(uneven, kSmallRing, kFirstRound), 3), 2u);
  EXPECT_EQ(Spread(FillRing(uneven, kSmallRing, kProportional), 3), 16385u);
}

TEST(Ring, IsFullBeforeTheFirstRoundEndsIfWeightsExceedIt) {
  const auto counts = Counts(FillRing(KatransReals(400, 327), kSmallRing, kFirstRound), 400);
  for (uint32_t real = 0; real < 400; ++real) {
    EXPECT_EQ(counts[real], real < 200 ? 327u : real == 200 ? kSmallRing - 200 * 327 : 0u) << real;
  }
}

/// Returns two counts: the slots of the dropped real, and the moved slots of other reals.
std::pair<uint32_t, uint32_t> Dropping(std::vector<Permutation> permutations, size_t dropped) {
  const Ring before = FillRing(permutations, kSmallRing, kFirstRound);
  permutations[dropped].weight = 0;
  const Ring after = FillRing(permutations, kSmallRing, kFirstRound);
  uint32_t affected = 0;
  uint32_t moved = 0;
  for (size_t slot = 0; slot < kSmallRing; ++slot) {
    if (before[slot] == dropped) {
      ++affected;
    } else {
      moved += before[slot] != after[slot];
    }
  }
  return {affected, moved};
}

TEST(Ring, MovesAsManySlotsAsInKatransIntegrationTest) {
  EXPECT_EQ(Dropping(KatransReals(400), 399), std::pair(163u, 617u));
  EXPECT_EQ(Dropping(KatransReals(400, 100), 399).second, 590u);
  EXPECT_EQ(Dropping(KatransReals(1000), 999).second, 359u);
  EXPECT_EQ(Dropping(KatransReals(400), 0).second, 625u);
}

TEST(Ring, IsThatOfThePapersPseudocode) {
  std::mt19937 random(4);
  for (const uint32_t slots : {2u, 3u, 5u, 7u, 13u, 61u, 251u, 1021u, 8191u}) {
    for (const uint32_t permutations : {1u, 2u, 3u, 10u, 100u, 300u}) {
      for (const uint32_t max_weight : {1u, 2u, 7u, 1000u, 65535u}) {
        const auto some = RandomPermutations(random, permutations, slots, max_weight);
        for (const WeightRule rule : {kProportional, kFirstRound, kCilium}) {
          ExpectOraclesRing(some, slots, rule);
        }
      }
    }
  }
}

TEST(Ring, OfMoreThan65536SlotsIsThatOf64BitArithmetic) {
  std::mt19937 random(5);
  ExpectOraclesRing(RandomPermutations(random, 1000, kSmallRing), kSmallRing, kProportional);
  ExpectOraclesRing(RandomPermutations(random, 300, kLargeRing), kLargeRing, kProportional);
  // The steps of these permutations are the largest possible ones.
  ExpectOraclesRing({{kLargeRing - 1, kLargeRing - 1}, {0, kLargeRing - 1}, {5, kLargeRing - 2}},
                    kLargeRing, kProportional);
}

TEST(Ring, OfAnyNumberOfSeatsIsThatOfThePapersPseudocode) {
  // The number of permutations ranges from one, for which FillRing looks far ahead, to more than
  // the number of slots.
  std::mt19937 random(13);
  for (const uint32_t permutations : {1u, 2u, 7u, 31u, 129u, 513u, 2049u, 8193u, 16381u, 20000u}) {
    ExpectOraclesRing(RandomPermutations(random, permutations, 16381), 16381, kProportional);
    ExpectOraclesRing(RandomPermutations(random, permutations, 16381, 9), 16381, kFirstRound);
  }
}

/// Returns the minimum CPU time of `run` over 20 rounds.
template <typename Run>
std::clock_t LeastTime(Run run) {
  std::clock_t least = std::numeric_limits<std::clock_t>::max();
  for (int round = 0; round < 20; ++round) {
    const std::clock_t start = std::clock();
    run();
    least = std::min(least, std::clock() - start);
  }
  return least;
}

TEST(Ring, CostsLessThanTwoThirdsOfAWalkSlotBySlot) {
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
  GTEST_SKIP() << "needs an optimized build";
#endif
  // Omits the last 128 slots, because finding them takes half of all steps.
  std::mt19937 random(14);
  const std::vector<Permutation> permutations = RandomPermutations(random, 30, kSmallRing);
  const auto walk = [&] {
    std::vector<uint64_t> taken(kSmallRing / 64 + 1);
    Ring ring(kSmallRing);
    std::vector<Permutation> walkers = permutations;
    for (uint32_t turn = 0; turn < kSmallRing - 128; ++turn) {
      const size_t index = turn % walkers.size();
      Permutation& walker = walkers[index];
      uint32_t slot;
      do {
        slot = walker.offset;
        const uint32_t beyond = slot + walker.skip;
        walker.offset = beyond < kSmallRing ? beyond : beyond - kSmallRing;
      } while (taken[slot / 64] >> slot % 64 & 1);
      taken[slot / 64] |= uint64_t{1} << slot % 64;
      ring[slot] = static_cast<uint16_t>(index);
    }
    return ring;
  };
  Ring walked, filled;
  const std::clock_t slot_by_slot = LeastTime([&] { walked = walk(); });
  const std::clock_t ours =
      LeastTime([&] { filled = FillRing(permutations, kSmallRing, kProportional); });
  EXPECT_LT(3 * ours, 2 * slot_by_slot);
  EXPECT_EQ(filled.size(), walked.size());
}

TEST(Ring, HasAnOwnerForEverySlotAndEqualSharesForEqualWeights) {
  std::mt19937 random(6);
  for (const uint32_t slots : {101u, 16381u, kSmallRing, kLargeRing}) {
    for (const uint32_t weight : {1u, 100u}) {
      for (const WeightRule rule : {kProportional, kCilium}) {
        auto permutations = RandomPermutations(random, 97, slots);
        for (Permutation& permutation : permutations) permutation.weight = weight;
        const Ring ring = FillRing(permutations, slots, rule);
        ASSERT_EQ(ring.size(), slots);
        EXPECT_LE(Spread(ring, permutations.size()), 1u);
      }
    }
  }
}

TEST(Ring, SharesStayTrueToProportionalWeights) {
  std::mt19937 random(7);
  for (const uint32_t max_weight : {2u, 10u, 1000u, 65535u}) {
    const auto permutations = RandomPermutations(random, 50, kSmallRing, max_weight);
    uint64_t sum = 0;
    for (const Permutation& permutation : permutations) sum += permutation.weight;
    const auto counts =
        Counts(FillRing(permutations, kSmallRing, kProportional), permutations.size());
    for (size_t i = 0; i < permutations.size(); ++i) {
      const double share = static_cast<double>(permutations[i].weight) * kSmallRing / sum;
      // In each round, every share is rounded down, and the remaining slots are distributed by
      // weight.
      EXPECT_NEAR(counts[i], share, 1.5) << "weight " << permutations[i].weight << " of " << sum;
    }
  }
}

TEST(Ring, OfOneSeatIsAllItsOwn) {
  for (const WeightRule rule : {kProportional, kFirstRound, kCilium}) {
    EXPECT_EQ(FillRing(std::vector<Permutation>{{3, 2, 65535}}, 13, rule), Ring(13, 0));
    EXPECT_EQ(FillRing(std::vector<Permutation>{{0, 1, 0}, {3, 2, 1}, {0, 1, 0}}, 13, rule),
              Ring(13, 1));
  }
}

TEST(Ring, SkipsSeatsWithoutWeightAsIfTheyWereNotThere) {
  std::mt19937 random(8);
  for (const WeightRule rule : {kProportional, kFirstRound, kCilium}) {
    auto with = RandomPermutations(random, 60, 1021, 9);
    std::vector<Permutation> without;
    std::vector<uint16_t> index;
    for (size_t i = 0; i < with.size(); ++i) {
      if (i % 3 == 1) with[i].weight = 0;
      if (i % 3 == 1) continue;
      without.push_back(with[i]);
      index.push_back(static_cast<uint16_t>(i));
    }
    Ring expected = FillRing(without, 1021, rule);
    for (uint16_t& permutation : expected) permutation = index[permutation];
    EXPECT_EQ(FillRing(with, 1021, rule), expected);
  }
}

TEST(Ring, WithFewerSlotsThanSeatsServesTheFirst) {
  std::mt19937 random(9);
  const auto counts = Counts(FillRing(RandomPermutations(random, 20, 7), 7, kProportional), 20);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(counts[i], i < 7 ? 1u : 0u);
}

TEST(Ring, IsEmptyWithoutWeightOrWithArgumentsOutOfBounds) {
  for (const WeightRule rule : {kProportional, kFirstRound, kCilium}) {
    const std::vector<Permutation> good{{3, 4}, {0, 2}};
    EXPECT_TRUE(FillRing({}, 7, rule).empty());
    EXPECT_TRUE(FillRing(std::vector<Permutation>{{3, 4, 0}, {0, 2, 0}}, 7, rule).empty());
    for (const uint32_t slots : {0u, 1u, 4u, 9u, 65536u, 655372u, kMaxRingSlots, 0xffffffffu}) {
      EXPECT_TRUE(FillRing(good, slots, rule).empty()) << slots;
    }
    EXPECT_TRUE(FillRing(std::vector<Permutation>{{7, 4}}, 7, rule).empty());
    EXPECT_TRUE(FillRing(std::vector<Permutation>{{3, 0}}, 7, rule).empty());
    EXPECT_TRUE(FillRing(std::vector<Permutation>{{3, 7}}, 7, rule).empty());
    EXPECT_TRUE(FillRing(std::vector<Permutation>(kMaxRingBackends + 1, {3, 4}), 7, rule).empty());
  }
}

TEST(Ring, TakesTheMostAndTheHeaviestSeatsThereCanBe) {
  std::mt19937 random(10);
  std::vector<Permutation> permutations = RandomPermutations(random, kMaxRingBackends, kSmallRing);
  EXPECT_LE(Spread(FillRing(permutations, kSmallRing, kProportional), kMaxRingBackends), 1u);
  // One heavy backend among many light ones needs as many rounds as it gets slots.
  permutations[5].weight = 0xffffffff;
  const auto counts = Counts(FillRing(permutations, kSmallRing, kProportional), kMaxRingBackends);
  EXPECT_EQ(counts[5], kSmallRing);
}

TEST(IsPrime, KnowsPrimes) {
  for (const uint32_t prime :
       {2u, 3u, 5u, 7u, 251u, 16381u, 131071u, kSmallRing, kLargeRing, 16777213u, 4294967291u}) {
    EXPECT_TRUE(IsPrime(prime)) << prime;
  }
  for (const uint32_t other :
       {0u, 1u, 4u, 9u, 25u, 65535u, 65536u, 65541u, 4294836225u, 4294967295u}) {
    EXPECT_FALSE(IsPrime(other)) << other;
  }
}

TEST(RingCache, FillsARingOncePerPool) {
  std::mt19937 random(11);
  const std::vector<Permutation> permutations = RandomPermutations(random, 7, 251, 9);
  RingCache rings;
  const uint16_t* const first = rings.Fill(permutations, 251, kProportional).data();
  EXPECT_EQ(rings.Fill(std::vector<Permutation>(permutations), 251, kProportional).data(), first);
}

TEST(RingCache, ReturnsFillRingsResultWhateverElseWasFilled) {
  constexpr uint32_t kLarge = 8388593;  // A prime; two rings of this size nearly fill a RingCache.
  std::mt19937 random(12);
  std::vector<Permutation> permutations = RandomPermutations(random, 5, 251, 9);
  RingCache rings;
  uint32_t larges = 0;
  for (const uint32_t slots : {251u, 509u, 251u}) {
    for (const WeightRule rule : {kProportional, kFirstRound, kCilium}) {
      ASSERT_EQ(rings.Fill(permutations, slots, rule), FillRing(permutations, slots, rule));
      ++permutations[0].weight;  // Another pool, and then the first one again.
      ASSERT_EQ(rings.Fill(permutations, slots, rule), FillRing(permutations, slots, rule));
      --permutations[0].weight;
    }
    const std::vector<Permutation> one{{++larges, 1}};
    ASSERT_EQ(rings.Fill(one, kLarge, kCilium), std::vector<uint16_t>(kLarge));
  }
}

}  // namespace
}  // namespace sluice::engine::maglev
