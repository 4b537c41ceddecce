// SPDX-License-Identifier: BSD-3-Clause
//
// Runs an engine that overrides every member of its contract (packet/engine.h) in a worker's loop,
// both alone and inside each layer. The calls of every member must reach the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/echo/echo.h"
#include "engine/neighbor/neighbor.h"
#include "nic/fake_queue.h"
#include "nic/own_frames.h"
#include "nic/reassembling.h"
#include "packet/engine.h"
#include "packet/own_addresses.h"
#include "runtime/published.h"
#include "runtime/worker.h"

namespace sluice::runtime {
namespace {

using Calls = std::vector<std::string>;

struct Own {
  bool IsOurMac(const uint8_t*) const { return true; }
  bool Owns(const packet::Ipv4Address&) const { return true; }
  bool Owns(const packet::Ipv6Address&) const { return true; }
};

/// The parts of a test that outlive the engine.
struct Rig {
  WorkerControl control;
  nic::FakeQueue queue;
  Calls calls;
};

/// Emits frames of zeros.
struct Zeros {
  uint32_t length(uint32_t) const { return 60; }
  void Write(uint32_t, uint8_t* to) const { std::fill_n(to, 60, 0); }
};

/// Records the calls of its hooks. Stops the worker at the first frame.
class Witness final : public packet::Engine {
 public:
  static constexpr std::array<std::string_view, 1> kDropReasons{"never"};
  static constexpr uint32_t kPollsPerRest = 1;
  static constexpr bool kWritesFrames = true;
  static constexpr bool kOwnFramesOnly = true;

  explicit Witness(Rig* rig) : rig_(rig) {}
  /// For WithTables.
  Witness(const std::atomic<const int*>*, Rig* rig) : rig_(rig) {}

  Own own() const { return {}; }
  std::string QueueError(const packet::CanEmit& can_emit) override {
    return can_emit(nullptr, 60) ? "" : "fault";
  }
  void set_outbox(packet::Outbox outbox) override {
    outbox_ = outbox;
    rig_->calls.emplace_back("set_outbox");
  }
  void set_counters(nic::QueueCounters& counters) override {
    EXPECT_EQ(&counters, &rig_->queue.counters());
    rig_->calls.emplace_back("set_counters");
  }
  void Enter() override { rig_->calls.emplace_back("Enter"); }
  void AtRest(uint64_t) override { rig_->calls.emplace_back("AtRest"); }
  template <typename Queue>
  uint32_t Generate(Queue& queue, uint64_t) {
    rig_->calls.emplace_back("Generate");
    return queue.Emit(Zeros(), 1);
  }
  void Prepare(const uint8_t*, uint32_t) override { rig_->calls.emplace_back("Prepare"); }
  packet::Verdict Process(packet::Frame& frame, uint64_t) {
    rig_->calls.emplace_back("Process");
    rig_->control.stop.store(true);
    EXPECT_TRUE(outbox_.Send(frame.data, frame.length));
    return packet::kForward;
  }
  void Leave() override { rig_->calls.emplace_back("Leave"); }

 private:
  Rig* rig_;
  packet::Outbox outbox_;
};

template <typename Engine>
void Check(Rig& rig, Engine& engine) {
  static_assert(packet::Sender<Engine> && packet::PreparingEngine<Engine>);
  static_assert(packet::HostEngine<Engine>);
  static_assert(Engine::kPollsPerRest == 1 && Engine::kWritesFrames && Engine::kOwnFramesOnly);
  static_assert(Engine::kDropReasons[0] == "never");
  EXPECT_EQ(engine.QueueError([](const uint8_t*, uint32_t) { return true; }), "");
  EXPECT_EQ(engine.QueueError([](const uint8_t*, uint32_t) { return false; }), "fault");
  const std::vector<uint8_t> frame(60);
  rig.queue.Receive(frame);
  Work(rig.queue, engine, rig.control);
  EXPECT_EQ(rig.calls, (Calls{"set_outbox", "set_counters", "Enter", "AtRest", "Generate",
                              "Prepare", "Process", "Leave"}));
  EXPECT_EQ(rig.queue.Sent(), std::vector(3, frame)) << "emitted, from the outbox, and the answer";
  EXPECT_TRUE(rig.queue.counters().Conserved());
}

constexpr packet::MacAddress kMac{};
const auto kNoFragments = [] { return packet::Defragmenter(); };

TEST(EngineContract, ReachesAnEngine) {
  Rig rig;
  Witness engine(&rig);
  Check(rig, engine);
}

TEST(EngineContract, PassesNeighbor) {
  Rig rig;
  engine::WithNeighbor<Witness> engine(packet::OwnAddresses(kMac), std::in_place, &rig);
  Check(rig, engine);
}

TEST(EngineContract, PassesPublishedTables) {
  Rig rig;
  Published<int> tables(1, std::make_unique<const int>(0));
  WithTables<Witness, int> engine(tables, 0, &rig);
  Check(rig, engine);
}

TEST(EngineContract, PassesTheLayersOfASession) {
  Rig rig;
  using Inner = nic::Reassembling<Witness>;
  nic::OwnFrames<Inner> engine(
      kMac, false, [&] { return Inner(kNoFragments(), [&] { return Witness(&rig); }); });
  Check(rig, engine);
}

TEST(EngineContract, PassesAnEngineThatAnotherObjectOwns) {
  Rig rig;
  Witness engine(&rig);
  packet::FrameByFrame bursts(engine);
  Check(rig, bursts);
}

// The layers of an engine that does not override anything must not override anything, so that
// queues do not do any work for it.
using Echo = nic::OwnFrames<engine::WithNeighbor<engine::ReflectEcho>>;
static_assert(packet::FrameEngine<Echo> && !packet::BurstEngine<Echo>);
static_assert(!packet::Sender<Echo> && !packet::PreparingEngine<Echo>);
static_assert(!packet::HostEngine<engine::ReflectEcho> && packet::HostEngine<Echo>);

// Queues reject an engine that has no hooks or whose hooks could not be called directly.
struct NotFinal : packet::Engine {
  packet::Verdict Process(packet::Frame&, uint64_t) { return packet::kForward; }
};
struct WithoutHooks final {
  packet::Verdict Process(packet::Frame&, uint64_t) { return packet::kForward; }
};
static_assert(!packet::QueueEngine<NotFinal> && !packet::QueueEngine<WithoutHooks>);

TEST(FakeQueue, CountsEveryOutcome) {
  struct ByFirstByte final : packet::Engine {
    packet::Verdict Process(packet::Frame& frame, uint64_t) {
      if (frame.data[0] == 1) return packet::kConsume;
      if (frame.data[0] == 2) return packet::Drop(3);
      if (frame.data[0] == 3) return packet::kPass;
      return packet::kForward;
    }
  } engine;
  nic::FakeQueue queue;
  for (uint8_t i = 0; i < 40; ++i) queue.Receive({static_cast<uint8_t>(i % 4), i});
  EXPECT_EQ(queue.Poll(engine, 0), nic::FakeQueue::kBurst);
  EXPECT_EQ(queue.Poll(engine, 0), 8u);
  EXPECT_EQ(queue.Poll(engine, 0), 0u);
  EXPECT_EQ(queue.Sent().size(), 10u);
  EXPECT_EQ(queue.counters().consumed_pkts, 10u);
  EXPECT_EQ(queue.counters().engine_drops[3], 10u);
  EXPECT_EQ(queue.counters().no_exception_port, 10u);
  EXPECT_TRUE(queue.counters().Conserved());
}

}  // namespace
}  // namespace sluice::runtime
