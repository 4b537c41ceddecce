// SPDX-License-Identifier: BSD-3-Clause
//
// Tests which decisions the host's page table enforces, and which it rejects.
#include "simulation/tiering/page_table.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <random>
#include <vector>

namespace sluice::simulation::tiering {
namespace {

constexpr auto kFast = static_cast<uint8_t>(Tier::kFast);
constexpr auto kSlow = static_cast<uint8_t>(Tier::kSlow);

std::vector<ElementStatus> Check(const PageTable& table, const std::vector<Element>& elements) {
  std::vector<ElementStatus> statuses(elements.size());
  table.Check(elements, statuses);
  return statuses;
}

ElementStatus CheckOne(const PageTable& table, const Element& element) {
  return Check(table, {element})[0];
}

Element Move(const PageTable& table, Vpn first, uint16_t count, uint8_t tier) {
  return {.first = first,
          .count = count,
          .kind = Element::kMigrate,
          .value = tier,
          .generation = table.generation()};
}

/// Returns a table of 256 mapped pages. Pages 0 … 63 are in the fast tier, which is full.
PageTable Full() {
  PageTable table(256, 64);
  for (Vpn page = 0; page != 256; ++page) table.Touch(page);
  return table;
}

TEST(PageTable, PagesAreMappedByTheirFirstAccessAndFastWhileThereIsRoom) {
  PageTable table(128, 2);
  EXPECT_EQ(table.Touch(5), Tier::kFast);
  EXPECT_EQ(table.Touch(70), Tier::kFast);
  EXPECT_EQ(table.Touch(6), Tier::kSlow);
  EXPECT_EQ(table.mapped(), 3u);
  EXPECT_EQ(table.accesses(Tier::kFast), 2u);
  EXPECT_EQ(table.accesses(Tier::kSlow), 1u);
  EXPECT_EQ(table.Violation(), nullptr);
}

TEST(PageTable, AScanReadsAndClearsAccessBits) {
  PageTable table(128, 1);
  table.Touch(64);
  table.Touch(66);
  ScanRecord scan = table.Scan(1, 3);
  EXPECT_EQ(scan.region, 1u);
  EXPECT_EQ(scan.ticks, 3u);
  EXPECT_EQ(scan.accessed, 0b101u);
  EXPECT_EQ(scan.mapped, 0b101u);
  EXPECT_EQ(scan.fast, 0b001u);
  EXPECT_EQ(scan.fresh, 0b101u);
  table.Touch(66);
  scan = table.Scan(1, 1);
  EXPECT_EQ(scan.accessed, 0b100u);
  EXPECT_EQ(scan.fresh, 0u);
}

TEST(PageTable, AMigrationMovesItsRangeAndNothingElse) {
  PageTable table = Full();
  table.Migrate(Move(table, 10, 4, kSlow));
  for (Vpn page = 0; page != 256; ++page) {
    const bool fast = page < 64 && (page < 10 || page >= 14);
    EXPECT_EQ(table.TierOf(page), fast ? Tier::kFast : Tier::kSlow) << page;
  }
  EXPECT_EQ(table.fast_used(), 60u);
  EXPECT_EQ(table.demoted(), 4u);
}

TEST(PageTable, WhatIsNoMigrationIsMalformed) {
  PageTable table = Full();
  for (const Element& bad : std::initializer_list<Element>{
           {.first = 0, .count = 0, .value = kSlow, .generation = 1000},
           {.first = 0, .count = kMaxRangePages + 1, .value = kSlow, .generation = 1000},
           {.first = 250, .count = 7, .value = kSlow, .generation = 1000},
           {.first = 256, .count = 1, .value = kSlow, .generation = 1000},
           {.first = UINT32_MAX, .count = 1, .value = kSlow, .generation = 1000},
           {.first = UINT32_MAX - 1, .count = 5, .value = kSlow, .generation = 1000},
           {.first = 0, .count = 1, .value = 2, .generation = 1000},
           {.first = 0, .count = 1, .kind = 7, .value = 0, .generation = 1000},
           {.first = 0, .count = 0, .kind = Element::kScanPeriod, .value = 0},
           {.first = 0, .count = 1, .kind = Element::kScanPeriod, .value = kArms},
           {.first = 3, .count = 2, .kind = Element::kScanPeriod, .value = 0},
           {.first = UINT32_MAX, .count = 2, .kind = Element::kScanPeriod, .value = 0}}) {
    EXPECT_EQ(CheckOne(table, bad), ElementStatus::kMalformed)
        << bad.first << " " << bad.count << " " << int{bad.value};
  }
  EXPECT_EQ(CheckOne(table, {.first = 0, .count = 4, .kind = Element::kScanPeriod, .value = 5}),
            ElementStatus::kDone);
}

TEST(PageTable, APageThatChangedSinceTheAgentLookedIsLeftAlone) {
  PageTable table = Full();
  const Element element = Move(table, 20, 4, kSlow);
  EXPECT_EQ(CheckOne(table, element), ElementStatus::kDone);
  table.Remap(23);
  EXPECT_EQ(CheckOne(table, element), ElementStatus::kStale);
  EXPECT_EQ(CheckOne(table, Move(table, 20, 4, kSlow)), ElementStatus::kDone) << "a fresh look";
  table.Unmap(21);
  EXPECT_EQ(CheckOne(table, Move(table, 20, 4, kSlow)), ElementStatus::kNotMapped);
  table.Touch(21);
  EXPECT_EQ(CheckOne(table, element), ElementStatus::kStale) << "mapped again is another page";
}

TEST(PageTable, AccessesAndScansDoNotMakeADecisionStale) {
  PageTable table = Full();
  const Element element = Move(table, 20, 4, kSlow);
  table.Touch(21);
  table.Scan(0, 1);
  EXPECT_EQ(CheckOne(table, element), ElementStatus::kDone);
}

TEST(PageTable, NothingIsMigratedTwiceForOneObservation) {
  PageTable table = Full();
  const Element element = Move(table, 20, 4, kSlow);
  EXPECT_EQ(table.Migrate(element), 4u);
  EXPECT_EQ(CheckOne(table, element), ElementStatus::kStale) << "the same again";
  EXPECT_EQ(
      CheckOne(table, {.first = 20, .count = 4, .value = kFast, .generation = element.generation}),
      ElementStatus::kStale)
      << "and back";
  EXPECT_EQ(CheckOne(table, Move(table, 20, 4, kSlow)), ElementStatus::kAlready);
}

TEST(PageTable, ElementsOfABatchSeeWhatThoseBeforeThemDo) {
  PageTable table = Full();
  const std::vector<ElementStatus> statuses =
      Check(table, {Move(table, 100, 2, kFast),                              // The tier is full.
                    Move(table, 0, 3, kSlow),                                // Frees three pages.
                    Move(table, 100, 2, kFast), Move(table, 102, 2, kFast),  // One page too many.
                    Move(table, 101, 1, kFast),  // This page was moved earlier in this batch.
                    Move(table, 103, 1, kFast)});
  using enum ElementStatus;
  EXPECT_EQ(statuses, (std::vector{kNoRoom, kDone, kDone, kNoRoom, kStale, kDone}));
}

TEST(PageTable, AnElementIsFulfilledAsAWholeOrNotAtAll) {
  PageTable table = Full();
  table.Migrate(Move(table, 0, 3, kSlow));
  EXPECT_EQ(CheckOne(table, Move(table, 100, 4, kFast)), ElementStatus::kNoRoom);
  EXPECT_EQ(CheckOne(table, Move(table, 100, 3, kFast)), ElementStatus::kDone);
}

TEST(PageTable, ThoseAlreadyThereTakeNoRoom) {
  PageTable table = Full();
  table.Migrate(Move(table, 63, 1, kSlow));
  const Element element = Move(table, 61, 3, kFast);
  EXPECT_EQ(CheckOne(table, element), ElementStatus::kDone);
  EXPECT_EQ(table.Migrate(element), 1u);
}

TEST(PageTable, WhateverIsWishedTheFastTierHoldsNoMoreThanItCan) {
  std::mt19937_64 random(3);
  PageTable table(1024, 100);
  std::array<Element, kMaxElements> batch;
  std::array<ElementStatus, kMaxElements> statuses;
  uint64_t done = 0;
  for (int round = 0; round < 3000; ++round) {
    for (int i = 0; i < 20; ++i) {
      const auto page = static_cast<Vpn>(random() % 1024);
      switch (random() % 8) {
        case 0:
          table.Unmap(page);
          break;
        case 1:
          table.Remap(page);
          break;
        case 2:
          table.Scan(page / kRegionPages, 1);
          break;
        default:
          table.Touch(page);
      }
    }
    for (Element& e : batch) {
      // Uses mostly plausible values, so that all kinds of results occur.
      e = {.first = static_cast<uint32_t>(random() % 1040),
           .count = static_cast<uint16_t>(random() % 8),
           .kind = static_cast<uint8_t>(random() % 16 == 0 ? 1 : 0),
           .value = static_cast<uint8_t>(random() % 16 == 0 ? random() : random() % 2),
           .generation = table.generation() - random() % 2 * (random() % 40)};
    }
    table.Check(batch, statuses);
    for (size_t i = 0; i != batch.size(); ++i) {
      if (batch[i].kind != Element::kMigrate || statuses[i] != ElementStatus::kDone) continue;
      const uint32_t moved = table.Migrate(batch[i]);
      EXPECT_NE(moved, 0u);
      ++done;
      ASSERT_LE(table.fast_used(), table.fast_capacity());
    }
    ASSERT_EQ(table.Violation(), nullptr);
  }
  EXPECT_GT(done, 1000u);
}

}  // namespace
}  // namespace sluice::simulation::tiering
