// SPDX-License-Identifier: BSD-3-Clause
#include "transport/stack.h"

#include <gtest/gtest.h>

#include <thread>

#include "packet/bytes.h"
#include "packet/parse.h"
#include "transport/siphash.h"
#include "wire.h"

namespace sluice::transport {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(SipHashTest, MatchesThePublishedVectors) {
  const SipKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(SipHash(key, {}), 0x726fdb47dd0e0e31);
  const uint64_t words[] = {0x0706050403020100};
  EXPECT_EQ(SipHash(key, words), 0x93f5f5799a932462);
}

class StackTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ip, StackTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "v6" : "v4"; });

TEST_P(StackTest, TransfersBothWaysAndCloses) {
  Wire wire;
  wire.client().to_send = 3'000'000;
  wire.server().to_send = 2'000'000;
  const ConnectionId id = wire.Connect(GetParam());
  wire.Run(10 * kSecond, [&] { return wire.client().closed == 1 && wire.server().closed == 1; });
  EXPECT_EQ(wire.client().connection(id).received, 2'000'000u);
  EXPECT_EQ(wire.client().connection(id).end, End::kFinished);
  ASSERT_EQ(wire.server().connections().size(), 1u);
  const Host::Connection& at_server = wire.server().connections().begin()->second;
  EXPECT_EQ(at_server.received, 3'000'000u);
  EXPECT_EQ(at_server.end, End::kFinished);
  EXPECT_EQ(at_server.peer.local_port, 80);
  EXPECT_EQ(wire.client().stack().connections(), 0u);
  EXPECT_EQ(wire.server().stack().counters().finished, 1u);
  EXPECT_EQ(wire.server().stack().counters().retransmitted, 0u);
  EXPECT_GT(wire.client().room_freed, 0u);
  // Full segments, and at most one acknowledgement for each two of them.
  EXPECT_LT(wire.frames, 5'000'000 / 1400 * 3 / 2 + 1000);
}

}  // namespace
}  // namespace sluice::transport
