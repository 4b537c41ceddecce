// SPDX-License-Identifier: BSD-3-Clause
//
// Tests processors in virtual time: sequential programs that wait in window operations. Many of
// them run concurrently.
#include "simulation/processor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fabric/window.h"

namespace sluice::simulation {
namespace {

using namespace fabric::literals;  // NOLINT
using bar::Line;

Line LineOf(uint64_t number) {
  Line line;
  line.word[0] = number;
  return line;
}

struct Model {
  explicit Model(fabric::NicLines lines, uint32_t hosts = 2) : pair(queue, Parameters(lines)) {
    while (pair.hosts() < hosts) pair.AddHost();
    for (uint32_t i = 0; i < hosts; ++i)
      processors.push_back(std::make_unique<Processor>(queue, pair.host(i)));
  }
  static fabric::WindowParameters Parameters(fabric::NicLines lines) {
    fabric::WindowParameters parameters;
    parameters.lines = 4;
    parameters.nic_lines = lines;
    return parameters;
  }
  fabric::EventQueue queue;
  fabric::WindowPair pair;
  std::vector<std::unique_ptr<Processor>> processors;
};

TEST(Processor, ReadsOfSeveralOverlapAndEachTakesItsOwnTime) {
  Model model(fabric::NicLines::kUncached, 3);
  std::vector<Picoseconds> done(3);
  for (uint32_t i = 0; i < 3; ++i) {
    model.processors[i]->Start([&, i] {
      for (int read = 0; read < 4; ++read) model.pair.host(i).ReadUncached(0, 0);
      done[i] = model.processors[i]->now();
    });
  }
  model.queue.Run();
  // Simultaneous requests are sent one after another: 24 bytes at 227.4 Gb/s take less than 1 ns.
  for (const Picoseconds at : done) {
    EXPECT_GE(at, 3000_ns);
    EXPECT_LT(at, 3010_ns);
  }
  for (const auto& processor : model.processors) EXPECT_TRUE(processor->finished());
}

TEST(Processor, WaitsForItsOwnReadAlthoughAPrefetchEndsBefore) {
  Model model(fabric::NicLines::kWriteThrough);
  model.pair.nic().Post(1, LineOf(7));
  model.queue.Run();
  Processor& processor = *model.processors[0];
  Picoseconds took = 0;
  uint64_t seen = 0;
  processor.Start([&] {
    model.pair.host(0).Prefetch(0);
    processor.Compute(400_ns);
    const Picoseconds began = processor.now();
    seen = model.pair.host(0).Peek(1);
    took = processor.now() - began;
  });
  model.queue.Run();
  EXPECT_EQ(seen, 7u);
  EXPECT_GE(took, 750_ns);
}

TEST(Processor, SeesMemoryAsItIsAtTheTimeOfItsClock) {
  Model model(fabric::NicLines::kUncached);
  int shared = 0;
  std::vector<int> seen;
  model.processors[0]->Start([&] {
    model.processors[0]->Compute(100_ns);
    shared = 1;
    model.processors[0]->Compute(100_ns);
    shared = 2;
  });
  model.processors[1]->Start([&] {
    for (int i = 0; i < 5; ++i) {
      seen.push_back(shared);
      model.processors[1]->Compute(60_ns);
    }
  });
  model.queue.Run();
  EXPECT_EQ(seen, (std::vector<int>{0, 0, 1, 1, 2}));  // The times are 0, 60, 120, 180 and 240 ns.
}

TEST(Processor, WaitsUntilATimeOrASignalWhicheverComesFirst) {
  Model model(fabric::NicLines::kPushed);
  Processor& processor = *model.processors[0];
  std::vector<std::string> log;
  const auto wait = [&](Picoseconds until) {
    const bool signalled = processor.Wait(until);
    log.push_back((signalled ? "signal " : "time ") + std::to_string(processor.now() / 1000));
  };
  processor.Start([&] {
    wait(500_ns);
    wait(5_us);
    wait(5_us);
    processor.Compute(1_us);  // The next signal arrives during this time and must not be lost.
    wait(20_us);
    wait(Processor::kForever);
  });
  model.queue.At(800_ns, [&] { processor.Signal(); });
  model.queue.At(5500_ns, [&] { processor.Signal(); });
  model.queue.At(9_us, [&] { processor.Signal(); });
  model.queue.Run();
  EXPECT_EQ(log, (std::vector<std::string>{"time 500", "signal 800", "time 5000", "signal 6000",
                                           "signal 9000"}));
  EXPECT_TRUE(processor.finished());
}

TEST(Processor, ArrivalsAndInterruptsAreSignals) {
  Model model(fabric::NicLines::kPushed);
  model.pair.AssignLine(2, 1);
  std::vector<Picoseconds> woken;
  model.processors[1]->Start([&] {
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(model.processors[1]->Wait());
      woken.push_back(model.processors[1]->now());
    }
  });
  model.pair.nic().Post(2, LineOf(1));
  model.pair.nic().Interrupt(1);
  model.queue.Run();
  // The NIC sent the interrupt 80 ns later, at the end of its post.
  EXPECT_EQ(woken, (std::vector<Picoseconds>{379_ns, 1680_ns}));
}

TEST(Processor, LeavesArrivalsForLaterWhileItDoesNotWatchItsLines) {
  Model model(fabric::NicLines::kPushed);
  Processor& processor = *model.processors[0];
  std::vector<Picoseconds> woken;
  processor.Start([&] {
    EXPECT_FALSE(processor.WaitForSignal(1_us));
    woken.push_back(processor.now());
    EXPECT_TRUE(processor.Wait(9_us));
    woken.push_back(processor.now());
    EXPECT_TRUE(processor.WaitForSignal(9_us));
    woken.push_back(processor.now());
  });
  model.pair.nic().Post(0, LineOf(1));
  model.queue.At(2_us, [&] { processor.Signal(); });
  model.queue.Run();
  EXPECT_EQ(woken, (std::vector<Picoseconds>{1_us, 1_us, 2_us}));
}

TEST(Processor, LooksAtPushedLinesAfterTheTimeThatALookTakes) {
  Model model(fabric::NicLines::kPushed);
  std::vector<uint64_t> seen;
  model.processors[0]->Start([&] {
    model.processors[0]->Compute(350_ns);
    seen.push_back(model.pair.host(0).Peek(0));  // Ends at 390 ns, after the arrival at 379 ns.
  });
  model.processors[1]->Start([&] {
    model.processors[1]->Compute(330_ns);
    seen.push_back(model.pair.host(1).Peek(0));  // Ends at 370 ns.
  });
  model.pair.nic().Post(0, LineOf(7));
  model.queue.Run();
  EXPECT_EQ(seen, (std::vector<uint64_t>{0, 7}));
}

TEST(Processor, AProgramThatNeverEndsIsUnwound) {
  auto alive = std::make_shared<int>(1);
  {
    Model model(fabric::NicLines::kPushed);
    model.processors[0]->Start([&, alive] {
      const std::shared_ptr<int> held = alive;
      model.processors[0]->Wait();
    });
    model.queue.Run();
    EXPECT_GT(alive.use_count(), 1);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace sluice::simulation
