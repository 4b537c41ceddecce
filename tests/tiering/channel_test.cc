// SPDX-License-Identifier: BSD-3-Clause
//
// Host and agent over either channel: races, hostile decisions, agents that die and come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "world.h"

namespace sluice::engine::tiering {
namespace {

using test::Programs;
using test::World;

constexpr auto kFast = static_cast<uint8_t>(Tier::kFast);
constexpr auto kSlow = static_cast<uint8_t>(Tier::kSlow);

template <typename C>
class Tiering : public testing::Test {};
struct Names {
  template <typename C>
  static std::string GetName(int) {
    return std::is_same_v<C, test::Wave> ? "Wave" : "Swap";
  }
};
using Channels = testing::Types<test::Wave, test::Swap>;
TYPED_TEST_SUITE(Tiering, Channels, Names);

/// An agent that does what the test says.
template <typename C>
class Puppet {
 public:
  explicit Puppet(World<C>& world) : world_(&world), up_(world.Up()) {
    world.nic->RequestRestart();
    for (int i = 0; i < 10 && !geometry; ++i) {
      world.host.Tick();
      Hear();
      world.host.Poll();
      Hear();
    }
  }

  void Hear() {
    offload::Item item;
    world_->nic->TakeLoss();
    while (world_->nic->Receive(item)) {
      const Event event = DecodeEvent(item);
      if (event.kind == EventKind::kGeometry) geometry = event;
      if (event.kind == EventKind::kScans) scans = event;
    }
  }
  Decision Write(const std::vector<Element>& elements, offload::Slot slot = 0) {
    const std::span<const Element> from = elements;
    EXPECT_EQ(from.empty(), !up_.Write(slot, from));
    return {.elements = static_cast<uint16_t>(from.size()),
            .checksum = Checksum(std::as_bytes(from)),
            .scans_seen = scans ? scans->c : 0,
            .number = ++number};
  }
  void Commit(const Decision& decision, offload::Slot slot = 0) {
    ASSERT_TRUE(world_->nic->CanCommit(slot));
    world_->nic->Commit(slot, Encode(decision), offload::Urgency::kPrestaged);
  }
  /// Lets the host look, and says what it answered.
  std::optional<Outcome> Answer(offload::Slot slot = 0) {
    offload::Item item;
    offload::Decided how;
    for (int i = 0; i < 10; ++i) {
      world_->host.Poll();
      Hear();
      if (world_->nic->TakeOutcome(slot, item, how)) return DecodeOutcome(item);
    }
    return std::nullopt;
  }

  std::optional<Event> geometry;
  std::optional<Event> scans;
  uint64_t number = 0;

 private:
  World<C>* world_;
  Bulk up_;
};

/// All 256 pages are mapped, 0 … 63 in the fast tier.
template <typename C>
struct FullWorld : World<C> {
  FullWorld() : World<C>(256, 64) {
    for (Vpn page = 0; page != 256; ++page) this->table.Touch(page);
  }
};

TYPED_TEST(Tiering, ANewAgentLearnsTheGeometryAndIsShownEveryRegion) {
  FullWorld<TypeParam> world;
  Puppet<TypeParam> puppet(world);
  ASSERT_TRUE(puppet.geometry);
  EXPECT_EQ(puppet.geometry->a, 256u);
  EXPECT_EQ(puppet.geometry->b, 64u);
  world.host.Tick();
  puppet.Hear();
  ASSERT_TRUE(puppet.scans);
  std::vector<ScanRecord> records(puppet.scans->b);
  ASSERT_EQ(records.size(), 4u);
  ASSERT_TRUE(world.Down().Read(puppet.scans->a, std::span(records)));
  EXPECT_EQ(Checksum(std::as_bytes(std::span(records))), puppet.scans->d);
  for (Region region = 0; region != 4; ++region) {
    EXPECT_EQ(records[region].region, region);
    EXPECT_EQ(records[region].mapped, ~uint64_t{0});
    EXPECT_EQ(records[region].fast, region == 0 ? ~uint64_t{0} : 0);
  }
}

TYPED_TEST(Tiering, OfABatchOnlyElementsWhosePagesChangedMeanwhileAreAborted) {
  FullWorld<TypeParam> world;
  Puppet<TypeParam> puppet(world);
  const Generation seen = world.table.generation();
  const Decision decision =
      puppet.Write({{.first = 0, .count = 4, .value = kSlow, .generation = seen},
                    {.first = 8, .count = 4, .value = kSlow, .generation = seen},
                    {.first = 16, .count = 4, .value = kSlow, .generation = seen},
                    {.first = 100, .count = 4, .value = kFast, .generation = seen}});
  puppet.Commit(decision);
  // Between the decision and its enforcement:
  world.table.Unmap(9);
  world.table.Remap(17);
  const auto outcome = puppet.Answer();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, Verdict::kUnderstood);
  EXPECT_EQ(outcome->number, decision.number);
  EXPECT_EQ(outcome->done, 0b1001u);
  EXPECT_EQ(world.table.TierOf(0), Tier::kSlow);
  EXPECT_EQ(world.table.TierOf(8), Tier::kFast);
  EXPECT_EQ(world.table.TierOf(16), Tier::kFast);
  EXPECT_EQ(world.table.TierOf(100), Tier::kFast);
  const auto& elements = world.host.counters().elements;
  EXPECT_EQ(elements[static_cast<size_t>(ElementStatus::kDone)], 2u);
  EXPECT_EQ(elements[static_cast<size_t>(ElementStatus::kNotMapped)], 1u);
  EXPECT_EQ(elements[static_cast<size_t>(ElementStatus::kStale)], 1u);
  EXPECT_EQ(world.table.Violation(), nullptr);
}

TYPED_TEST(Tiering, TheSameBatchAgainMovesNothing) {
  FullWorld<TypeParam> world;
  Puppet<TypeParam> puppet(world);
  const std::vector<Element> batch{
      {.first = 0, .count = 8, .value = kSlow, .generation = world.table.generation()}};
  puppet.Commit(puppet.Write(batch));
  ASSERT_EQ(puppet.Answer()->done, 1u);
  puppet.Commit(puppet.Write(batch));
  ASSERT_EQ(puppet.Answer()->done, 0u);
  EXPECT_EQ(world.table.demoted(), 8u);
}

TYPED_TEST(Tiering, HostileDecisionsAreRefusedAndCounted) {
  FullWorld<TypeParam> world;
  Puppet<TypeParam> puppet(world);
  const Generation seen = world.table.generation();
  const std::vector<Element> good{{.first = 0, .count = 1, .value = kSlow, .generation = seen}};
  const auto refused = [&](Decision decision, Verdict verdict) {
    const uint64_t before = world.host.counters().verdicts[static_cast<size_t>(verdict)];
    puppet.Commit(decision);
    const auto outcome = puppet.Answer();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->verdict, verdict);
    EXPECT_EQ(outcome->done, 0u);
    EXPECT_EQ(world.host.counters().verdicts[static_cast<size_t>(verdict)], before + 1);
  };
  Decision decision = puppet.Write(good);
  decision.version = kAbiVersion + 1;
  refused(decision, Verdict::kBadVersion);
  for (const uint16_t count : {uint16_t{kMaxElements + 1}, uint16_t{UINT16_MAX}}) {
    decision = puppet.Write(good);
    decision.elements = count;
    refused(decision, Verdict::kBadCount);
  }
  decision = puppet.Write(good);
  decision.checksum ^= 1;
  refused(decision, Verdict::kBadChecksum);
  decision = puppet.Write(good);
  decision.elements = 2;
  refused(decision, Verdict::kBadChecksum);
  for (const uint64_t sequence : {decision.scans_seen + 1000, UINT64_MAX}) {
    decision = puppet.Write(good);
    decision.scans_seen = sequence;
    refused(decision, Verdict::kBadSequence);
  }
  EXPECT_EQ(world.table.demoted(), 0u);

