// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a host and an agent in two threads, each of which records a log. The logs are checked at the
// end. Each event must occur once and in order, each decision must end once with the same outcome
// at both ends, and it must be enforced only as it was committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "rig.h"

namespace sluice::offload {
namespace {

using bar::ShmWindow;

constexpr Slot kSlots = 3;
constexpr uint64_t kDecisions = 20'000;

struct HostLog {
  std::vector<uint64_t> sent;
  std::vector<uint64_t> enforced;
  uint64_t refused = 0;
  uint64_t faults = 0;
};
struct AgentLog {
  std::vector<uint64_t> received;
  std::vector<uint64_t> enforced;
  uint64_t refused = 0;
  uint64_t committed = 0;
  uint64_t wrong = 0;  ///< Number of received items that the peer did not send.
  uint64_t faults = 0;
};

/// Randomly refuses one fifth of the decisions and delays another fifth.
struct RandomJudge {
  Ruling Check(Slot, const Item& decision, Item& outcome) {
    outcome = decision;
    const uint64_t draw = random() % 5;
    return draw == 0 ? Ruling::kRefuse : draw == 1 ? Ruling::kLater : Ruling::kEnforce;
  }
  void Apply(Slot, const Item& decision) {
    enforced.push_back(decision == Numbered(decision.word[0]) ? decision.word[0] : 0);
  }
  std::mt19937_64 random{5};
  std::vector<uint64_t> enforced;
};

template <typename Host>
HostLog RunHost(Host& host, const std::atomic<bool>& stop) {
  HostLog log;
  RandomJudge judge;
  uint64_t refused = 0;
  while (!host.PollRestart()) std::this_thread::yield();
  while (!stop.load(std::memory_order_acquire)) {
    const Slot slot = judge.random() % kSlots;
    if (host.room() != 0) {
      const uint64_t number = log.sent.size() + 1;
      if (judge.random() % 2 == 0 ? host.Ask(slot, Numbered(number))
                                  : host.Send(Numbered(number))) {
        log.sent.push_back(number);
      }
      host.Flush();
    }
    bool idle = true;
    for (Slot each = 0; each < kSlots; ++each) {
      const Decided how = host.Decide(each, judge);
      refused += how == Decided::kRefused;
      idle = idle && how == Decided::kNone;
    }
    if (idle) std::this_thread::yield();
  }
  log.enforced = std::move(judge.enforced);
  log.refused = refused;
  log.faults = host.faults() + host.overflows();
  return log;
}

template <typename Nic>
AgentLog RunAgent(Nic& nic) {
  AgentLog log;
  std::mt19937_64 random(6);
  nic.RequestRestart();
  uint64_t ended = 0;
  bool open = true;
  Item item;
  while (open) {
    bool idle = true;
    if (nic.Receive(item)) {
      log.wrong += item != Numbered(item.word[0]);
      log.received.push_back(item.word[0]);
      idle = false;
    }
    for (Slot slot = 0; slot < kSlots; ++slot) {
      Decided how = Decided::kNone;
      if (nic.PollOutcome(slot, item, how)) {
        log.wrong += item != Numbered(item.word[0]);
        if (how == Decided::kEnforced) log.enforced.push_back(item.word[0]);
        log.refused += how == Decided::kRefused;
        ++ended;
        idle = false;
      }
      if (log.committed < kDecisions && nic.CanCommit(slot)) {
        nic.Commit(slot, Numbered(++log.committed),
                   random() % 2 == 0 ? Urgency::kPrestaged : Urgency::kInterrupt);
      } else if (random() % 8 == 0) {
        nic.Recall(slot);
      }
    }
    open = ended < kDecisions;
    if (idle) std::this_thread::yield();
  }
  while (nic.Receive(item)) log.received.push_back(item.word[0]);
  log.faults = nic.faults() + nic.PollLoss();
  return log;
}

template <typename C>
class TwoThreads : public testing::Test {};
using Channels = testing::Types<WaveChannel, SwapChannel, OfferChannel>;
TYPED_TEST_SUITE(TwoThreads, Channels);

TYPED_TEST(TwoThreads, AgreeOnEveryEventAndEveryDecision) {
  const auto layout = TypeParam::MakeLayout(kSlots, 8);
  ShmWindow host_window = ShmWindow::Create(layout.LinesNeeded(), bar::WindowSide::kHost);
  ShmWindow nic_window = host_window.Peer();
  typename TypeParam::template Host<ShmWindow> host(host_window, layout, 1);
  typename TypeParam::template Nic<ShmWindow> nic(nic_window, layout, 1);
  std::atomic<bool> stop = false;
  HostLog host_log;
  std::thread thread([&] { host_log = RunHost(host, stop); });
  AgentLog agent_log = RunAgent(nic);
  stop.store(true, std::memory_order_release);
  thread.join();
  Item item;
  while (nic.Receive(item)) agent_log.received.push_back(item.word[0]);

  EXPECT_EQ(agent_log.received, host_log.sent);
  EXPECT_EQ(agent_log.committed, kDecisions);
  EXPECT_EQ(agent_log.wrong, 0u);
  std::sort(agent_log.enforced.begin(), agent_log.enforced.end());
  std::sort(host_log.enforced.begin(), host_log.enforced.end());
  EXPECT_EQ(agent_log.enforced, host_log.enforced);
  EXPECT_EQ(agent_log.refused, host_log.refused);
  EXPECT_EQ(agent_log.enforced.size() + agent_log.refused, kDecisions);
  EXPECT_EQ(std::adjacent_find(host_log.enforced.begin(), host_log.enforced.end()),
            host_log.enforced.end());
  EXPECT_EQ(host_log.faults, 0u);
  EXPECT_EQ(agent_log.faults, 0u);
  EXPECT_GT(agent_log.enforced.size(), 100u);
  EXPECT_GT(agent_log.refused, 100u);
  EXPECT_GT(host_log.sent.size(), 100u);
}

}  // namespace
}  // namespace sluice::offload
