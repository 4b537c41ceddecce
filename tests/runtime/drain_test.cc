// SPDX-License-Identifier: BSD-3-Clause
//
// The end of a run: who decides it, and how long missing frames are waited for.
#include "runtime/drain.h"

#include <gtest/gtest.h>

#include "runtime/worker.h"

namespace sluice::runtime {
namespace {

RunFigures Figures(uint64_t received, uint64_t accepted, uint64_t returned) {
  RunFigures run;
  run.final.counters.rx_pkts = received;
  run.port_final = PortStats({{"wire_offered", accepted},
                              {"wire_returned", returned},
                              {"wire_outstanding", accepted - returned}});
  return run;
}

TEST(Drain, IsOverAMomentAfterTheLastFrameCameBack) {
  DrainWatch watch(100);
  EXPECT_FALSE(watch.Over(Figures(500, 500, 500), 100));
  EXPECT_FALSE(watch.Over(Figures(500, 500, 500), 100.009));
  EXPECT_TRUE(watch.Over(Figures(500, 500, 500), 100.011));
}

TEST(Drain, OutlastsAPauseOfADeviceThatWaitsForACpu) {
  DrainWatch watch(100);
  EXPECT_FALSE(watch.Over(Figures(400, 500, 400), 100));
  EXPECT_FALSE(watch.Over(Figures(400, 500, 400), 101.9)) << "100 frames are missing";
  EXPECT_FALSE(watch.Over(Figures(450, 500, 420), 101.95));
  EXPECT_FALSE(watch.Over(Figures(500, 500, 500), 103.9)) << "they came again from 101.95 on";
  EXPECT_TRUE(watch.Over(Figures(500, 500, 500), 103.92));
}

TEST(Drain, EndsTwoSecondsAfterTheLastMovementIfFramesAreLost) {
  DrainWatch watch(100);
  EXPECT_FALSE(watch.Over(Figures(499, 500, 499), 101));
  EXPECT_FALSE(watch.Over(Figures(499, 500, 499), 102.9));
  EXPECT_TRUE(watch.Over(Figures(499, 500, 499), 103.1));
}

TEST(Drain, WaitsForNoFrameThatIsUnderADrop) {
  RunFigures run = Figures(500, 500, 440);
  run.final.counters.consumed_pkts = 50;
  run.final.counters.tx_full = 10;
  DrainWatch watch(100);
  EXPECT_FALSE(watch.Over(run, 100));
  EXPECT_TRUE(watch.Over(run, 100.011));
}

TEST(Drain, OfAPortWithoutASourceIsAQuietMoment) {
  DrainWatch watch(100);
  RunFigures run;
  run.final.counters.rx_pkts = 7;
  EXPECT_FALSE(watch.Over(run, 100.05));
  EXPECT_TRUE(watch.Over(run, 100.07));
}

struct Pass {
  packet::Verdict Process(packet::Frame&, uint64_t) { return packet::kForward; }
};

// Silent for `silent_cycles`, then says that it is time to leave.
struct SilentQueue {
  template <typename Engine>
  uint32_t Poll(Engine&, uint64_t now) {
    if (begin == 0) begin = now;
    ++polls;
    if (now - begin > silent_cycles) control.stop.store(true);
    return 0;
  }
  bool LinkUp() const { return true; }
  uint64_t waited_cycles() const { return 0; }
  const nic::QueueCounters& counters() const { return none; }
  void Drain() { drained = true; }

  WorkerControl& control;
  uint64_t silent_cycles;
  uint64_t begin = 0;
  uint64_t polls = 0;
  bool drained = false;
  nic::QueueCounters none{};
};

TEST(Worker, LeavesWhenItIsToldAndNotBecauseOfSilence) {
  WorkerControl control;
  SilentQueue queue{control, 100'000'000};  // Tens of milliseconds.
  Pass engine;
  Work(queue, engine, control);
  EXPECT_TRUE(queue.drained);
  EXPECT_GE(control.total_cycles.load(), queue.silent_cycles);
  EXPECT_EQ(control.busy_cycles.load(), 0u) << "no poll handled a frame";
}

TEST(Worker, LooksAtStopBeforeItsFirstPoll) {
  WorkerControl control;
  control.stop.store(true);
  SilentQueue queue{control, 0};
  Pass engine;
  Work(queue, engine, control);
  EXPECT_EQ(queue.polls, 0u);
  EXPECT_TRUE(queue.drained);
}

}  // namespace
}  // namespace sluice::runtime
