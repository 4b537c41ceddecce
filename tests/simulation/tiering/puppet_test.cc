// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the host's reaction to each decision, including hostile ones, over each channel.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "channels.h"

namespace sluice::simulation::tiering {
namespace {

using test::World;

constexpr auto kFast = static_cast<uint8_t>(Tier::kFast);
constexpr auto kSlow = static_cast<uint8_t>(Tier::kSlow);

/// An agent that the test controls.
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
    world_->nic->PollLoss();
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
  /// Lets the host poll up to ten times. Returns the decision's outcome, or nullopt if the host has
  /// not sent one.
  std::optional<Outcome> Answer(offload::Slot slot = 0) {
    offload::Item item;
    offload::Decided how;
    for (int i = 0; i < 10; ++i) {
      world_->host.Poll();
      Hear();
      if (world_->nic->PollOutcome(slot, item, how)) return DecodeOutcome(item);
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

/// A world in which all 256 pages are mapped, and pages 0 … 63 are in the fast tier.
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
  // Two pages change between the decision and its enforcement.
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

  // The batch is valid, but all of its elements are invalid.
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

  // The channel must still work.
  puppet.Commit(puppet.Write(good));
  EXPECT_EQ(puppet.Answer()->done, 1u);
}

TYPED_TEST(Tiering, AnAgentThatGivesNothingBackIsShownNoMoreThanThereArePieces) {
  FullWorld<TypeParam> world;
  Puppet<TypeParam> puppet(world);
  for (int i = 0; i < 9; ++i) {
    world.host.Tick();
    puppet.Hear();
    // The agent is alive but has not read any scan.
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

}  // namespace
}  // namespace sluice::simulation::tiering
