// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/source_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "packet/bytes.h"

namespace sluice::engine::logmon {
namespace {

struct State {
  uint32_t value = 0;
};
using Table = SourceTable<State>;

packet::FlowKey Flow(uint32_t number) {
  packet::FlowKey flow;
  flow.ip_version = 4;
  flow.protocol = 17;
  packet::StoreBe32(flow.source.data(), number >> 16);
  flow.source_port = static_cast<uint16_t>(number);
  return flow;
}
uint32_t NumberOf(const packet::FlowKey& flow) {
  return packet::LoadBe32(flow.source.data()) << 16 | flow.source_port;
}

/// Records the evicted flows.
struct Gone {
  std::vector<uint32_t> numbers;
  void operator()(const packet::FlowKey& flow, State&) { numbers.push_back(NumberOf(flow)); }
};

TEST(SourceTable, FindsWhatWasInsertedAndNothingElse) {
  Table table(1000, 7);
  Gone gone;
  for (uint32_t i = 0; i < 1000; ++i) table.state(table.Insert(Flow(i), i, gone)).value = i;
  EXPECT_EQ(table.size(), 1000u);
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t place = table.Find(Flow(i));
    ASSERT_NE(place, Table::kNone);
    EXPECT_EQ(table.state(place).value, i);
    EXPECT_EQ(table.flow(place), Flow(i));
  }
  EXPECT_EQ(table.Find(Flow(1000)), Table::kNone);
  EXPECT_TRUE(gone.numbers.empty());
}

TEST(SourceTable, EvictsTheLongestIdleOfWorkingSourcesInTheirOrder) {
  Table table(16, 7);
  Gone gone;
  for (uint32_t i = 0; i < 16; ++i) table.Touch(table.Insert(Flow(i), i, gone), i);
  table.Touch(table.Find(Flow(0)), 100);
  table.Touch(table.Find(Flow(2)), 101);
  for (uint32_t i = 0; i < 3; ++i) table.Insert(Flow(100 + i), 200, gone);
  EXPECT_EQ(gone.numbers, (std::vector<uint32_t>{1, 3, 4}));
  EXPECT_EQ(table.size(), 16u);
}

TEST(SourceTable, GivesANewSourceTheStateOfNone) {
  Table table(1, 7);
  Gone gone;
  table.state(table.Insert(Flow(1), 0, gone)).value = 5;
  const uint32_t place = table.Insert(Flow(2), 0, gone);
  EXPECT_EQ(table.state(place).value, 0u);
  EXPECT_EQ(table.Find(Flow(1)), Table::kNone);
  EXPECT_EQ(gone.numbers, std::vector<uint32_t>{1});
}

TEST(SourceTable, KeepsWorkingSourcesThroughAScanOfAMillion) {
  constexpr uint32_t kWorking = 80'000, kScan = 1'000'000;
  Table table(100'000, 7);
  uint64_t evicted = 0, evicted_working = 0;
  const auto evict = [&](const packet::FlowKey& flow, State&) {
    ++evicted;
    evicted_working += NumberOf(flow) < kWorking;
  };
  for (uint32_t i = 0; i < kWorking; ++i) table.Touch(table.Insert(Flow(i), 1, evict), 2);
  for (uint32_t i = 0; i < kScan; ++i) table.Insert(Flow(kWorking + i), 3 + i, evict);
  EXPECT_EQ(evicted_working, 0u);
  EXPECT_EQ(evicted, kWorking + kScan - 100'000);
  EXPECT_EQ(table.size(), 100'000u);
  for (uint32_t i = 0; i < kWorking; ++i) ASSERT_NE(table.Find(Flow(i)), Table::kNone);
  // The table contains only the last flows of the scan.
  EXPECT_NE(table.Find(Flow(kWorking + kScan - 1)), Table::kNone);
  EXPECT_EQ(table.Find(Flow(kWorking)), Table::kNone);
}

TEST(SourceTable, LeavesAnEighthToNewSourcesHoweverManyWork) {
  Table table(800, 7);
  Gone gone;
  for (uint32_t i = 0; i < 800; ++i) table.Touch(table.Insert(Flow(i), i, gone), i);
  for (uint32_t i = 0; i < 5000; ++i) table.Insert(Flow(1000 + i), 1000 + i, gone);
  uint32_t working = 0;
  for (uint32_t i = 0; i < 800; ++i) working += table.Find(Flow(i)) != Table::kNone;
  EXPECT_EQ(working, 800u - 101u);
}

TEST(SourceTable, ForgetsIdleSourcesAFewAtATime) {
  Table table(100, 7);
  Gone gone;
  for (uint32_t i = 0; i < 10; ++i) {
    const uint32_t place = table.Insert(Flow(i), i, gone);
    if (i % 2 == 0) table.Touch(place, i);
  }
  table.ForgetIdle(104, 100, 8, gone);  // Flows 0 … 3 have an age of at least 101.
  EXPECT_EQ(gone.numbers, (std::vector<uint32_t>{1, 3, 0, 2}));
  table.ForgetIdle(1000, 100, 4, gone);
  EXPECT_EQ(table.size(), 2u);
  // If the clock moves backwards, no flow becomes idle.
  table.ForgetIdle(0, 100, 4, gone);
  EXPECT_EQ(table.size(), 2u);
  table.ForgetAll(gone);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(gone.numbers.size(), 10u);
}

TEST(SourceTable, AgreesWithAMapThroughManyRandomOperations) {
  std::mt19937 random(3);
  Table table(64, random());
  std::map<uint32_t, uint32_t> map;
  const auto gone = [&](const packet::FlowKey& flow, State& state) {
    const auto found = map.find(NumberOf(flow));
    ASSERT_NE(found, map.end());
    EXPECT_EQ(found->second, state.value);
    map.erase(found);
  };
  for (uint32_t step = 0; step < 200'000; ++step) {
    const uint32_t number = random() % 128;
    const uint32_t place = table.Find(Flow(number));
    ASSERT_EQ(place != Table::kNone, map.contains(number));
    if (place == Table::kNone) {
      table.state(table.Insert(Flow(number), step, gone)).value = step;
      map[number] = step;
    } else if (random() % 4 == 0) {
      table.Forget(place, gone);
    } else {
      EXPECT_EQ(table.state(place).value, map[number]);
      table.Touch(place, step);
    }
    if (random() % 64 == 0) table.ForgetIdle(step, 1 + random() % 500, 4, gone);
    ASSERT_EQ(table.size(), map.size());
    ASSERT_LE(table.size(), 64u);
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
