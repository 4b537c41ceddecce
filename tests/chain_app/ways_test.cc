// SPDX-License-Identifier: BSD-3-Clause
//
// Tests both paths of a message through stages: pushed from stage to stage (streaming or legacy),
// and mediated by the CPU. Checks the answers, the work of the host, and the outcome when a stage
// dies or a graph changes.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/monotonic_clock.h"
#include "host/step_thread.h"
#include "rig.h"

namespace sluice::chain_app::test {
namespace {

void ExpectAllRight(const Rig& rig, uint64_t messages) {
  const Endings endings = rig.endings();
  EXPECT_EQ(endings.sent, messages);
  EXPECT_EQ(endings.right, messages);
  EXPECT_EQ(endings.wrong + endings.doubled + endings.lost + endings.unknown + endings.late, 0u);
}

/// Parameters: kinds of the stages (s: streaming, l: legacy), bytes per message, and whether the
/// CPU mediates.
class Paths : public testing::TestWithParam<std::tuple<const char*, uint32_t, bool>> {};

TEST_P(Paths, EveryMessageArrivesOnceAndAsItMust) {
  const auto& [faces, bytes, through_cpu] = GetParam();
  // 13 and 67 are not multiples of the batch size or of the credits.
  Rig rig(Read(ChainText(faces, bytes)),
          {.through_cpu = through_cpu, .bytes = bytes, .outstanding = 13, .messages = 67});
  rig.Settle();
  ExpectAllRight(rig, 67);
  for (uint64_t i = 2; i < 2 + std::string(faces).size(); ++i)
    EXPECT_EQ(rig.stages[static_cast<sw::PortId>(i)].counters->done, 67u);
}

INSTANTIATE_TEST_SUITE_P(Short, Paths,
                         testing::Combine(testing::Values("", "s", "l", "sl", "ls", "lsll"),
                                          testing::Values(1u, 64u, 255u, 4000u), testing::Bool()));
INSTANTIATE_TEST_SUITE_P(Long, Paths,
                         testing::Combine(testing::Values("ssssssss"), testing::Values(64u, 4000u),
                                          testing::Bool()));

TEST(Pushed, TheHostHasNoPartInMessages) {
  for (const char* faces : {"ss", "sl", "ll"}) {
    Rig rig(Read(ChainText(faces, 512)), {.bytes = 512, .messages = 0});
    rig.Settle();
    const Operations setup = rig.runner->operations(0);
    Rig with(Read(ChainText(faces, 512)), {.bytes = 512, .messages = 500});
    with.Settle();
    ExpectAllRight(with, 500);
    // Only the setup of the chain causes TLPs.
    const Operations all = with.runner->operations(0);
    EXPECT_EQ(all.writes, setup.writes);
    EXPECT_EQ(all.reads + all.completions, 0u);
    EXPECT_EQ(all.bytes, setup.bytes);
  }
}

// A hop through the CPU has this cost: the device writes the data and a record, the CPU rings a
// doorbell, and the next device reads the descriptor and the data. In addition, the NIC gets a
// buffer (doorbell and descriptor) and reports each send (record). N = 2 stages make three hops.
TEST(ThroughTheCpu, AMessageAloneCostsWhatTheProtocolNeedsAndNoMore) {
  constexpr uint64_t kMessages = 50, kHops = 3;
  Rig idle(Read(ChainText("ss", 64)), {.through_cpu = true, .outstanding = 1, .messages = 0});
  idle.Settle();
  Rig rig(Read(ChainText("ss", 64)),
          {.through_cpu = true, .outstanding = 1, .messages = kMessages});
  rig.Settle();
  ExpectAllRight(rig, kMessages);
  const auto more = [&](uint64_t Operations::*what) {
    return rig.devices().*what - idle.devices().*what;
  };
  const uint64_t doorbells = kHops + 1, records = kHops + 1;
  EXPECT_EQ(more(&Operations::writes), kMessages * (kHops + records + doorbells));
  EXPECT_EQ(more(&Operations::reads), kMessages * (2 * kHops + 1));
  EXPECT_EQ(more(&Operations::completions), kMessages * (2 * kHops + 1));
  const MediatorCounters& cpu = rig.cpu->counters();
  EXPECT_EQ(cpu.doorbells, kMessages * doorbells + 1);  // One more for the first buffer.
  EXPECT_EQ(cpu.descriptors, kMessages * doorbells + 1);
  EXPECT_EQ(cpu.records, kMessages * records);
}

TEST(ThroughTheCpu, DoorbellsAreRungOnceForAllThatAPollFinds) {
  Rig rig(Read(ChainText("ss", 64)), {.through_cpu = true, .outstanding = 32, .messages = 3200});
  rig.Settle();
  ExpectAllRight(rig, 3200);
  const MediatorCounters& cpu = rig.cpu->counters();
  EXPECT_EQ(cpu.records, 3200u * 4);
  EXPECT_LT(cpu.doorbells * 4, cpu.descriptors);
  EXPECT_LT(cpu.polls, cpu.records * 2);
}

/// s0 sends messages with an odd first byte to s1 and all others directly to the NIC. It also sends
/// every message to the host.
constexpr char kBranches[] = R"({"devices": [
    {"name": "host", "kind": "host", "port": 0}, {"name": "nic", "kind": "nic", "port": 1},
    {"name": "s0", "kind": "legacy", "port": 2}, {"name": "s1", "kind": "streaming", "port": 3}],
  "chains": [{"name": "c", "flows": ["udp:1"], "message": 64, "nodes": [
    {"name": "in", "device": "nic", "to": [{"nodes": ["a"]}]},
    {"name": "a", "device": "s0", "choose": "key0", "to": [
      {"if": 1, "mask": 1, "nodes": ["b", "log"]}, {"nodes": ["even", "log"]}]},
    {"name": "b", "device": "s1", "to": [{"nodes": ["odd"]}]},
    {"name": "log", "device": "host"}, {"name": "even", "device": "nic"},
    {"name": "odd", "device": "nic"}]}]})";

