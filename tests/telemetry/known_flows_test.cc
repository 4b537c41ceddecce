// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the known flows with a map of all flows.
#include "engine/telemetry/known_flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/workload/random.h"
#include "traffic.h"

namespace sluice::engine::telemetry {
namespace {

using test::KeyOf;

KnownFlows::Flow FlowOf(uint32_t number, uint64_t hash, int64_t count) {
  return {KeyOf(number), hash, count, 0, 1, 1};
}

TEST(KnownFlows, KeepsTheLargestWithoutDuplicatesWhateverTheOrder) {
  // If the low bits have only eight values, all probe sequences collide.
  for (const uint64_t low_bits : {~uint64_t{0}, uint64_t{7}}) {
    engine::workload::Random random(5);
    KnownFlows known(20);
    std::map<uint32_t, int64_t> model;  // Counts of the known flows.
    const auto hash = [&](uint32_t number) {
      return (uint64_t{number} + 1) << 40 | (engine::workload::Mix(number) & low_bits & 0xffff);
    };
    for (int step = 0; step < 20'000; ++step) {
      const auto number = static_cast<uint32_t>(random.Below(100));
      const auto amount = static_cast<int64_t>(1 + random.Below(50));
      KnownFlows::Flow* const flow = known.Find(hash(number));
      ASSERT_EQ(flow != nullptr, model.contains(number));
      if (flow != nullptr) {
        if (step % 2 == 0) {
          known.Add(*flow, amount, 0, 1);
        } else {
          ASSERT_TRUE(known.AddIfKnown(hash(number), amount, 0));
        }
        model[number] += amount;
        continue;
      }
      ASSERT_FALSE(known.AddIfKnown(hash(number), amount, 0));
      if (!known.full()) {
        known.Insert(FlowOf(number, hash(number), amount));
        model[number] = amount;
      } else {
        ASSERT_LE(known.floor(), known.Least());
        const int64_t least = known.Least();
        ASSERT_EQ(known.floor(), least);
        const auto smallest = std::min_element(
            model.begin(), model.end(), [](auto& a, auto& b) { return a.second < b.second; });
        ASSERT_EQ(least, smallest->second);
        known.Insert(FlowOf(number, hash(number), least + amount));
        // If several flows are the smallest, any of them may have been removed.
        for (auto it = model.begin(); it != model.end(); ++it) {
          if (known.Find(hash(it->first)) == nullptr) {
            ASSERT_EQ(it->second, least);
            model.erase(it);
            break;
          }
        }
        model[number] = least + amount;
      }
      ASSERT_EQ(known.flows().size(), model.size());
    }
    std::set<uint32_t> seen;
    for (const KnownFlows::Flow& flow : known.flows()) {
      const auto at = std::find_if(model.begin(), model.end(), [&](const auto& entry) {
        return KeyOf(entry.first) == flow.key;
      });
      ASSERT_NE(at, model.end());
      EXPECT_EQ(at->second, flow.count);
      EXPECT_TRUE(seen.insert(at->first).second) << "twice";
    }
    EXPECT_EQ(seen.size(), model.size());
    EXPECT_FALSE(known.complete());
    known.Clear();
    EXPECT_TRUE(known.complete());
    EXPECT_EQ(known.Find(hash(1)), nullptr);
  }
}

}  // namespace
}  // namespace sluice::engine::telemetry
