// SPDX-License-Identifier: BSD-3-Clause
//
// Tests when a run ends, and how long it waits for missing frames.
#include "runtime/drain.h"

#include <gtest/gtest.h>

#include <vector>

#include "nic/fake_queue.h"
#include "packet/engine.h"
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

// Polls every 10 ms and returns whether the run ends in a poll before or at `end_s`.
class Polls {
 public:
  bool EndBefore(const RunFigures& run, double end_s) {
    for (; now_s_ + 0.01 < end_s - 1e-9; now_s_ += 0.01) {
      if (watch_.Over(run, now_s_ + 0.01)) return true;
    }
    return EndAt(run, end_s);
  }
  bool EndAt(const RunFigures& run, double at_s) { return watch_.Over(run, now_s_ = at_s); }

 private:
  double now_s_ = 100;
  DrainWatch watch_{100};
};

TEST(Drain, IsOverAMomentAfterTheLastFrameCameBack) {
  Polls looks;
  EXPECT_FALSE(looks.EndAt(Figures(500, 500, 500), 100));
  EXPECT_FALSE(looks.EndAt(Figures(500, 500, 500), 100.009));
  EXPECT_TRUE(looks.EndAt(Figures(500, 500, 500), 100.011));
}

TEST(Drain, OutlastsAPauseOfADeviceThatWaitsForACpu) {
  Polls looks;
  EXPECT_FALSE(looks.EndBefore(Figures(400, 500, 400), 101.9)) << "100 frames are missing";
  EXPECT_FALSE(looks.EndBefore(Figures(450, 500, 420), 103.9)) << "some came";
  EXPECT_FALSE(looks.EndAt(Figures(500, 500, 500), 103.91)) << "the rest came";
  EXPECT_TRUE(looks.EndAt(Figures(500, 500, 500), 103.93));
}

TEST(Drain, EndsTwoSecondsAfterTheLastMovementIfFramesAreLost) {
  Polls looks;
  EXPECT_FALSE(looks.EndAt(Figures(499, 500, 499), 100.01));
  EXPECT_FALSE(looks.EndBefore(Figures(499, 500, 499), 101.99));
  EXPECT_TRUE(looks.EndBefore(Figures(499, 500, 499), 102.03));
}

TEST(Drain, OutlastsAPauseOfTheWholeMachine) {
  Polls looks;
  EXPECT_FALSE(looks.EndBefore(Figures(400, 500, 400), 101));
  EXPECT_FALSE(looks.EndAt(Figures(400, 500, 400), 110)) << "no thread had a CPU";
  EXPECT_FALSE(looks.EndBefore(Figures(400, 500, 400), 110.9));
  EXPECT_TRUE(looks.EndBefore(Figures(400, 500, 400), 111)) << "two seconds in all";
}

TEST(Drain, WaitsForNoFrameThatIsUnderADrop) {
  RunFigures run = Figures(500, 500, 440);
  run.final.counters.consumed_pkts = 50;
  run.final.counters.tx_full = 10;
  Polls looks;
  EXPECT_FALSE(looks.EndAt(run, 100));
  EXPECT_TRUE(looks.EndAt(run, 100.011));
}

TEST(Drain, OfAPortWithoutASourceIsAQuietMoment) {
  Polls looks;
  RunFigures run;
  run.final.counters.rx_pkts = 7;
  EXPECT_FALSE(looks.EndAt(run, 100.05));
  EXPECT_TRUE(looks.EndAt(run, 100.07));
}

struct Forwards : packet::Engine {
  packet::Verdict Process(packet::Frame&, uint64_t) { return packet::kForward; }
};

struct Pass final : Forwards {};

// Does not receive any frames for `silent_cycles`, and then asks the worker to stop.
struct SilentQueue : nic::FakeQueue {
  SilentQueue(WorkerControl& control, uint64_t silent_cycles)
      : control(control), silent_cycles(silent_cycles) {}

  template <typename Engine>
  uint32_t Poll(Engine&, uint64_t now) {
    if (begin == 0) begin = now;
    ++polls;
    if (now - begin > silent_cycles) control.stop.store(true);
    return 0;
  }
  packet::Outbox outbox() { return packet::Outbox::To(*this); }
  bool Send(const uint8_t*, uint32_t) {
    ++waiting;
    return true;
  }
  template <nic::FrameSource Source>
  uint32_t Emit(const Source&, uint32_t count) {
    emitted_at_poll.insert(emitted_at_poll.end(), count, polls);
    return count;
  }
  void FlushSent() {
    flushed_at_poll.insert(flushed_at_poll.end(), waiting, polls);
    waiting = 0;
  }
  void Drain() { drained = true; }

