// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a host and a learner over each channel: races, agents that die and restart, and damaged
// scans.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "channels.h"

namespace sluice::simulation::tiering {
namespace {

using test::Programs;
using test::World;

constexpr uint32_t kPages = 2048;
constexpr uint32_t kCapacity = 384;
constexpr uint32_t kHotRegions = 4;
void MakeHot(Programs& programs, Vpn first) {
  programs.Set(0, kPages, 0.01);
  programs.Set(first, kHotRegions * kRegionPages, 2);
}
template <typename W>
void Play(W& world, Programs& programs, uint32_t ticks) {
  for (uint32_t i = 0; i < ticks; ++i) {
    programs.RunTick(world.table);
    world.Tick();
    ASSERT_EQ(world.table.Violation(), nullptr);
  }
}
template <typename W>
double ShareOver(W& world, Programs& programs, uint32_t ticks) {
  const uint64_t fast = world.table.accesses(Tier::kFast);
  const uint64_t slow = world.table.accesses(Tier::kSlow);
  Play(world, programs, ticks);
  const auto in_fast = static_cast<double>(world.table.accesses(Tier::kFast) - fast);
  return in_fast / (in_fast + static_cast<double>(world.table.accesses(Tier::kSlow) - slow));
}
template <typename W>
void MapAll(W& world) {
  for (Vpn page = 0; page != kPages; ++page) world.table.Touch(page);
}

TYPED_TEST(Tiering, HotPagesGetIntoTheFastTierAndStayThere) {
  World<TypeParam> world(kPages, kCapacity);
  MapAll(world);
  world.StartAgent();
  Programs programs(kPages);
  MakeHot(programs, 1024);
  Play(world, programs, 3 * kSlowestTicks);
  // The hot pages get 512 of 529 accesses per tick.
  EXPECT_GT(ShareOver(world, programs, kEpochTicks), 0.8);
  EXPECT_EQ(world.agent->counters().refused_decisions, 0u);
  EXPECT_EQ(world.agent->counters().damaged_pieces, 0u);
  EXPECT_EQ(world.host.counters().watchdog_expired, 0u);
}

TYPED_TEST(Tiering, WithoutAnAgentTheHostDoesWhatNeedsNone) {
  World<TypeParam> world(kPages, kCapacity);
  MapAll(world);
  Programs programs(kPages);
  MakeHot(programs, 1024);
  programs.Set(0, 1024, 0);
  EXPECT_LT(ShareOver(world, programs, kSlowestTicks), 0.2);
  Play(world, programs, 8 * kSlowestTicks);
  EXPECT_TRUE(world.host.alone());
  EXPECT_GE(world.host.counters().default_actions, 8u);
  EXPECT_GT(world.host.counters().default_moves, 0u);
  EXPECT_GT(ShareOver(world, programs, kSlowestTicks), 0.8) << "a second chance finds the hot ones";
}

TYPED_TEST(Tiering, WithoutAnAgentTheHostActsAtItsPeriod) {
  constexpr uint64_t kPeriodNanoseconds = 9'600'000'000;
  World<TypeParam> world(kRegionPages, 1);
  for (uint64_t ticks = 1; ticks <= 100; ++ticks) {
    world.host.Tick();
    ASSERT_EQ(world.host.counters().default_actions, ticks * kTickNanoseconds / kPeriodNanoseconds)
        << ticks;
  }
}

TYPED_TEST(Tiering, AnAgentThatDiesIsMissedWithinItsTimeAndTheNextOneLearnsEverythingAnew) {
  World<TypeParam> world(kPages, kCapacity);
  MapAll(world);
  world.StartAgent();
  Programs programs(kPages);
  MakeHot(programs, 1024);
  Play(world, programs, 3 * kSlowestTicks);
  ASSERT_FALSE(world.host.alone());
  const uint64_t introductions = world.host.counters().introductions;

  world.KillAgent();
  for (uint32_t i = 0; i != world.options.watchdog_ticks; ++i) {
    programs.RunTick(world.table);
    world.host.Tick();
    EXPECT_FALSE(world.host.alone()) << i;
  }
  world.host.Tick();
  EXPECT_TRUE(world.host.alone());
  EXPECT_EQ(world.host.counters().watchdog_expired, 1u);
  for (uint32_t i = 0; i != 2 * kSlowestTicks; ++i) {
    programs.RunTick(world.table);
    world.host.Tick();
    world.host.Poll();
    ASSERT_EQ(world.table.Violation(), nullptr);
  }
  EXPECT_GE(world.host.counters().default_actions, 2u);

  // The hot set has changed when the agent connects.
  MakeHot(programs, 512);
  world.Connect();
  world.StartAgent();
  Play(world, programs, 4 * kSlowestTicks);
  EXPECT_FALSE(world.host.alone());
  EXPECT_EQ(world.host.counters().introductions, introductions + 1);
  EXPECT_EQ(world.host.counters().watchdog_expired, 1u);
  EXPECT_GT(ShareOver(world, programs, kSlowestTicks), 0.8);
  // The agent learns the tiers from the scans, so it does not request moves that are already done.
  EXPECT_EQ(world.host.counters().elements[static_cast<size_t>(ElementStatus::kAlready)], 0u);
}

TYPED_TEST(Tiering, AnAgentThatSleptIsTakenBackAndIntroducedAgain) {
  World<TypeParam> world(kPages, kCapacity);
  MapAll(world);
  world.StartAgent();
  Programs programs(kPages);
  MakeHot(programs, 1024);
  Play(world, programs, kSlowestTicks);
  const uint64_t introductions = world.host.counters().introductions;
  for (uint32_t i = 0; i != 3 * world.options.watchdog_ticks; ++i) {
    world.host.Tick();
    world.host.Poll();
  }
  ASSERT_TRUE(world.host.alone());
  Play(world, programs, 4 * kSlowestTicks);
  EXPECT_FALSE(world.host.alone());
  EXPECT_EQ(world.host.counters().introductions, introductions + 1);
  EXPECT_GT(ShareOver(world, programs, kSlowestTicks), 0.8);
}

TYPED_TEST(Tiering, PagesThatComeAndGoUnderTheAgentAbortTheirElementsAlone) {
  World<TypeParam> world(kPages, kCapacity);
  MapAll(world);
  world.StartAgent();
  Programs programs(kPages);
  MakeHot(programs, 1024);
  std::mt19937_64 random(5);
  for (uint32_t i = 0; i != 2 * kEpochTicks; ++i) {
    if (i % kEpochTicks == 0) MakeHot(programs, i == 0 ? 1024 : 512);
    programs.RunTick(world.table);
    world.host.Tick();
    for (int round = 0; round < 8; ++round) {
      world.agent->Step();
      // A page changes between the agent's step and the host's step.
      const auto page = static_cast<Vpn>(random() % kPages);
      random() % 2 == 0 ? world.table.Unmap(page) : world.table.Remap(page);
      world.host.Poll();
      ASSERT_EQ(world.table.Violation(), nullptr);
    }
  }
  const auto& elements = world.host.counters().elements;
  EXPECT_GT(elements[static_cast<size_t>(ElementStatus::kStale)] +
                elements[static_cast<size_t>(ElementStatus::kNotMapped)],
            0u);
  EXPECT_GT(elements[static_cast<size_t>(ElementStatus::kDone)], 100u);
  EXPECT_EQ(elements[static_cast<size_t>(ElementStatus::kMalformed)], 0u);
  EXPECT_GT(ShareOver(world, programs, kSlowestTicks), 0.75);
}

TYPED_TEST(Tiering, DamagedScansAreNotLearntFromAndNothingIsDecidedOnThem) {
  World<TypeParam> world(kPages, kCapacity);
  MapAll(world);
  world.StartAgent();
  Programs programs(kPages);
  MakeHot(programs, 1024);
  Play(world, programs, 4 * kSlowestTicks);
  const uint64_t withheld = world.agent->learner().counters().withheld_rounds;
  ASSERT_EQ(withheld, 0u);
  const uint64_t moved = world.table.promoted();
  MakeHot(programs, 512);
  for (uint32_t i = 0; i != kSlowestTicks; ++i) {
    programs.RunTick(world.table);
    world.host.Tick();
    std::fill(world.down.begin(), world.down.end(), std::byte{0xa5});
    world.Exchange();
  }
  EXPECT_GT(world.agent->counters().damaged_pieces, 0u);
  EXPECT_GT(world.agent->learner().counters().withheld_rounds, 0u);
  EXPECT_EQ(world.table.promoted(), moved);
  Play(world, programs, 4 * kSlowestTicks);
  EXPECT_GT(ShareOver(world, programs, kSlowestTicks), 0.8) << "it recovers";
}

}  // namespace
}  // namespace sluice::simulation::tiering