TEST(Policies, AreTheSameBothWays) {
  for (const bool through_cpu : {false, true}) {
    SCOPED_TRACE(through_cpu);
    // Answers that have passed through one stage are right. Messages with an odd first byte pass
    // through two stages, so their answers count as wrong.
    Rig rig(Read(kBranches), {.through_cpu = through_cpu, .messages = 400, .passes = 1});
    rig.Settle();
    uint64_t odd = 0;
    for (uint64_t number = 0; number < 400; ++number)
      odd += (number * 7 + (number >> 8) + 1) % 256 % 2;
    EXPECT_EQ(rig.endings().right, 400 - odd);
    EXPECT_EQ(rig.endings().wrong, odd);
    EXPECT_EQ(through_cpu ? rig.cpu->counters().received : rig.host->received(), 400u);
  }
}

TEST(Refusals, EndAtTheStageBothWaysAndByEitherFace) {
  for (const char* faces : {"ss", "ls"}) {
    for (const bool through_cpu : {false, true}) {
      SCOPED_TRACE(std::string(faces) + (through_cpu ? " cpu" : ""));
      Rig rig(Read(ChainText(faces, 64)),
              {.through_cpu = through_cpu, .outstanding = 300, .messages = 256, .refuses = 14});
      rig.Settle();
      // The first byte is 7 n modulo 256, which is 14 for one of 256 messages.
      EXPECT_EQ(rig.endings().right, 255u);
      EXPECT_EQ(rig.endings().ended(), 255u);
      EXPECT_EQ(rig.stages[2].counters->refused[0], 1u);
      EXPECT_EQ(rig.stages[3].counters->done, 255u);
    }
  }
}

class Deaths : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(Deaths, LoseMessagesAndNothingElse) {
  const auto& [faces, through_cpu] = GetParam();
  Rig rig(Read(ChainText(faces, 700)),
          {.through_cpu = through_cpu, .bytes = 700, .outstanding = 1000, .messages = 900});
  // Kills the stage at a different step each time, between messages and within one.
  for (uint32_t death = 0; death < 6; ++death) {
    for (uint32_t i = 0; i < 3 + 2 * death; ++i) rig.Step();
    rig.Kill(2);
    for (uint32_t i = 0; i < death; ++i) rig.Step();
    rig.Revive(2);
  }
  rig.Settle();
  const Endings endings = rig.endings();
  EXPECT_EQ(endings.sent, 900u);
  EXPECT_EQ(endings.wrong + endings.doubled + endings.unknown, 0u);
  EXPECT_GT(endings.right, 0u);
  EXPECT_LT(endings.right, 900u);
  for (const auto& ledger : rig.ledgers) ledger->Expire(~uint64_t{0});
  EXPECT_EQ(rig.endings().lost + rig.endings().right, 900u);
}

