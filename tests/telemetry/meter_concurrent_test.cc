// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a counting worker and a reader of epochs concurrently.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lab.h"

namespace sluice::engine::telemetry {
namespace {

TEST(MeterConcurrent, EveryPacketIsInOneEpochThatTheReaderTook) {
  constexpr uint64_t kBursts = 5'000;
  constexpr uint64_t kBurst = 16;
  for (const Pace pace : {Pace::kFixed, Pace::kAlwaysCorrect}) {
    ::sluice::engine::telemetry::Setup setup;
    setup.columns = 64;
    setup.level_columns = 16;
    setup.levels = 3;
    setup.level_top_k = 16;
    setup.top_k = 8;
    setup.pace = pace;
    setup.probability = 0.05;
    setup.epoch_ns = 1'000'000;
    Meter meter(setup, 0, test::kCyclesPerSecond, 0);
    Analyst analyst(setup, test::kCyclesPerSecond);
    std::atomic<bool> done = false;

    std::thread worker([&] {
      uint64_t now = 0;
      for (uint64_t burst = 0; burst < kBursts; ++burst) {
        meter.AtRest(now);
        for (uint64_t i = 0; i < kBurst; ++i) {
          auto bytes = test::FrameOf(static_cast<uint32_t>(burst * i % 100));
          packet::Frame frame{bytes.data(), test::kFrameBytes, 0, 0};
          packet::ProcessFrame(meter, frame, now);
        }
        now += 10'000;  // A hundred bursts per epoch.
      }
      while (!meter.Finish(now)) std::this_thread::yield();
      done.store(true, std::memory_order_release);
    });

    uint64_t packets = 0, epochs = 0, last = 0;
    for (bool finished = false; !finished;) {
      finished = done.load(std::memory_order_acquire);
      while (const Epoch* const epoch = meter.Closed()) {
        const EpochReport report = *analyst.Report({&epoch, 1});
        EXPECT_TRUE(epochs == 0 || report.number > last || finished);
        last = report.number;
        packets += report.total.pkts;
        ++epochs;
        meter.Release();
      }
      std::this_thread::yield();
    }
    worker.join();
    EXPECT_EQ(packets, kBursts * kBurst);
    EXPECT_GE(epochs, 2u);
  }
}

}  // namespace
}  // namespace sluice::engine::telemetry
