// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the stepping thread with requests from other threads. Runs under ThreadSanitizer; needs no
// EAL.
#include "emulator/runner.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../waiting.h"
#include "bar/bar.h"
#include "emulator/gen.h"
#include "rig.h"

namespace sluice::emulator {
namespace {

constexpr uint64_t kTscHz = 2'000'000'000;  // Affects only the pace of the model's clock.

std::unique_ptr<Rig> Source(double rate_pps = 0, uint64_t count = 0) {
  GeneratorOptions options;
  options.rate_pps = rate_pps;
  options.count = count;
  std::string error;
  return std::make_unique<Rig>(GeneratorWire::Create(options, VerifyMode::kSampled, &error));
}

RunnerOptions Options() {
  return {.thread_name = "model-test", .cpus = {}, .tsc_hz = kTscHz, .on_start = {}, .on_end = {}};
}

uint64_t Value(Runner& runner, const std::string& name) {
  const auto values = runner.Read();
  for (size_t i = 0; i < values.size(); ++i) {
    if (runner.names()[i] == name) return values[i];
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

/// Enables or disables the wire. Retries if the runner's thread does not get a CPU in time.
bool Switch(Runner& runner, bool on) {
  return Eventually([&] { return runner.EnableWire(on); });
}

TEST(Runner, StepsTheModelUntilItIsDestroyed) {
  auto rig = Source();
  {
    Runner runner(rig->stepper(), Options());
    ASSERT_TRUE(Switch(runner, true));
    while (Value(runner, "wire_returned") < 10'000) {
    }
    const uint64_t busy_cycles = Value(runner, "model_busy_cycles");
    EXPECT_GT(busy_cycles, 0u);
    EXPECT_GE(Value(runner, "model_total_cycles"), busy_cycles) << "read later";
    EXPECT_EQ(Value(runner, "wire_corrupted"), 0u);
  }
  EXPECT_FALSE(rig->device.time_went_back);
}

TEST(Runner, EnableWireReturnsWhenItHasTakenEffect) {
  auto rig = Source();
  Runner runner(rig->stepper(), Options());
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(Switch(runner, true));
    ASSERT_TRUE(Switch(runner, false));
    const uint64_t offered = Value(runner, "wire_offered");
    const uint64_t later = Value(runner, "wire_offered");
    ASSERT_EQ(offered, later);
  }
}

// Measures CPU time, which load from other programs can only reduce.
TEST(Runner, LeavesTheCpuToOthersWhileNoHostUsesTheModel) {
  constexpr std::chrono::milliseconds kRest{500};
  auto rig = Source();
  Runner runner(rig->stepper(), Options());
  {
    const Runner::Hold hold(runner);
    rig->stepper().SetMastering(false);
  }
  runner.Read();  // Returns after the model has been stepped.
  const std::clock_t begin = std::clock();
  std::this_thread::sleep_for(kRest);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 0.25);
  bar::Bar bar(&rig->queue(), 4096);
  bar.Write64(8, 7);
  EXPECT_EQ(bar.Read64(8), 7u) << "registers are answered";
  {
    const Runner::Hold hold(runner);
    rig->stepper().SetMastering(true);
  }
  ASSERT_TRUE(Switch(runner, true));
  while (Value(runner, "wire_returned") < 1000) {
  }
}

TEST(Runner, AnswersRegisterReadsAndRequestsOfManyThreads) {
  auto rig = Source();
  Runner runner(rig->stepper(), Options());
  std::vector<std::thread> threads;
  std::atomic<bool> good{true};
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      bar::Bar bar(&rig->queue(), 4096);
      for (uint32_t i = 0; i < 100; ++i) {
        bar.Write32(t * 4, i);
        if (bar.Read32(t * 4) != i) good = false;
        if (t == 0) runner.EnableWire(i % 2 == 0);
        if (t == 1) runner.Read();
        if (t == 2) static_cast<void>(runner.LinkUp());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(good);
}

TEST(Runner, MayBeDestroyedAtAnyMoment) {
  for (int i = 0; i < 50; ++i) {
    auto rig = Source();
    Runner runner(rig->stepper(), Options());
    if (i % 2 == 0) runner.EnableWire(true);
  }
}

TEST(Runner, IsSteppedByWhoeverCallsAndOneThreadAtATime) {
  auto rig = Source();
  std::atomic<int> stepping{0};
  rig->device.transform = [&](Bytes&) {
    EXPECT_EQ(stepping.fetch_add(1), 0) << "two threads stepped the model";
    stepping.fetch_sub(1);
    return true;
  };
  Runner runner(rig->stepper(), Options());
  ASSERT_TRUE(Switch(runner, true));
  std::atomic<bool> stop{false};
  std::array<std::atomic<uint32_t>, 3> stepped{};
  std::vector<std::thread> others;
  for (std::atomic<uint32_t>& own : stepped) {
    others.emplace_back([&] {
      while (!stop) {
        if (runner.TurnForOther()) ++own;
        std::this_thread::yield();
      }
    });
  }
  for (const std::atomic<uint32_t>& turns : stepped) {
    while (turns < 20) std::this_thread::yield();
  }
  EXPECT_TRUE(Switch(runner, false));
  EXPECT_GT(Value(runner, "wire_returned"), 0u);
  EXPECT_EQ(Value(runner, "wire_corrupted"), 0u);
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_FALSE(rig->device.time_went_back);
}

TEST(Runner, GoesOnByItselfWhenTheOthersStop) {
  auto rig = Source();
  Runner runner(rig->stepper(), Options());
  ASSERT_TRUE(Switch(runner, true));
  while (runner.TurnForOther() == false) {
  }
  const uint64_t returned = Value(runner, "wire_returned");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Value(runner, "wire_returned") == returned) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  EXPECT_TRUE(Switch(runner, false));
}

TEST(Runner, ReportsTheLastValuesWithinABoundedTimeWhenNobodyStepsTheModel) {
  auto rig = Source();
  Runner runner(rig->stepper(), Options());
  ASSERT_TRUE(Switch(runner, true));
  const uint64_t cycles = Value(runner, "model_total_cycles");
  const Runner::Hold hold(runner);
  EXPECT_GE(Value(runner, "model_total_cycles"), cycles);  // This call times out.
  EXPECT_FALSE(runner.EnableWire(false));
}

TEST(Runner, WhileItIsHeldTheDeviceMayBeReplacedAndCountersGoOn) {
  auto rig = Source();
  std::array<FakeDevice, 8> next;
  Runner runner(rig->stepper(), Options());
  uint64_t returned = 0;
  for (FakeDevice& device : next) {
    device.time_ns = 0;
    ASSERT_TRUE(Switch(runner, true));
    while (Value(runner, "wire_returned") < returned + 1000) {
    }
    ASSERT_TRUE(Switch(runner, false));
    {
      const Runner::Hold hold(runner);
      rig->stepper().Connect(nullptr, device);
    }
    const uint64_t now = Value(runner, "wire_returned");
    EXPECT_GE(now, returned + 1000);
    EXPECT_EQ(Value(runner, "wire_outstanding"), 0u)
        << "frames held by the old device are abandoned";
    EXPECT_EQ(Value(runner, "wire_accepted"), now + Value(runner, "wire_abandoned"));
    EXPECT_EQ(Value(runner, "model_rx_frames"), Value(runner, "wire_accepted"));
    returned = now;
  }
}

}  // namespace
}  // namespace sluice::emulator