INSTANTIATE_TEST_SUITE_P(All, Deaths,
                         testing::Combine(testing::Values("s", "l", "ss", "ls"), testing::Bool()));

TEST(Failures, AStreamThatFailsGetsAnotherWhenItsDevicesLive) {
  std::string text = ChainText("s", 64);
  for (size_t at; (at = text.find("drain")) != text.npos;) text.replace(at, 5, "fail");
  Rig rig(Read(text), {.outstanding = 100, .messages = 1000});
  for (uint32_t i = 0; i < 20; ++i) rig.Step();
  EXPECT_FALSE(rig.control->Reopen());
  rig.Kill(2);
  EXPECT_FALSE(rig.control->Reopen());
  rig.Revive(2);
  EXPECT_TRUE(rig.control->Reopen());
  EXPECT_FALSE(rig.control->Reopen());
  rig.Aim();
  rig.Settle();
  for (const auto& ledger : rig.ledgers) ledger->Expire(~uint64_t{0});
  rig.Settle();
  const Endings endings = rig.endings();
  EXPECT_EQ(endings.sent, 1000u);
  EXPECT_EQ(endings.wrong + endings.doubled, 0u);
  EXPECT_EQ(endings.right + endings.lost, 1000u);
  EXPECT_GE(endings.right, 900u);
}

/// Returns a graph of two chains that share their stages; `second` describes the second chain.
std::string TwoChains(const std::string& second) {
  return R"({"devices": [{"name": "nic", "kind": "nic", "port": 1},
      {"name": "s0", "kind": "streaming", "port": 2}, {"name": "s1", "kind": "legacy", "port": 3}],
    "chains": [{"name": "stays", "flows": ["udp:1"], "message": 300, "nodes": [
      {"name": "in", "device": "nic", "to": [{"nodes": ["a"]}]},
      {"name": "a", "device": "s0", "to": [{"nodes": ["out"]}]},
      {"name": "out", "device": "nic"}]},)" +
         second + "]}";
}
constexpr char kOneNode[] = R"({"name": "changes", "flows": ["udp:2"], "message": 300, "nodes": [
      {"name": "in", "device": "nic", "to": [{"nodes": ["a"]}]},
      {"name": "a", "device": "s1", "to": [{"nodes": ["out"]}]},
      {"name": "out", "device": "nic"}]})";
constexpr char kOtherNode[] = R"({"name": "changes", "flows": ["udp:2"], "message": 300, "nodes": [
      {"name": "in", "device": "nic", "to": [{"nodes": ["b"]}]},
      {"name": "b", "device": "s0", "window": 32, "to": [{"nodes": ["out"]}]},
      {"name": "out", "device": "nic"}]})";

/// Equals the first chain except that one node chooses by key.
constexpr char kOtherWays[] = R"({"name": "changes", "flows": ["udp:2"], "message": 300, "nodes": [
      {"name": "in", "device": "nic", "to": [{"nodes": ["a"]}]},
      {"name": "a", "device": "s1", "choose": "key0", "to": [{"nodes": ["out"]}]},
      {"name": "out", "device": "nic"}]})";

/// Expires unanswered messages, then returns the outcomes of all messages. Exactly 4000 messages
/// must have been sent.
Endings AtTheEnd(Rig& rig) {
  rig.Settle();
  for (const auto& ledger : rig.ledgers) ledger->Expire(~uint64_t{0});
  rig.Settle();
  const Endings endings = rig.endings();
  EXPECT_EQ(endings.sent, 4000u);
  EXPECT_EQ(endings.right + endings.lost, 4000u);
  EXPECT_EQ(endings.wrong + endings.doubled + endings.unknown, 0u);
  return endings;
}

class Changes : public testing::TestWithParam<bool> {};

TEST_P(Changes, UnderTrafficLoseNothingAndFreeWhatTheyLeave) {
  using engine::chain::Change;
  Rig rig(Read(TwoChains(kOneNode)),
          {.through_cpu = GetParam(), .bytes = 300, .outstanding = 40, .messages = 2000});
  const std::vector<std::pair<const char*, Change>> next = {
      {kOtherNode, Change::kOpened}, {kOneNode, Change::kOpened}, {kOtherWays, Change::kRewired}};
  for (uint32_t change = 0; change < 60; ++change) {
    for (uint32_t i = 0; i < 10 + change; ++i) rig.Step();
    const auto& [text, becomes] = next[change % next.size()];
    std::vector<engine::chain::Changed> changes;
    ASSERT_EQ(rig.Apply(Read(TwoChains(text)), &changes), "");
    EXPECT_EQ(changes[0].change, Change::kKept);
    EXPECT_EQ(changes[1].change, becomes);
    rig.Aim();
  }
  rig.Settle();
  ExpectAllRight(rig, 4000);
  EXPECT_EQ(rig.draining, 0u);
}

