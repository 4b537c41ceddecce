// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the death of a device. Depending on the device's policy, its messages are drained, its
// messages bypass it, or the stream ends. No message arrives partially or twice.
#include <gtest/gtest.h>

#include "rig.h"

namespace sluice::device::pcie_switch::test {
namespace {

/// Returns a chain 0 -> 1 -> 2, in which node 1 has the policy `on_death`.
StreamSpec Chain(OnDeath on_death) {
  StreamSpec spec{
      .nodes = {Node(0, 0, 0, {Always(0b010)}), Node(1, 0, 1, {Always(0b100)}), Node(2, 0, 2)},
      .max_message = 1024};
  spec.nodes[1].on_death = on_death;
  spec.nodes[1].bypass = 2;
  return spec;
}

/// Makes node 1 forward its messages.
void RunStage(Rig& rig, StreamId stream) {
  for (const Message& message : rig.Drain(stream, 1))
    rig.at[{stream, 1}].writer->Put(message.header, message.data);
  rig.Pump();
}

std::vector<uint32_t> Numbers(const std::vector<Message>& messages) {
  std::vector<uint32_t> numbers;
  for (const Message& message : messages) {
    numbers.push_back(message.header.message);
    EXPECT_EQ(message.data, Bytes(message.data.size(), message.header.message));
  }
  return numbers;
}

TEST(Failure, BypassedMessagesGoStraightToTheNextNode) {
  Rig rig;
  const Opened opened = rig.Open(Chain(OnDeath::kBypass));
  ASSERT_EQ(opened.error, "");
  for (uint32_t i = 0; i < 6; ++i) rig.Put(opened.stream, 0, i, 1000);
  rig.Pump();  // Node 1 holds 4096 bytes: three complete messages and part of a fourth.
  rig.sw.Fail(1);
  const auto got = Numbers(rig.Drain(opened.stream, 2));
  EXPECT_EQ(got, (std::vector<uint32_t>{4, 5}));
  // The partial message is counted. The three complete ones were delivered and died with the node.
  EXPECT_EQ(rig.sw.dropped(Drop::kStageDead), 1u);
  EXPECT_EQ(rig.sw.MessagesTo(opened.stream, 1), 3u);
  // The device is restored and used again.
  rig.sw.Restore(1);
  rig.at[{opened.stream, 1}].reader.emplace(NodeBase(1, 0, 1), 4096, opened.registers[1], 1);
  rig.Put(opened.stream, 0, 10, 100);
  RunStage(rig, opened.stream);
  EXPECT_EQ(Numbers(rig.Drain(opened.stream, 2)), (std::vector<uint32_t>{10}));
  EXPECT_EQ(rig.sw.MessagesFrom(opened.stream, 1), 1u);
}

TEST(Failure, DrainedMessagesAreCountedAndTheRestOfTheStreamGoesOn) {
  Rig rig;
  StreamSpec spec = Chain(OnDeath::kDrain);
  spec.nodes[0].out.edges = {Always(0b110)};  // A copy bypasses node 1.
  const Opened opened = rig.Open(spec);
  rig.sw.Fail(1);
  for (uint32_t i = 0; i < 5; ++i) rig.Put(opened.stream, 0, i, 700);
  EXPECT_EQ(Numbers(rig.Drain(opened.stream, 2)), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(rig.sw.dropped(Drop::kStageDead), 5u);
}

TEST(Failure, WhatTheSwitchHeldForADrainedNodeIsCounted) {
  Rig rig;
  const Opened opened = rig.Open(Chain(OnDeath::kDrain));
  for (uint32_t i = 0; i < 6; ++i) rig.Put(opened.stream, 0, i, 1000);
  rig.Pump();
  rig.sw.Fail(1);
  // Three messages died with the node. The fourth was partially delivered, and two waited in the
  // switch; these three count as dropped.
  EXPECT_EQ(rig.sw.dropped(Drop::kStageDead), 3u);
  EXPECT_TRUE(rig.Drain(opened.stream, 2).empty());
}

TEST(Failure, AFailedStreamEndsAndFreesWhatItHad) {
  Rig rig;
  const Opened opened = rig.Open(Chain(OnDeath::kFail));
  for (uint32_t i = 0; i < 6; ++i) rig.Put(opened.stream, 0, i, 1000);
  rig.Pump();
  rig.sw.Fail(1);
  EXPECT_TRUE(rig.sw.failed(opened.stream));
  rig.Put(opened.stream, 0, 99, 10);
  rig.Pump();
  EXPECT_GT(rig.sw.dropped(Drop::kClosed), 0u);
  // Three messages died with the node. The others, including the partially delivered one, were in
  // the switch.
  EXPECT_EQ(rig.sw.dropped(Drop::kStreamFailed), 3u);
  EXPECT_EQ(rig.sw.dropped(Drop::kStageDead), 0u);
  EXPECT_TRUE(rig.Drain(opened.stream, 2).empty());
  EXPECT_TRUE(rig.sw.Finished(opened.stream));
}

TEST(Failure, ASenderThatDiesInTheMiddleLeavesNoPartOfItsMessage) {
  Rig rig;
  const Opened opened = rig.Open(
      {.nodes = {Node(0, 0, 0, {Always(0b100)}), Node(1, 0, 1, {Always(0b100)}), Node(2, 0, 2)},
       .max_message = 1024});
  rig.Put(opened.stream, 0, 1, 100);
  rig.Put(opened.stream, 0, 2, 1000);
  rig.Pump();
  rig.Put(opened.stream, 0, 3, 1000);
  Tlp tlp;
  for (int i = 0; i < 2; ++i) {  // Two of five TLPs enter and leave immediately.
    ASSERT_TRUE((rig.at[{opened.stream, 0}].writer->Next(tlp)));
    rig.sw.Accept(0, tlp);
    ASSERT_TRUE(rig.sw.Next(2, tlp));
    rig.at[{opened.stream, 2}].reader->Accept(tlp);
  }
  rig.sw.Fail(0);
  rig.at[{opened.stream, 0}].writer.reset();
  EXPECT_EQ(rig.sw.dropped(Drop::kSenderDied), 1u);
  // The other sender's messages follow at the position of the partial message.
  rig.Put(opened.stream, 1, 4, 1000);
  rig.Put(opened.stream, 1, 5, 30);
  EXPECT_EQ(Numbers(rig.Drain(opened.stream, 2)), (std::vector<uint32_t>{1, 2, 4, 5}));
}

TEST(Failure, ADeadSenderGoesOnAfterAFlushRead) {
  Rig rig;
  const Opened opened =
      rig.Open({.nodes = {Node(0, 0, 0, {Always(0b10)}), Node(1, 0, 1)}, .max_message = 1024});
  for (uint32_t i = 0; i < 9; ++i) rig.Put(opened.stream, 0, i, 1000);
  rig.Pump();
  rig.sw.Fail(0);
  rig.sw.Restore(0);
  StreamWriter& writer = *rig.at[{opened.stream, 0}].writer;
  writer.Resume(rig.Flush(0, opened.windows[0]));
  EXPECT_GT(writer.outstanding(), 0u);  // Messages in the switch must still be delivered.
  rig.Put(opened.stream, 0, 50, 1000);
  const auto got = Numbers(rig.Drain(opened.stream, 1));
  EXPECT_EQ(got.back(), 50u);
  EXPECT_EQ(writer.outstanding(), 0u);
  EXPECT_EQ(rig.sw.drops()[static_cast<uint32_t>(Drop::kOverrun)], 0u);
}

TEST(Failure, ABypassOfABypassIsFollowedAndAccessStillHolds) {
  Rig rig(5);
  StreamSpec spec{.nodes = {Node(0, 0, 0, {Always(0b00010)}), Node(1, 0, 1, {Always(0b00100)}),
                            Node(2, 0, 2, {Always(0b01000)}), Node(3, 0, 3)},
                  .max_message = 512};
  spec.nodes[1].on_death = spec.nodes[2].on_death = OnDeath::kBypass;
  spec.nodes[1].bypass = 2;
  spec.nodes[2].bypass = 3;
  const Opened opened = rig.Open(spec);
  ASSERT_EQ(opened.error, "");
  rig.sw.Fail(1);
  rig.sw.Fail(2);
  rig.Put(opened.stream, 0, 1, 300);
  EXPECT_EQ(Numbers(rig.Drain(opened.stream, 3)), (std::vector<uint32_t>{1}));
  rig.sw.Allow(3, 0b0100);  // Allow only port 2, which is dead.
  rig.Put(opened.stream, 0, 2, 300);
  EXPECT_TRUE(rig.Drain(opened.stream, 3).empty());
  EXPECT_EQ(rig.sw.dropped(Drop::kForbidden), 1u);
  rig.sw.Restore(2);
  rig.at[{opened.stream, 2}].reader.emplace(NodeBase(2, 0, 2), 4096, opened.registers[2], 2);
  rig.Put(opened.stream, 0, 3, 300);
  EXPECT_EQ(Numbers(rig.Drain(opened.stream, 2)), (std::vector<uint32_t>{3}));
}

TEST(Failure, ADeviceThatIsBackHearsThatItIsANodeBeforeItGetsMessages) {
  constexpr uint64_t kSetup = NodeBase(1, 1, 0);  // An address without a node.
  for (const bool registers : {true, false}) {
    Rig rig;
    ASSERT_TRUE(rig.sw.AddRange(
        {.base = DeviceBase(1), .bytes = 1ull << 32, .port = 1, .registers = registers}));
    const Opened opened = rig.Open(Chain(OnDeath::kDrain));
    ASSERT_EQ(opened.error, "");
    rig.sw.Fail(1);
    rig.sw.Restore(1);
    Tlp tlp;
    rig.Put(opened.stream, 0, 1, 100);
    auto& sender = *rig.at[{opened.stream, 0}].writer;
    ASSERT_TRUE(sender.Next(tlp));
    ASSERT_TRUE(rig.sw.Accept(0, tlp));
    Tlp setup;
    setup.kind = TlpKind::kWrite;
    setup.address = kSetup;
    setup.length = 64;
    ASSERT_TRUE(rig.sw.Accept(3, setup));
    ASSERT_TRUE(rig.sw.Next(1, tlp));
    EXPECT_EQ(tlp.address == kSetup, registers) << "else by turns";
  }
}

TEST(Setup, ABypassThatWouldDoubleAMessageIsRefused) {
  Rig rig;
  StreamSpec spec = Chain(OnDeath::kBypass);
  spec.nodes[0].out.edges = {Always(0b110)};
  EXPECT_EQ(rig.sw.Open(spec).error,
            "node 0: a message would reach a node twice if another node is bypassed");
}

}  // namespace
}  // namespace sluice::device::pcie_switch::test
