// SPDX-License-Identifier: BSD-3-Clause
//
// Counts connections from one thread while the worker that owns them modifies the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "engine/maglev/connections.h"

namespace sluice::engine::maglev {
namespace {

TEST(ConnectionTable, IsCountedByAnotherThreadWhileTheWorkerChangesIt) {
  constexpr uint32_t kSeconds = 1000;
  constexpr uint16_t kBackends = 10;
  ConnectionTable table(
      1 << 10,
      Timeouts{
          .tcp_s = 900, .tcp_opening_s = 30, .tcp_closing_s = 15, .udp_s = 30, .fragment_s = 30});
  std::atomic<uint32_t> clock{1};
  std::atomic<uint32_t> rounds{0};  // Number of counts that are finished.

  std::thread worker([&] {
    std::mt19937_64 random(1);
    // Continues until enough counts are finished, because the threads alternate if there is only
    // one core.
    for (uint32_t second = 1; second < kSeconds || rounds.load() < 100; ++second) {
      clock.store(second);
      table.Sweep(second);
      for (int i = 0; i < 200; ++i) {
        const uint64_t tag = (random() % 4096) * 0x9e37'79b9'7f4a'7c15;
        if (auto hit = table.Find(tag, 0, second)) {
          const uint64_t choice = random() % 16;
          ConnectionTable::Touch(hit->entry, choice == 1, choice == 2, {second, 2});
          choice == 3 ? table.Remove(hit->place) : table.Update(hit->place, hit->entry);
        } else {
          const auto state = random() % 2 ? ConnectionState::kOpening : ConnectionState::kUdp;
          const auto backend = static_cast<uint16_t>(random() % kBackends);
          table.Insert({tag, {backend, 1}, 0, 0, state}, {second, 0});
        }
      }
    }
  });

  uint64_t most = 0;
  while (rounds.load() < 100 || most == 0) {
    std::vector<uint32_t> counts(65536);
    const uint64_t live = table.CountByBackend(counts, clock.load());
    const auto strangers = counts.begin() + kBackends;
    EXPECT_EQ(std::accumulate(counts.begin(), strangers, uint64_t{0}), live);
    EXPECT_EQ(std::count(strangers, counts.end(), 0u), counts.end() - strangers);
    EXPECT_LE(live, table.capacity());
    most = std::max(most, live);
    rounds.fetch_add(1);
  }
  worker.join();
  EXPECT_GT(most, 0u);
}

}  // namespace
}  // namespace sluice::engine::maglev