TEST_P(Changes, OfAStageThatDiesMeanwhileLoseWhatItHad) {
  Rig rig(Read(TwoChains(kOneNode)),
          {.through_cpu = GetParam(), .bytes = 300, .outstanding = 40, .messages = 2000});
  for (uint32_t change = 0; change < 20; ++change) {
    for (uint32_t i = 0; i < 7 + change; ++i) rig.Step();
    ASSERT_EQ(rig.Apply(Read(TwoChains(change % 2 == 0 ? kOtherNode : kOneNode)), nullptr), "");
    rig.Aim();
    for (uint32_t i = 0; i < change / 4; ++i) rig.Step();
    rig.Kill(3);
    for (uint32_t i = 0; i < change; ++i) rig.Step();
    rig.Revive(3);
  }
  const Endings endings = AtTheEnd(rig);
  EXPECT_GT(endings.right, 2000u);
  EXPECT_EQ(rig.draining, 0u);
}

std::string ElevenChains() {
  std::string chains;
  for (uint32_t i = 0; i < 11; ++i) {
    std::string chain = kOtherNode;
    chain.replace(chain.find("changes"), 7, "c" + std::to_string(i));
    chain.replace(chain.find("udp:2"), 5, "udp:" + std::to_string(100 + i));
    chains += (i == 0 ? "" : ",") + chain;
  }
  return chains;
}

TEST_P(Changes, ThatDevicesHaveNoRoomForChangeNothing) {
  const std::string chains = ElevenChains();
  // The NIC uses two node slots per chain: 4 for two chains, then 22 for eleven more. The limit is
  // 32.
  Rig rig(Read(TwoChains(kOneNode)), {.through_cpu = GetParam(), .bytes = 300, .messages = 500});
  ASSERT_EQ(rig.Apply(Read(TwoChains(chains)), nullptr), "");
  ASSERT_EQ(rig.Apply(Read(TwoChains(chains)), nullptr), "")
      << "unchanged nodes need no free entries";
  std::string others = chains;  // Changes each chain, so that all of them need new slots.
  for (size_t at = 0; (at = others.find("\"window\": 32", at)) != others.npos; ++at)
    others.replace(at, 12, "\"window\": 16");
  EXPECT_EQ(rig.Apply(Read(TwoChains(others)), nullptr),
            "device \"nic\" has room for 6 more nodes, but the graph needs 22");
}

INSTANTIATE_TEST_SUITE_P(All, Changes, testing::Bool());

/// Returns the number of right answers per chain.
std::vector<uint64_t> RightAnswers(const Rig& rig) {
  std::vector<uint64_t> right;
  for (const auto& ledger : rig.ledgers) right.push_back(ledger->Now().right);
  return right;
}

TEST(Failures, OneChainThatStaysClosedKeepsNoOtherClosed) {
  Rig rig(Read(TwoChains(kOneNode)), {.bytes = 300, .outstanding = 40, .messages = 2000});
  for (uint32_t i = 0; i < 20; ++i) rig.Step();
  rig.Kill(2);
  rig.Kill(3);
  rig.Settle();
  const std::vector<uint64_t> dead = RightAnswers(rig);
  for (const sw::PortId port : {2, 3}) {
    rig.Revive(port);
    for (const auto& ledger : rig.ledgers) ledger->Expire(~uint64_t{0});
    rig.Settle();
    const std::vector<uint64_t> right = RightAnswers(rig);
    EXPECT_GT(right[0], dead[0] + 1000);
    EXPECT_EQ(right[1] > dead[1] + 1000, port == 3);
  }
  EXPECT_EQ(AtTheEnd(rig).sent, 4000u);
}

