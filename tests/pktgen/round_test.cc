// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how a worker and the main thread synchronize at the end of a round, whatever the order in
// which they are scheduled.
#include "round.h"

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "generator.h"
#include "runtime/tsc_rate.h"
#include "worker.h"

namespace sluice::pktgen {
namespace {

/// Accepts all frames and discards them.
struct Queue {
  uint32_t Emit(const engine::pktgen::Sender&, uint32_t planned) {
    emitted += planned;
    return planned;
  }
  uint64_t emitted = 0;
};

// 2000 frames are due within 0.2 s. The worker is scheduled only after the end of the round.
TEST(PktgenRound, EndsWithEveryFrameSentOrUnsentThoughTheWorkerComesLate) {
  Settings settings;
  settings.settle_s = 0.01;
  engine::pktgen::StreamSpec spec;
  spec.name = "a";
  spec.phases = {{0, engine::pktgen::kNever, {engine::pktgen::Rate::Unit::kPackets, 1e4}}};
  Generator generator(settings, 1, 0, runtime::MeasureTscHz());
  std::string error;
  const auto round = generator.Begin({spec}, 200'000'000'000, &error);
  ASSERT_NE(round, nullptr) << error;
  Queue queue;
  std::atomic<bool> settled{false};
  std::jthread thread([&] {
    Worker worker(generator, 0, "packetized");
    while (round->stop_ps() == engine::pktgen::kNever) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    while (!settled) worker.Generate(queue, 0);
  });
  round->Start(rte_rdtsc());
  while (!round->Over(rte_rdtsc())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  round->Settle();
  settled = true;
  thread.join();
  const engine::pktgen::StreamResult sum = round->Finish(0).Sum();
  EXPECT_EQ(sum.sent, queue.emitted);
  EXPECT_EQ(sum.sent + sum.unsent, 2000u);
  EXPECT_DOUBLE_EQ(round->sending_s(), 0.2);
}

}  // namespace
}  // namespace sluice::pktgen