  WorkerControl& control;
  uint64_t silent_cycles;
  uint64_t begin = 0;
  uint64_t polls = 0;
  bool drained = false;
  uint32_t waiting = 0;  // Number of frames that the engine has sent and that have not been
                         // flushed.
  std::vector<uint64_t> flushed_at_poll;  // For each frame, the number of polls before its flush.
  std::vector<uint64_t> emitted_at_poll;  // For each frame that a generator had ready, the number
                                          // of polls before it was emitted.
};

TEST(Worker, LeavesWhenItIsToldAndNotBecauseOfSilence) {
  WorkerControl control;
  SilentQueue queue(control, 100'000'000);  // The queue is silent for tens of milliseconds.
  Pass engine;
  Work(queue, engine, control);
  EXPECT_TRUE(queue.drained);
  EXPECT_GE(control.total_cycles.load(), queue.silent_cycles);
  EXPECT_EQ(control.busy_cycles.load(), 0u) << "no poll handled a frame";
}

TEST(Worker, LooksAtStopBeforeItsFirstPoll) {
  WorkerControl control;
  control.stop.store(true);
  SilentQueue queue(control, 0);
  Pass engine;
  Work(queue, engine, control);
  EXPECT_EQ(queue.polls, 0u);
  EXPECT_TRUE(queue.drained);
}

TEST(Worker, TheTimeOfTheFirstBurstIsTheTimeAfterEnter) {
  struct Slow final : Forwards {
    void Enter() override {
      const uint64_t begin = rte_rdtsc();
      while ((entered = rte_rdtsc()) - begin < 1'000'000) continue;
    }
    uint64_t entered = 0;
  };
  WorkerControl control;
  SilentQueue queue(control, 0);
  Slow engine;
  Work(queue, engine, control);
  EXPECT_GE(queue.begin, engine.entered);
}

// Sends a frame in each of its callbacks.
struct SendsInCallbacks final : Forwards {
  void set_outbox(packet::Outbox given) override { outbox = given; }
  void Enter() override { Send(); }
  void AtRest(uint64_t) override { Send(); }
  void Leave() override { Send(); }
  void Send() { sent += outbox.Send(nullptr, 0); }
  packet::Outbox outbox;
  uint64_t sent = 0;
};

TEST(Worker, WhatAnEngineSendsLeavesThoughNothingIsReceived) {
  WorkerControl control;
  SilentQueue queue(control, 1'000'000);
  SendsInCallbacks engine;
  Work(queue, engine, control);
  EXPECT_GT(engine.sent, 2u);
  EXPECT_EQ(queue.waiting, 0u);
  ASSERT_EQ(queue.flushed_at_poll.size(), engine.sent) << "none was refused";
  EXPECT_EQ(queue.flushed_at_poll[0], 0u) << "sent on entering";
  EXPECT_EQ(queue.flushed_at_poll[1], 0u) << "sent at rest, before the first poll";
  EXPECT_EQ(queue.flushed_at_poll.back(), queue.polls) << "sent on leaving";
}

// Has a frame ready on every second call.
struct Generating final : Forwards {
  template <typename Queue>
  uint32_t Generate(Queue& queue, uint64_t) {
    return queue.Emit(nic::AnySource(), calls++ % 2);
  }
  uint64_t calls = 0;
};

TEST(Worker, AsksAGeneratorBeforeEveryPoll) {
  WorkerControl control;
  SilentQueue queue(control, 1'000'000);
  Generating engine;
  Work(queue, engine, control);
  EXPECT_EQ(engine.calls, queue.polls);
  ASSERT_EQ(queue.emitted_at_poll.size(), queue.polls / 2);
  for (uint64_t i = 0; i < queue.polls / 2; ++i) ASSERT_EQ(queue.emitted_at_poll[i], 2 * i + 1);
  EXPECT_GT(control.busy_cycles.load(), 0u) << "sending is work";
}

TEST(Outbox, ThatWasNeverGivenTakesNothing) {
  const uint8_t frame[60] = {};
  EXPECT_FALSE(packet::Outbox().Send(frame, sizeof(frame)));
}

}  // namespace
}  // namespace sluice::runtime