// The NIC uses 24 of its 32 node slots, so new streams must wait until the old ones free their
// slots.
TEST(Failures, StreamsComeBackThoughNotAllHaveRoomAtOnce) {
  Rig rig(Read(TwoChains(ElevenChains())), {.bytes = 300, .outstanding = 40, .messages = 500});
  for (uint32_t i = 0; i < 20; ++i) rig.Step();
  rig.Kill(2);
  rig.Revive(2);
  rig.Settle();
  for (const auto& ledger : rig.ledgers) ledger->Expire(~uint64_t{0});
  rig.Settle();
  for (const auto& ledger : rig.ledgers) {
    EXPECT_EQ(ledger->Now().right + ledger->Now().lost, 500u);
    EXPECT_GT(ledger->Now().right, 300u);
  }
  EXPECT_EQ(rig.draining, 0u);
}

TEST(ThroughTheCpu, AChainThatBeginsWhileItsStageIsDeadGoesOnWhenThatIsBack) {
  Rig rig(Read(TwoChains(kOtherNode)),
          {.through_cpu = true, .bytes = 300, .outstanding = 40, .messages = 2000});
  for (uint32_t i = 0; i < 10; ++i) rig.Step();
  rig.Kill(3);
  ASSERT_EQ(rig.Apply(Read(TwoChains(kOneNode)), nullptr), "");
  rig.Aim();
  for (uint32_t i = 0; i < 50; ++i) rig.Step();
  rig.Revive(3);
  const Endings endings = AtTheEnd(rig);
  EXPECT_GT(endings.lost, 0u);
  EXPECT_LE(endings.lost, 40u);
  EXPECT_EQ(rig.draining, 0u);
}

TEST(Runner, WhoTakesNoCompletionsHoldsUpNobodyElse) {
  SwitchRunner runner(0, /*host_memory=*/true);
  std::vector<uint8_t> memory(1024);
  runner.Map(0, memory);
  const auto links = std::make_unique<std::array<device::stage::LinkMemory, 2>>();
  device::stage::LinkWriter greedy((*links)[0].to_switch), honest((*links)[1].to_switch);
  runner.Attach(2, &(*links)[0]);
  runner.Attach(3, &(*links)[1]);
  const auto send = [&](device::stage::LinkWriter& writer, sw::TlpKind kind) {
    sw::Tlp* const tlp = writer.Place();
    if (tlp == nullptr) return;
    *tlp = {.kind = kind,
            .length = kind == sw::TlpKind::kRead ? 512u : 1u,
            .address = SwitchRunner::AddressOf(0),
            .payload = {7}};
    writer.Commit();
    writer.Publish();
  };
  for (uint32_t i = 0; i < 2000; ++i) {
    send(greedy, sw::TlpKind::kRead);
    runner.Step();
  }
  send(honest, sw::TlpKind::kWrite);
  send(honest, sw::TlpKind::kRead);
  // Writes to a doorbell of each device.
  for (const sw::PortId port : {2, 3})
    runner.Write(device::stage::SlotOf(port, 0), std::array<uint8_t, 4>{});
  for (uint32_t i = 0; i < 3; ++i) runner.Step();
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ((*links)[1].to_device.written.value, 3u);
  EXPECT_FALSE(runner.broken(2));
  for (uint32_t i = 0; i < SwitchRunner::kMostDue; ++i) {
    send(greedy, sw::TlpKind::kRead);
    runner.Step();
  }
  EXPECT_TRUE(runner.broken(2));
  EXPECT_FALSE(runner.broken(3));
  runner.Attach(2, &(*links)[0]);
  EXPECT_FALSE(runner.broken(2)) << "another device";
}

/// Runs each part in a separate thread, as the program does.
TEST(Threads, CarryEveryMessageBothWays) {
  constexpr uint64_t kMessages = 1000;
  for (const bool through_cpu : {false, true}) {
    Rig rig(Read(ChainText("sl", 300)),
            {.through_cpu = through_cpu, .bytes = 300, .outstanding = 30, .messages = kMessages});
    {
      host::StepThread<> nic([&] { return rig.nic->Step(); });
      host::StepThread<> first([&] { return rig.stages[2].stage->Step(); });
      host::StepThread<> second([&] { return rig.stages[3].stage->Step(); });
      host::StepThread<> cpu([&] { return through_cpu ? rig.cpu->Step() : rig.host->Step(); });
      host::StepThread<> runner([&] { return rig.runner->Step(); });
      for (const uint64_t end = base::MonotonicNs() + 60'000'000'000;
           rig.endings().ended() != kMessages && base::MonotonicNs() < end;) {
        std::this_thread::yield();
      }
    }
    ExpectAllRight(rig, kMessages);
  }
}

}  // namespace
}  // namespace sluice::chain_app::test
