// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the driver's mirror of the flow table with docs/enso-hardware.md, "Steering": hash
// vectors, four rows per key, no eviction and no deletion.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "net_enso/enso_flow_table.h"

namespace sluice::net_enso {
namespace {

using Result = FlowTable::Result;
constexpr uint32_t kMiss = regs::enso::kUnbind;

constexpr uint32_t Ip(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

TEST(FlowRow, EqualsTheVectorOfTheReference) {
  const FlowKey udp{.dst_ip = Ip(192, 168, 0, 0), .dst_port = 80};
  EXPECT_EQ(FlowRow(udp, 0), 1825u);
  EXPECT_EQ(FlowRow(udp, 1), 506u);
  EXPECT_EQ(FlowRow(udp, 2), 273u);
  EXPECT_EQ(FlowRow(udp, 3), 1524u);
  const FlowKey tcp{
      .dst_ip = Ip(192, 168, 0, 0), .src_ip = Ip(10, 0, 0, 1), .dst_port = 80, .src_port = 8080};
  EXPECT_EQ(FlowRow(tcp, 0), 0x3707'eb2c % 2048u);
}

TEST(MaskFlow, KeepsWhatTheNicLooksUp) {
  const FlowKey flow{.dst_ip = 1, .src_ip = 2, .dst_port = 3, .src_port = 4};
  EXPECT_EQ(MaskFlow(flow, IPPROTO_TCP), flow);
  EXPECT_EQ(MaskFlow(flow, IPPROTO_UDP), (FlowKey{.dst_ip = 1, .dst_port = 3}));
  EXPECT_EQ(MaskFlow(flow, IPPROTO_ICMP), (FlowKey{.dst_ip = 1}));
}

TEST(FlowTable, FindsWhatWasInserted) {
  FlowTable table;
  const FlowKey key{.dst_ip = 1, .dst_port = 2};
  EXPECT_EQ(table.Find(key), kMiss);
  EXPECT_EQ(table.Insert(key, 7), Result::kStored);
  EXPECT_EQ(table.Find(key), 7u);
  EXPECT_EQ(table.KeysOf(7).size(), 1u);
}

TEST(FlowTable, RefusesAKeyThatPointsElsewhere) {
  FlowTable table;
  const FlowKey key{.dst_ip = 1};
  ASSERT_EQ(table.Insert(key, 7), Result::kStored);
  EXPECT_EQ(table.Insert(key, 8), Result::kExists);
  EXPECT_EQ(table.Find(key), 7u);
  EXPECT_EQ(table.Insert(key, 7), Result::kStored) << "again to the same pipe changes nothing";
}

TEST(FlowTable, UnboundKeyMissesAndCanBeBoundAgain) {
  FlowTable table;
  const FlowKey key{.dst_ip = 1};
  ASSERT_EQ(table.Insert(key, 7), Result::kStored);
  EXPECT_FALSE(table.Unbind(key, 8)) << "not this pipe's";
  EXPECT_TRUE(table.Unbind(key, 7));
  EXPECT_FALSE(table.Unbind(key, 7));
  EXPECT_EQ(table.Find(key), kMiss);
  EXPECT_EQ(table.Insert(key, 9), Result::kStored);
}

TEST(FlowTable, UnbindingDoesNotFreeARow) {
  // Fills the table until the first refusal, then unbinds all keys. The refused key must still have
  // no row, because the hardware never deletes an entry.
  FlowTable table;
  std::mt19937 random(1);
  std::vector<FlowKey> stored;
  FlowKey refused;
  while (true) {
    refused = {.dst_ip = static_cast<uint32_t>(random()),
               .dst_port = static_cast<uint16_t>(random())};
    if (table.Insert(refused, 1) == Result::kFull) break;
    stored.push_back(refused);
  }
  for (const FlowKey& key : stored) table.Unbind(key, 1);
  EXPECT_EQ(table.Insert(refused, 1), Result::kFull);
}

/// A small model of the hardware table that records the used rows and their keys. It follows only
/// docs/enso-hardware.md.
class RowBook {
 public:
  bool Stores(const FlowKey& key) {
    for (uint32_t table = 0; table < 4; ++table) {
      const auto it = rows_.find({table, FlowRow(key, table)});
      if (it != rows_.end() && it->second == key) return true;
    }
    for (uint32_t table = 0; table < 4; ++table) {
      if (rows_.try_emplace({table, FlowRow(key, table)}, key).second) return true;
    }
    return false;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, FlowKey> rows_;
};

TEST(FlowTable, RefusesExactlyWhatTheHardwareWouldLose) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    FlowTable table;
    RowBook hardware;
    uint32_t lost = 0;
    uint32_t first_lost = 0;
    for (uint32_t i = 0; i < 6000; ++i) {
      const FlowKey key{.dst_ip = static_cast<uint32_t>(random()),
                        .src_ip = static_cast<uint32_t>(random()),
                        .dst_port = static_cast<uint16_t>(random()),
                        .src_port = static_cast<uint16_t>(random())};
      const bool stores = hardware.Stores(key);
      ASSERT_EQ(table.Check(key, i), stores ? Result::kStored : Result::kFull);
      ASSERT_EQ(table.Insert(key, i), stores ? Result::kStored : Result::kFull) << "key " << i;
      ASSERT_EQ(table.Find(key), stores ? i : kMiss);
      if (!stores && ++lost == 1) first_lost = i;
    }
    EXPECT_GT(lost, 0u);
    EXPECT_GT(first_lost, 1000u) << "8192 rows: the RTL's first loss was at key 2538";
  }
}

}  // namespace
}  // namespace sluice::net_enso
