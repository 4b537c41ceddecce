// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the cost of exchanges on the model's link with costs derived by hand. The parameters: a
// one-way transfer takes 379 ns, a read 750 ns, and MSI-X 1600 ns; TLPs have 24 + n and 20 + n
// bytes.
#include "fabric/exchanges.h"

#include <gtest/gtest.h>

namespace sluice::fabric {
namespace {

constexpr Costs kCosts;

Picoseconds At(const Exchange& exchange, const std::string& what) {
  for (const Milestone& milestone : exchange.milestones) {
    if (milestone.what == what) return milestone.at;
  }
  ADD_FAILURE() << exchange.name << " never reached: " << what;
  return 0;
}

class Exchanges : public testing::TestWithParam<Picoseconds> {
 protected:
  const Picoseconds t_ = GetParam();  ///< Computing time of the responder.
  const Picoseconds i_ = 200_ns;      ///< Computing time of the initiator.
  const Thinking thinking_{t_, i_};
};

TEST_P(Exchanges, SwapOfTwoIsARoundTripAnd88BytesEachWay) {
  const Exchange swap = SwapOfTwoByHost(kCosts, thinking_);
  EXPECT_EQ(swap.operations, "host post, NIC post");
  EXPECT_EQ(swap.bytes, (bar::LinkBytes{88, 88}));
  EXPECT_EQ(At(swap, "NIC commits"), 379_ns + t_);
  EXPECT_EQ(At(swap, "host commits"), 758_ns + t_);
}

TEST_P(Exchanges, SwapOfTwoCostsTheNicTheSame) {
  const Exchange swap = SwapOfTwoByNic(kCosts, thinking_);
  EXPECT_EQ(swap.operations, "NIC post, host post");
  EXPECT_EQ(swap.bytes, (bar::LinkBytes{88, 88}));
  EXPECT_EQ(At(swap, "NIC commits"), 758_ns + t_);
}

TEST_P(Exchanges, FetchingTheAnswerCosts750InsteadOf379) {
  const Exchange swap = SwapOfTwoFetched(kCosts, thinking_, 0);
  EXPECT_EQ(swap.operations, "host post, host poll");
  EXPECT_EQ(swap.bytes, (bar::LinkBytes{112, 84}));
  EXPECT_EQ(At(swap, "host commits"), 379_ns + t_ + 750_ns);
}

TEST_P(Exchanges, SwapOfFourHoldsTheResponderForARoundTrip) {
  const Exchange swap = SwapOfFour(kCosts, thinking_);
  EXPECT_EQ(swap.operations, "host post, NIC post, host post, NIC post");
  EXPECT_EQ(swap.bytes, (bar::LinkBytes{176, 176}));
  EXPECT_EQ(At(swap, "host has the reflection"), 758_ns + t_);
  EXPECT_EQ(At(swap, "host commits"), 758_ns + t_ + i_);
  EXPECT_EQ(At(swap, "NIC commits"), 1137_ns + t_ + i_);
  EXPECT_EQ(At(swap, "host may offer again"), 1516_ns + 2 * t_ + i_);
}

TEST_P(Exchanges, WaveEventDecisionInterrupt) {
  const Exchange wave = WaveWithInterrupt(kCosts, thinking_, false);
  EXPECT_EQ(wave.operations, "host post, NIC MSI-X, host poll");
  EXPECT_EQ(wave.bytes, (bar::LinkBytes{112, 112}));
  EXPECT_EQ(At(wave, "interrupt handler"), 379_ns + t_ + 1600_ns);
  EXPECT_EQ(At(wave, "decision in hand"), 379_ns + t_ + 1600_ns + 750_ns);
  const Exchange slow = WaveWithInterrupt(kCosts, thinking_, true);
  EXPECT_EQ(At(slow, "MSI-X sent"), 379_ns + t_ + 426_ns);
  EXPECT_EQ(At(slow, "interrupt handler"), 379_ns + t_ + 426_ns - 70_ns + 1600_ns);
}

// There are eight stores of 50 ns, the last of which leaves after 350 ns, and eight reads of 750
// ns.
TEST_P(Exchanges, WaveUncachedPaysForEveryWord) {
  const Exchange wave = WaveUncached(kCosts, thinking_);
  EXPECT_EQ(wave.bytes, (bar::LinkBytes{8 * 32 + 8 * 24, 28 + 8 * 28}));
  EXPECT_EQ(At(wave, "decision in hand"), 350_ns + 379_ns + t_ + 1600_ns + 8 * 750_ns);
}

INSTANTIATE_TEST_SUITE_P(ThinkingTimes, Exchanges,
                         testing::Values(500_ns, 1117_ns, 3876_ns, 123'456_ps));

TEST(ExchangeCosts, ALookTooEarlyCosts750Each) {
  // The host posts at 0 ns and is free at 80 ns. Its reads of the NIC's line arrive at 459, 1209
  // and 1959 ns; the answer is available at 1496 ns.
  const Exchange swap = SwapOfTwoFetched(kCosts, {1117_ns, 200_ns}, 2);
  EXPECT_EQ(At(swap, "host commits"), 80_ns + 3 * 750_ns);
  EXPECT_EQ(swap.bytes, (bar::LinkBytes{88 + 3 * 24, 3 * 84}));
}

TEST(ExchangeCosts, APrestagedHitAddsOneCachedLoad) {
  const Exchange wave = WavePrestaged(kCosts);
  EXPECT_EQ(wave.operations, "host prefetch, host post");
  EXPECT_EQ(wave.bytes, (bar::LinkBytes{112, 84}));
  EXPECT_EQ(At(wave, "decision in hand"), 2_ns);
}

// Compares the costs per context switch. A swap for every decision is cheaper than prestaging only
// if prestaging misses often. There are three kinds of misses: one ends in the interrupt handler,
// one ends by polling, and one includes the read after the interrupt.
TEST(ExchangeCosts, BreakEvenHitRates) {
  const Thinking thinking{kCosts.agent_decision, 200_ns};
  const auto with = [](Picoseconds latency) {
    return ToNanoseconds(kCosts.context_switch + latency);
  };
  const double swap = with(At(SwapOfTwoByHost(kCosts, thinking), "host commits"));
  const double hit = ToNanoseconds(kCosts.context_switch);
  const double by_interrupt =
      with(At(WaveWithInterrupt(kCosts, thinking, false), "interrupt handler"));
  const double by_polling = with(At(SwapOfTwoFetched(kCosts, thinking, 0), "host commits"));
  EXPECT_NEAR(swap, 5180, 10);
  EXPECT_NEAR(by_interrupt, 6400, 10);
  EXPECT_NEAR(by_polling, 5550, 10);
  EXPECT_NEAR((by_interrupt - swap) / (by_interrupt - hit), 0.39, 0.005);
  EXPECT_NEAR((by_polling - swap) / (by_polling - hit), 0.17, 0.006);
  // Includes the read of the decision after the interrupt: (7146 - 5175) / 3846.
  const double fetched = with(At(WaveWithInterrupt(kCosts, thinking, false), "decision in hand"));
  EXPECT_NEAR((fetched - swap) / (fetched - hit), 0.512, 0.001);
}

}  // namespace
}  // namespace sluice::fabric