  // Sound as a batch, and each element refused.
  puppet.Commit(puppet.Write({{.first = 255, .count = 2, .value = kSlow, .generation = seen},
                              {.first = UINT32_MAX, .count = 2, .value = kSlow, .generation = seen},
                              {.first = 0, .count = UINT16_MAX, .value = kSlow, .generation = seen},
                              {.first = 4, .count = 1, .kind = Element::kScanPeriod, .value = 0},
                              {.first = 64, .count = 64, .value = kFast, .generation = ~0ull}}));
  const auto outcome = puppet.Answer();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->done, 0u);
  const auto& elements = world.host.counters().elements;
  EXPECT_EQ(elements[static_cast<size_t>(ElementStatus::kMalformed)], 4u);
  EXPECT_EQ(elements[static_cast<size_t>(ElementStatus::kNoRoom)], 1u);
  EXPECT_EQ(world.table.Violation(), nullptr);

  // And the channel still works.
  puppet.Commit(puppet.Write(good));
  EXPECT_EQ(puppet.Answer()->done, 1u);
}

TYPED_TEST(Tiering, AnAgentThatGivesNothingBackIsShownNoMoreThanThereArePieces) {
  FullWorld<TypeParam> world;
  Puppet<TypeParam> puppet(world);
  for (int i = 0; i < 9; ++i) {
    world.host.Tick();
    puppet.Hear();
    // It lives, but has read nothing.
    Decision decision = puppet.Write({});
    decision.scans_seen = 0;
    puppet.Commit(decision);
    ASSERT_TRUE(puppet.Answer());
  }
  EXPECT_EQ(world.host.counters().deferred_regions, 0u);
  for (int i = 0; i < 30; ++i) {
    world.host.Tick();
    puppet.Hear();
    Decision decision = puppet.Write({});
    decision.scans_seen = 0;
    puppet.Commit(decision);
    ASSERT_TRUE(puppet.Answer());
  }
  EXPECT_LE(world.host.counters().scanned_regions, 4u * 16u);
  EXPECT_GT(world.host.counters().deferred_regions, 0u);
  EXPECT_FALSE(world.host.alone());
}

/// 32 regions; the fast tier holds 6; `hot` pages in each of four regions that are not in it at
/// first have nearly all accesses.
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
  // What is hot has 512 of 529 accesses a tick.
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

  // The hot set is another when somebody comes.
  MakeHot(programs, 512);
  world.Connect();
  world.StartAgent();
  Play(world, programs, 4 * kSlowestTicks);
  EXPECT_FALSE(world.host.alone());
  EXPECT_EQ(world.host.counters().introductions, introductions + 1);
  EXPECT_EQ(world.host.counters().watchdog_expired, 1u);
  EXPECT_GT(ShareOver(world, programs, kSlowestTicks), 0.8);
  // It knows the tiers from the scans: it does not wish for what is so already.
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
      // Between the agent's look and the host's.
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
}  // namespace sluice::engine::tiering
