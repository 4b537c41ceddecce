// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a stage that belongs to two chains and answers messages of one chain through the other.
#include "tickets.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "device/stage/chain_device.h"
#include "rig.h"

namespace sluice::chain_app {
namespace {

using device::stage::ChainDevice;
using device::stage::NodeSlot;
using test::Read;
using test::Rig;

/// Two chains that share the device s0, unless `second` is another device.
engine::chain::Graph TwoChains(const std::string& second) {
  const auto chain = [](const std::string& name, const std::string& flow,
                        const std::string& device) {
    return R"({"name": ")" + name + R"(", "flows": [")" + flow +
           R"("], "message": 300, "nodes": [
             {"name": "in", "device": "nic", "to": [{"nodes": ["a"]}]},
             {"name": "a", "device": ")" +
           device + R"(", "to": [{"nodes": ["out"]}]},
             {"name": "out", "device": "nic"}]})";
  };
  return Read(R"({"devices": [{"name": "nic", "kind": "nic", "port": 1},
                 {"name": "s0", "kind": "streaming", "port": 2},
                 {"name": "s1", "kind": "streaming", "port": 3}], "chains": [)" +
              chain("one", "udp:1", "s0") + ", " + chain("two", "udp:2", second) + "]}");
}

/// Replaces the stage at port 2 with a device that the test controls.
class HostileStage {
 public:
  explicit HostileStage(Rig& rig) : rig_(rig), device_(*rig.stages[2].link, 2) {
    rig.stages[2].stage.reset();
  }
  /// Steps each part 1000 times.
  void Run() {
    for (uint32_t i = 0; i < 1000; ++i) {
      rig_.Step();
      device_.Receive();
      device_.Send();
    }
  }
  NodeSlot& slot(size_t where) { return device_.slots()[where]; }
  /// Returns the oldest message that arrived at a slot.
  device::pcie_switch::Message Pop(size_t where) {
    auto message = slot(where).reader->Pop();
    EXPECT_TRUE(message);
    return message.value_or(device::pcie_switch::Message{});
  }
  /// Sends the right answer to a message through a slot.
  void Answer(size_t where, device::pcie_switch::Message message) {
    for (uint8_t& byte : message.data) ++byte;
    ASSERT_TRUE(slot(where).MayPut());
    slot(where).writer->Put({.message = message.header.message}, message.data);
    Run();
  }

 private:
  Rig& rig_;
  ChainDevice device_;
};

TEST(Tickets, CountInTheChainThatWasGivenThem) {
  Rig rig(TwoChains("s0"), {.bytes = 300, .outstanding = 3, .messages = 100});
  HostileStage stage(rig);
  stage.Run();
  // Answers through the other chain are ignored even though their content is right.
  stage.Answer(1, stage.Pop(0));
  stage.Answer(0, stage.Pop(1));
  EXPECT_EQ(rig.endings().right + rig.endings().wrong + rig.endings().unknown, 0u);
  EXPECT_EQ(rig.nic->received(), 2u);
  // No chain delivered a message with this number.
  auto invented = stage.Pop(0);
  const auto given = invented;
  invented.header.message ^= 1u << 31;
  stage.Answer(0, invented);
  EXPECT_EQ(rig.nic->received(), 3u);
  // The answer through the right chain is accepted.
  stage.Answer(0, given);
  EXPECT_EQ(rig.ledgers[0]->Now().right, 1u);
  EXPECT_EQ(rig.nic->received(), 3u);
}

TEST(Tickets, DoNotCountInTheChainThatComesNext) {
  Rig rig(TwoChains("s0"), {.bytes = 300, .outstanding = 3, .messages = 100});
  HostileStage stage(rig);
  stage.Run();
  const auto late = stage.Pop(1);
  const auto last = [&] {
    for (; stage.slot(1).reader && stage.slot(1).reader->Whole(); stage.Run()) stage.Pop(1);
  };
  last();
  ASSERT_EQ(rig.Apply(TwoChains("s1"), nullptr), "");
  rig.Aim();
  stage.Run();
  last();
  ASSERT_EQ(rig.draining, 0u);
  ASSERT_EQ(rig.Apply(TwoChains("s0"), nullptr), "");
  rig.Aim();
  stage.Run();
  ASSERT_TRUE(stage.slot(1).MayPut());
  const Endings before = rig.ledgers[1]->Now();
  stage.Answer(1, late);
  EXPECT_EQ(rig.ledgers[1]->Now().right, before.right);
  EXPECT_EQ(rig.nic->received(), 1u);
}

TEST(Tickets, DoNotFollowFromOneAnother) {
  Tickets tickets;
  std::set<uint32_t> distances;
  uint32_t before = tickets.Give(0, 0, 1);
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t ticket = tickets.Give(0, 0, 1);
    distances.insert(ticket - before);
    before = ticket;
  }
  EXPECT_GT(distances.size(), 900u);
}

TEST(Tickets, AreForgottenWhenTheirPlaceIsGivenAgain) {
  Tickets tickets;
  const uint32_t first = tickets.Give(3, 77, 5);
  ASSERT_NE(tickets.Find(first, 5), nullptr);
  EXPECT_EQ(tickets.Find(first, 5)->flow, 3u);
  EXPECT_EQ(tickets.Find(first, 5)->number, 77u);
  EXPECT_EQ(tickets.Find(first, 6), nullptr);
  EXPECT_EQ(tickets.Find(first + 1, 5), nullptr);
  for (uint32_t i = 0; i < Tickets::kMemory; ++i) tickets.Give(3, 78, 6);
  EXPECT_EQ(tickets.Find(first, 5), nullptr);
}

}  // namespace
}  // namespace sluice::chain_app
