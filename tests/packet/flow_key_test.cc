// SPDX-License-Identifier: BSD-3-Clause
#include "packet/flow_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>

#include "fixtures.h"

namespace sluice::packet {
namespace {

std::optional<FlowKey> KeyOf(const test::Bytes& frame) {
  const test::ExactBuffer buffer(frame);
  return FlowKey::Of(buffer.data(), Parse(buffer.data(), buffer.size()));
}

TEST(FlowKey, HoldsTheFiveTuple) {
  const auto v4 = KeyOf(test::kUdp4);
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->source, (Ipv6Address{10, 0, 0, 1}));
  EXPECT_EQ(v4->destination, (Ipv6Address{10, 0, 0, 2}));
  EXPECT_EQ(v4->source_port, 1000);
  EXPECT_EQ(v4->destination_port, 2000);
  EXPECT_EQ(v4->protocol, 17);
  EXPECT_EQ(v4->ip_version, 4);
  const auto v6 = KeyOf(test::kTcp6Extensions);
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->source, (Ipv6Address{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(v6->source_port, 40000);
  EXPECT_EQ(v6->destination_port, 443);
  EXPECT_EQ(v6->protocol, 6);
  EXPECT_EQ(v6->ip_version, 6);
}

TEST(FlowKey, TagsAndOptionsDoNotMatter) {
  EXPECT_EQ(KeyOf(test::kVlanUdp4), KeyOf(test::kUdp4));
  EXPECT_EQ(KeyOf(test::kUdp4IpOptions), KeyOf(test::kUdp4));
  EXPECT_EQ(KeyOf(test::kQinQUdp6), KeyOf(test::kUdp6));
}

TEST(FlowKey, AllFragmentsOfADatagramShareOne) {
  EXPECT_EQ(KeyOf(test::kUdp4FirstFragment), KeyOf(test::kUdp4LaterFragment));
  EXPECT_EQ(KeyOf(test::kUdp6FirstFragment), KeyOf(test::kUdp6LaterFragment));
  EXPECT_NE(KeyOf(test::kUdp4FirstFragment), KeyOf(test::kUdp4));
}

TEST(FlowKey, NothingForWhatIsNotIp) {
  EXPECT_FALSE(KeyOf(test::kArpRequest));
  EXPECT_FALSE(KeyOf(test::kLldp));
  EXPECT_FALSE(KeyOf({}));
}

TEST(FlowKey, OfIpv4IsTwoWords) {
  const FlowKey key = *KeyOf(test::kUdp4);
  const Ipv4Flow flow = Ipv4Flow::Of(key);
  EXPECT_EQ(flow.addresses, Load<uint64_t>(test::kUdp4.data() + 26));
  EXPECT_EQ(flow.ports, 1000u | 2000u << 16 | uint64_t{17} << 32);
  EXPECT_EQ(flow.Key(), key);
}

TEST(FlowKey, ReversesToTheOtherDirection) {
  const FlowKey key = *KeyOf(test::kUdp4);
  const FlowKey reversed = key.Reversed();
  EXPECT_EQ(reversed.source, key.destination);
  EXPECT_EQ(reversed.destination_port, key.source_port);
  EXPECT_EQ(reversed.Reversed(), key);
  EXPECT_NE(reversed, key);
}

TEST(FlowKey, HashesDependOnEveryBitAndOnTheSeed) {
  const FlowKey key = *KeyOf(test::kUdp6);
  std::unordered_set<uint64_t> hashes{HashFlowKey(key)};
  for (size_t bit = 0; bit < sizeof(key) * 8; ++bit) {
    FlowKey other = key;
    reinterpret_cast<uint8_t*>(&other)[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    hashes.insert(HashFlowKey(other));
  }
  EXPECT_EQ(hashes.size(), 1 + sizeof(key) * 8);
  EXPECT_NE(HashFlowKey(key, 1), HashFlowKey(key, 2));
  EXPECT_EQ(HashFlowKey(key, 1), HashFlowKey(key, 1));
}

// Distributes 65536 sequential ports over 4096 buckets by the low bits of the hash, which is 16 per
// bucket on average. With a Poisson distribution, no bucket would reach 64.
TEST(FlowKey, HashSpreadsSequentialPorts) {
  FlowKey key = *KeyOf(test::kUdp4);
  std::vector<uint32_t> buckets(4096);
  for (uint32_t port = 0; port <= 0xffff; ++port) {
    key.source_port = static_cast<uint16_t>(port);
    ++buckets[std::hash<FlowKey>{}(key) % buckets.size()];
  }
  EXPECT_LT(*std::max_element(buckets.begin(), buckets.end()), 64u);
}

}  // namespace
}  // namespace sluice::packet
