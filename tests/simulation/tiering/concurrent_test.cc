// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a host and an agent in separate threads. Items transfer the ownership of bulk memory, so
// that no memory is read and written concurrently.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "world.h"

namespace sluice::simulation::tiering {
namespace {

using std::chrono::steady_clock;

template <typename C>
class TieringThreads : public testing::Test {};
using Channels = testing::Types<test::Wave, test::Swap>;
TYPED_TEST_SUITE(TieringThreads, Channels);

TYPED_TEST(TieringThreads, EveryTickIsAnsweredAndNothingIsDamaged) {
  constexpr uint32_t kPages = 2048;
  test::World<TypeParam> world(kPages, 384);
  for (Vpn page = 0; page != kPages; ++page) world.table.Touch(page);
  test::Programs programs(kPages);
  programs.Set(0, kPages, 0.01);
  programs.Set(1024, 256, 2);

  std::atomic<bool> stop = false;
  std::thread nic([&] {
    world.StartAgent();
    while (!stop.load(std::memory_order_relaxed)) {
      if (world.agent->Step() == 0) std::this_thread::yield();
    }
  });
  auto deadline = steady_clock::now();
  const auto poll_until = [&](auto&& done) {
    deadline = steady_clock::now() + std::chrono::seconds(60);
    while (!done() && steady_clock::now() < deadline) {
      world.host.Poll();
      std::this_thread::yield();
    }
    return done();
  };
  EXPECT_TRUE(poll_until([&] { return !world.host.alone(); }));
  for (uint32_t tick = 0; tick != 2 * kEpochTicks && steady_clock::now() < deadline; ++tick) {
    programs.RunTick(world.table);
    const uint64_t before = world.host.counters().decisions;
    world.host.Tick();
    EXPECT_TRUE(poll_until([&] { return world.host.counters().decisions != before; })) << tick;
  }
  stop.store(true, std::memory_order_relaxed);
  nic.join();

  EXPECT_EQ(world.agent->counters().damaged_pieces, 0u);
  EXPECT_EQ(world.agent->counters().losses, 0u);
  EXPECT_EQ(world.agent->learner().counters().invalid_records, 0u);
  EXPECT_EQ(world.host.counters().watchdog_expired, 0u);
  EXPECT_EQ(world.host.counters().decisions,
            world.host.counters().verdicts[static_cast<size_t>(Verdict::kUnderstood)]);
  EXPECT_GT(world.table.promoted(), 200u);
  EXPECT_EQ(world.table.Violation(), nullptr);
}

}  // namespace
}  // namespace sluice::simulation::tiering
