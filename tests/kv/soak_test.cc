// SPDX-License-Identifier: BSD-3-Clause
//
// soak_test [OPERATIONS]: compares partitions with an oracle. Runs at least this number of
// operations in total, divided among the plans. The seeds are fixed.
#include "kv/soak.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kv/mebibyte.h"

namespace sluice::engine::kv {
namespace {

uint64_t operations = 400'000;

struct Case {
  const char* name;
  SoakPlan plan;
  bool fills = false;  ///< In store mode, some values are refused.
};

/// Only a few bits of the index hash remain: 64 chains, one tag.
constexpr uint64_t kCollisions = uint64_t{0x3f} << 42;

constexpr uint64_t kSpread = ~uint64_t{0};

const Case kCases[] = {
    // The items exceed the log, which therefore wraps repeatedly.
    {"Cache", {Mode::kCache, 1, 4 * kMiB, 20'000, 30'000, kSpread}},
    {"CacheWithFullBuckets", {Mode::kCache, 2, 4 * kMiB, 2000, 20'000, kSpread}},
    {"CacheOfLongValues", {Mode::kCache, 3, 4 * kMiB, 2000, 2000, kSpread, 2, 50'000}},
    {"CacheOfCollisions", {Mode::kCache, 4, 4 * kMiB, 1000, 2000, kCollisions}},
    {"Store", {Mode::kStore, 5, 64 * kMiB, 20'000, 30'000, kSpread}},
    {"StoreThatIsFull", {Mode::kStore, 6, kMiB, 20'000, 30'000, kSpread}, true},
    {"StoreOfLongValuesThatIsFull",
     {Mode::kStore, 7, 4 * kMiB, 2000, 2000, kSpread, 2, 50'000},
     true},
    {"StoreOfCollisions", {Mode::kStore, 8, 4 * kMiB, 10, 2000, kCollisions}},
};

// Long values cost as much as dozens of short ones.
uint64_t PartsOf(const SoakPlan& plan) { return plan.long_one_in == 2 ? 1 : 10; }

uint64_t ShareOf(const SoakPlan& plan) {
  uint64_t parts = 0;
  for (const Case& each : kCases) parts += PartsOf(each.plan);
  return (operations * PartsOf(plan) + parts - 1) / parts;
}

class KvSoak : public testing::TestWithParam<Case> {};

TEST_P(KvSoak, EveryAnswerIsTheOracles) {
  const SoakPlan& plan = GetParam().plan;
  const uint64_t share = ShareOf(plan);
  Soak soak(plan, std::mt19937_64(plan.seed));
  const auto wrong = soak.Run(share);
  EXPECT_FALSE(wrong) << *wrong;
  EXPECT_GT(soak.found(), share / 20);
  const PartitionCounters& counters = soak.counters();
  EXPECT_GT(counters.expired, 0u);
  EXPECT_EQ(counters.evicted > 0, plan.mode == Mode::kCache);
  EXPECT_EQ(soak.refused() > 0, GetParam().fills);
}

INSTANTIATE_TEST_SUITE_P(Plans, KvSoak, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::engine::kv

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) sluice::engine::kv::operations = std::strtoull(argv[1], nullptr, 10);
  return RUN_ALL_TESTS();
}
