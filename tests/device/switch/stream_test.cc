// SPDX-License-Identifier: BSD-3-Clause
//
// Tests streams through the switch: data that a device writes to its window arrives at the next
// device, with command and state, according to the policy. Invalid writes are dropped and counted
// by reason.
#include <gtest/gtest.h>

#include <cstring>

#include "rig.h"

namespace sluice::device::pcie_switch::test {
namespace {

/// A stream from node 0 at port 0 to node 1 at port 1.
StreamSpec Pair(uint32_t max_message = 1024) {
  return {.nodes = {Node(0, 0, 0, {Always(0b10)}), Node(1, 0, 1)}, .max_message = max_message};
}

TEST(Stream, AMessageArrivesWholeWithCommandAndState) {
  Rig rig;
  StreamSpec spec = Pair();
  spec.nodes[1].command = 7;
  spec.nodes[1].state = {9, 8, 7};
  const Opened opened = rig.Open(spec);
  ASSERT_EQ(opened.error, "");
  for (const size_t size : {0, 1, 191, 192, 193, 448, 449, 1024}) {
    rig.Put(opened.stream, 0, static_cast<uint32_t>(size), size, 5);
    const auto got = rig.Drain(opened.stream, 1);
    ASSERT_EQ(got.size(), 1u) << size;
    EXPECT_EQ(got[0].data, Bytes(size, static_cast<uint32_t>(size)));
    EXPECT_EQ(got[0].header.stream, opened.stream);
    EXPECT_EQ(got[0].header.message, size);
    EXPECT_EQ(got[0].header.node, 1u);
    EXPECT_EQ(got[0].header.command, 7u);
    EXPECT_EQ(got[0].header.key[0], 5u);
    EXPECT_EQ(got[0].header.state, (State{9, 8, 7}));
  }
  EXPECT_EQ(rig.sw.MessagesFrom(opened.stream, 0), 8u);
  EXPECT_EQ(rig.sw.MessagesTo(opened.stream, 1), 8u);
}

TEST(Stream, OneTlpInIsOneTlpOut) {
  Rig rig;
  const Opened opened = rig.Open(Pair());
  Tlp tlp;
  tlp.address = opened.windows[0];
  tlp.length = 64 + 100;
  StoreTo(tlp.payload.data(), MessageHeader{.message = 1, .length = 100});
  ASSERT_TRUE(rig.sw.Accept(0, tlp));
  Tlp out;
  ASSERT_TRUE(rig.sw.Next(1, out));
  EXPECT_EQ(out.kind, TlpKind::kWrite);
  EXPECT_EQ(out.address, NodeBase(1, 0, 1));
  EXPECT_EQ(out.length, 164u);
  EXPECT_FALSE(rig.sw.Next(1, out));
  // The second message starts at the next line boundary after the first one: 64 x 3.
  ASSERT_TRUE(rig.sw.Accept(0, tlp));
  ASSERT_TRUE(rig.sw.Next(1, out));
  EXPECT_EQ(out.address, NodeBase(1, 0, 1) + 192);
}

TEST(Stream, MessagesOfAnyTlpSizesWrapAroundTheBuffer) {
  Rig rig;
  StreamSpec spec = Pair(700);
  spec.nodes[1].buffer_bytes = 768;
  const Opened opened = rig.Open(spec);
  ASSERT_EQ(opened.error, "");
  for (uint32_t number = 0; number < 50; ++number) {
    const uint32_t size = number * 97 % 701;
    const auto data = Bytes(size, number);
    std::vector<uint8_t> wire(64 + size);
    StoreTo(wire.data(), MessageHeader{.message = number, .length = size});
    std::copy(data.begin(), data.end(), wire.begin() + 64);
    for (uint32_t at = 0; at < wire.size();) {
      Tlp tlp;
      tlp.length = std::min<uint32_t>(at == 0 ? 64 + number % 5 : 1 + number * 13 % 256,
                                      static_cast<uint32_t>(wire.size()) - at);
      tlp.address = opened.windows[0] + at;
      std::memcpy(tlp.payload.data(), wire.data() + at, tlp.length);
      ASSERT_TRUE(rig.sw.Accept(0, tlp));
      rig.Pump();
      at += tlp.length;
    }
    const auto got = rig.Drain(opened.stream, 1);
    ASSERT_EQ(got.size(), 1u) << number;
    EXPECT_EQ(got[0].data, data);
  }
  EXPECT_EQ(rig.sw.drops(), Drops{});
}

TEST(Stream, TheStateOfANodeCountsIfItShall) {
  Rig rig;
  StreamSpec spec = Pair();
  spec.nodes[1].state = {254};
  spec.nodes[1].state_rule = StateRule::kCount;
  const Opened opened = rig.Open(spec);
  for (uint32_t i = 0; i < 3; ++i) rig.Put(opened.stream, 0, i, 10);
  const auto got = rig.Drain(opened.stream, 1);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(LoadFrom<uint64_t>(got[0].header.state.data()), 254u);
  EXPECT_EQ(LoadFrom<uint64_t>(got[1].header.state.data()), 255u);
  EXPECT_EQ(LoadFrom<uint64_t>(got[2].header.state.data()), 256u);
}

TEST(Policy, PredicatesRoundRobinAndHashChooseTheWay) {
  Rig rig;
  StreamSpec spec{.nodes = {Node(0, 0, 0), Node(1, 0, 1), Node(2, 0, 2), Node(3, 0, 3)},
                  .max_message = 256};
  spec.nodes[0].out = {
      Select::kKey0, 1, {If(1, 0b0010), {.value = 2, .mask = 2, .targets = 0b1100}}};
  const Opened opened = rig.Open(spec);
  ASSERT_EQ(opened.error, "");
  // Key 1 selects node 1. Keys 2 and 3 (bit 1) select nodes 2 and 3, which get a copy each. Key 4
  // selects no edge.
  for (const uint32_t key : {1, 2, 3, 4}) rig.Put(opened.stream, 0, key, 16, key);
  EXPECT_EQ(rig.Drain(opened.stream, 1).size(), 1u);
  EXPECT_EQ(rig.Drain(opened.stream, 2).size(), 2u);
  EXPECT_EQ(rig.Drain(opened.stream, 3).size(), 2u);
  EXPECT_EQ(rig.sw.dropped(Drop::kNoEdge), 1u);

  ASSERT_EQ(
      rig.sw.Rewire(opened.stream, 0, {Select::kRoundRobin, 3, {If(0, 2), If(1, 4), If(2, 8)}}),
      "");
  for (uint32_t i = 0; i < 9; ++i) rig.Put(opened.stream, 0, i, 16);
  for (const NodeId node : {1, 2, 3}) {
    const auto got = rig.Drain(opened.stream, node);
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[1].header.message - got[0].header.message, 3u);
  }

  ASSERT_EQ(rig.sw.Rewire(opened.stream, 0, {Select::kHash, 2, {If(0, 2), If(1, 4)}}), "");
  for (uint32_t i = 0; i < 64; ++i) rig.Put(opened.stream, 0, i, 16, i % 16);
  std::array<std::vector<Message>, 2> got = {rig.Drain(opened.stream, 1),
                                             rig.Drain(opened.stream, 2)};
  EXPECT_EQ(got[0].size() + got[1].size(), 64u);
  EXPECT_GT(got[0].size(), 0u);
  EXPECT_GT(got[1].size(), 0u);
  for (const Message& message : got[0])  // Equal keys use the same edge.
    for (const Message& other : got[1]) EXPECT_NE(message.header.key[0], other.header.key[0]);
}

TEST(Policy, MessagesFromTwoNodesDoNotMixAtAThird) {
  Rig rig;
  const Opened opened = rig.Open(
      {.nodes = {Node(0, 0, 0, {Always(0b100)}), Node(1, 0, 1, {Always(0b100)}), Node(2, 0, 2)},
       .max_message = 1024});
  ASSERT_EQ(opened.error, "");
  // The TLPs of the messages alternate. Each message has five TLPs.
  for (uint32_t i = 0; i < 4; ++i) {
    rig.Put(opened.stream, 0, i, 1024);
    rig.Put(opened.stream, 1, 100 + i, 1000);
  }
  Tlp tlp;
  for (bool more = true; more;) {
    more = false;
    for (const NodeId node : {0, 1}) {
      if (!rig.at[{opened.stream, node}].writer->Next(tlp)) continue;
      rig.sw.Accept(node, tlp);
      more = true;
    }
  }
  const auto got = rig.Drain(opened.stream, 2);
  ASSERT_EQ(got.size(), 8u);
  for (const Message& message : got) {
    const uint32_t number = message.header.message;
    EXPECT_EQ(message.data, Bytes(number < 100 ? 1024 : 1000, number));
  }
}

TEST(Credits, ASlowNodeStopsItsStreamAndNoOther) {
  Rig rig;
  const Opened slow = rig.Open(Pair());
  StreamSpec other = {.nodes = {Node(0, 1, 0, {Always(0b10)}), Node(1, 1, 1)}, .max_message = 1024};
  const Opened fast = rig.Open(other);
  for (uint32_t i = 0; i < 100; ++i) {
    rig.Put(slow.stream, 0, i, 1000);
    rig.Put(fast.stream, 0, i, 1000);
  }
  EXPECT_EQ(rig.Drain(fast.stream, 1).size(), 100u);
  EXPECT_GT((rig.at[{slow.stream, 0}].writer->waiting()), 90u);
  const auto got = rig.Drain(slow.stream, 1);
  ASSERT_EQ(got.size(), 100u);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(got[i].data, Bytes(1000, i));
  EXPECT_EQ(rig.sw.drops(), Drops{});
  EXPECT_EQ((rig.at[{slow.stream, 0}].writer->outstanding()), 0u);
}

TEST(Credits, WhatIsSentWithoutThemIsDroppedAndHurtsNobodyElse) {
  Rig rig;
  const Opened opened = rig.Open(Pair());
  rig.at[{opened.stream, 0}].writer->IgnoreCredits();
  for (uint32_t i = 0; i < 100; ++i) rig.Put(opened.stream, 0, i, 1000);
  rig.Pump();
  const auto got = rig.Drain(opened.stream, 1);
  EXPECT_GT(rig.sw.dropped(Drop::kOverrun), 0u);
  EXPECT_EQ(got.size() + rig.sw.dropped(Drop::kOverrun), 100u);
  for (const Message& message : got) EXPECT_EQ(message.data, Bytes(1000, message.header.message));
}

TEST(Credits, WithoutThemWhatIsFirstAtAPortHoldsUpWhatIsBehind) {
  Rig rig(4, {}, FlowControl::kPort);
  const Opened one = rig.Open(Pair());
  const Opened other =
      rig.Open({.nodes = {Node(0, 1, 0, {Always(0b10)}), Node(2, 1, 1)}, .max_message = 1024});
  for (const Opened& opened : {one, other}) {
    Tlp tlp;
    tlp.address = opened.windows[0];
    tlp.length = 64;
    StoreTo(tlp.payload.data(), MessageHeader{});
    ASSERT_TRUE(rig.sw.Accept(0, tlp));
  }
  Tlp out;
  EXPECT_FALSE(rig.sw.Next(2, out));
  ASSERT_TRUE(rig.sw.Next(1, out));
  EXPECT_TRUE(rig.sw.Next(2, out));
}

TEST(Access, APortThatMayNotIsRefusedAtMatchTime) {
  Rig rig;
  rig.sw.Allow(2, 0b1011);  // Allowed for ports 0, 1 and 3, and not for port 2 itself.
  rig.sw.Allow(1, 0b0100);  // Allowed only for port 2.
  const Opened opened = rig.Open(
      {.nodes = {Node(0, 0, 0, {Always(0b110)}), Node(1, 0, 1), Node(2, 0, 2)}, .max_message = 64});
  rig.Put(opened.stream, 0, 1, 64);
  EXPECT_EQ(rig.Drain(opened.stream, 1).size(), 0u);
  EXPECT_EQ(rig.Drain(opened.stream, 2).size(), 1u);
  EXPECT_EQ(rig.sw.dropped(Drop::kForbidden), 1u);
}

TEST(Wrong, EachIsDroppedUnderItsNameAndTheNextMessageArrives) {
  const auto write = [](uint64_t address, uint32_t length, MessageHeader header) {
    Tlp tlp;
    tlp.address = address;
    tlp.length = length;
    StoreTo(tlp.payload.data(), header);
    return tlp;
  };
  struct Case {
    Drop reason;
    PortId port;
    std::vector<Tlp> (*tlps)(uint64_t window, decltype(write)& write);
  };
  const Case cases[] = {
      {Drop::kNoWindow, 0,
       [](uint64_t window, auto& w) {
         return std::vector{w(window + (9ull << kWindowShift), 64, {})};
       }},
      {Drop::kNoWindow, 0, [](uint64_t, auto& w) { return std::vector{w(0x5000, 64, {})}; }},
      {Drop::kNotOwner, 1, [](uint64_t window, auto& w) { return std::vector{w(window, 64, {})}; }},
      {Drop::kTooLong, 0,
       [](uint64_t window, auto& w) { return std::vector{w(window, 256, {.length = 1025})}; }},
      {Drop::kBadHeader, 0,
       [](uint64_t window, auto& w) { return std::vector{w(window, 63, {.length = 10})}; }},
      {Drop::kBadHeader, 0,
       [](uint64_t window, auto& w) { return std::vector{w(window, 128, {.length = 10})}; }},
      {Drop::kGap, 0,
       [](uint64_t window, auto& w) {
         return std::vector{w(window, 128, {.length = 500}), w(window + 192, 64, {})};
       }},
      {Drop::kGap, 0, [](uint64_t window, auto& w) { return std::vector{w(window + 64, 64, {})}; }},
      {Drop::kGap, 0,
       [](uint64_t window, auto& w) {  // Exceeds the header's length.
         return std::vector{w(window, 128, {.length = 100}), w(window + 128, 64, {})};
       }},
      {Drop::kCut, 0,
       [](uint64_t window, auto& w) {
         return std::vector{w(window, 128, {.length = 500}), w(window, 64, {})};
       }},
  };
  for (const Case& one : cases) {
    Rig rig;
    const Opened opened = rig.Open(Pair());
    for (const Tlp& tlp : one.tlps(opened.windows[0], write)) {
      ASSERT_TRUE(rig.sw.Accept(one.port, tlp));
      rig.Pump();
    }
    Drops expected{};
    expected[static_cast<uint32_t>(one.reason)] = 1;
    EXPECT_EQ(rig.sw.drops(), expected) << kDropNames[static_cast<uint32_t>(one.reason)];
    rig.Put(opened.stream, 0, 77, 600);
    const auto got = rig.Drain(opened.stream, 1);
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got.back().header.message, 77u);
    EXPECT_EQ(got.back().data, Bytes(600, 77));
    EXPECT_EQ(got.size(), one.reason == Drop::kCut ? 2u : 1u);
    EXPECT_EQ(rig.sw.drops(), expected);
  }
}

TEST(Wrong, CreditsThatLieChangeNothing) {
  Rig rig;
  const Opened opened = rig.Open(Pair());
  rig.Put(opened.stream, 0, 1, 128);
  rig.Pump();
  for (const uint64_t lie : {uint64_t{193}, ~uint64_t{0}}) {
    Tlp tlp;
    tlp.address = opened.registers[1];
    tlp.length = 8;
    StoreTo(tlp.payload.data(), lie);
    rig.sw.Accept(1, tlp);
  }
  EXPECT_EQ(rig.sw.dropped(Drop::kBadCredit), 2u);
  Tlp other;
  other.address = opened.registers[1];
  other.length = 8;
  rig.sw.Accept(2, other);  // A write by another device.
  EXPECT_EQ(rig.sw.dropped(Drop::kBadCredit), 3u);
}

TEST(Setup, SaysWhatIsWrongAndChangesNothing) {
  PipelineShape small;
  small.capacity = {2, 2, 3, 8, 8, 16};
  Rig rig(4, small);
  const auto error = [&](auto change) {
    StreamSpec spec = Pair();
    change(spec);
    return rig.sw.Open(spec).error;
  };
  EXPECT_EQ(error([](StreamSpec& s) { s.nodes.pop_back(); }), "a stream must have 2 to 16 nodes");
  EXPECT_EQ(error([](StreamSpec& s) { s.nodes[1].port = 9; }),
            "node 1: the switch has no such port");
  EXPECT_EQ(error([](StreamSpec& s) { s.nodes[0].out.edges[0].targets = 0b100; }),
            "node 0: an edge leads to a node that does not exist");
  EXPECT_EQ(error([](StreamSpec& s) { s.nodes[1].out.edges = {Always(1)}; }),
            "node 1: an edge leads to the node itself or to an earlier node");
  EXPECT_EQ(error([](StreamSpec& s) { s.max_message = 1u << 24; }),
            "the longest message must have 1 to 16777152 bytes, the size of a window");
  EXPECT_EQ(error([](StreamSpec& s) { s.nodes[1].buffer_bytes = 1024; }),
            "node 1: its buffer is smaller than the longest message, rounded up to 64-byte lines");
  EXPECT_EQ(error([](StreamSpec& s) { s.nodes[0].out.edges.assign(4, Always(2)); }),
            "table policy has room for 3 more entries, but 4 are needed");
  ASSERT_EQ(rig.sw.Open(Pair()).error, "");
  ASSERT_EQ(rig.sw.Open(Pair()).error, "");
  EXPECT_EQ(rig.sw.Open(Pair()).error,
            "table window has room for 0 more entries, but 1 are needed");
}

TEST(Teardown, WritesInFlightArriveAndLaterOnesAreRefused) {
  Rig rig;
  const Opened opened = rig.Open(Pair());
  for (uint32_t i = 0; i < 3; ++i) rig.Put(opened.stream, 0, i, 200);
  Tlp tlp;
  std::vector<Tlp> in_flight;
  while (rig.at[{opened.stream, 0}].writer->Next(tlp)) in_flight.push_back(tlp);
  rig.sw.Close(opened.stream);
  EXPECT_FALSE(rig.sw.Finished(opened.stream));
  for (const Tlp& each : in_flight) rig.sw.Accept(0, each);
  // The read follows the writes: three messages of 264 bytes each, including the header. That is 5
  // granules per message.
  const WindowReport report = rig.Flush(0, opened.windows[0]);
  EXPECT_EQ(report.messages, 3u);
  EXPECT_EQ(report.received, 3u * 5);
  EXPECT_FALSE(rig.sw.Finished(opened.stream));
  in_flight[0].address = opened.windows[0];
  rig.sw.Accept(0, in_flight[0]);
  EXPECT_EQ(rig.sw.dropped(Drop::kClosed), 1u);
  EXPECT_EQ(rig.Drain(opened.stream, 1).size(), 3u);
  EXPECT_TRUE(rig.sw.Finished(opened.stream));
  rig.sw.Accept(0, in_flight[0]);
  EXPECT_EQ(rig.sw.dropped(Drop::kNoWindow), 1u) << "it is nobody's";
  // The stream's number, window and entries are free again.
  const Opened again = rig.Open(Pair());
  EXPECT_EQ(again.stream, opened.stream);
  rig.Put(again.stream, 0, 9, 64);
  EXPECT_EQ(rig.Drain(again.stream, 1).size(), 1u);
}

TEST(Teardown, AMessageWithoutAnEndIsCutByTheFlush) {
  Rig rig;
  const Opened opened = rig.Open(Pair());
  rig.Put(opened.stream, 0, 0, 1000);
  Tlp tlp;
  for (int i = 0; i < 2; ++i) {  // Two of five TLPs.
    ASSERT_TRUE((rig.at[{opened.stream, 0}].writer->Next(tlp)));
    rig.sw.Accept(0, tlp);
  }
  rig.at[{opened.stream, 0}].writer.reset();
  rig.sw.Close(opened.stream);
  EXPECT_EQ(rig.Flush(0, opened.windows[0]).messages, 0u);
  EXPECT_EQ(rig.sw.dropped(Drop::kCut), 1u);
  EXPECT_TRUE(rig.Drain(opened.stream, 1).empty());
  EXPECT_TRUE(rig.sw.Finished(opened.stream));
}

TEST(Forward, WhatIsNoStreamGoesByAddressAndCompletionsReturn) {
  Rig rig;
  ASSERT_TRUE(
      rig.sw.AddRange({.base = DeviceBase(3), .bytes = 1 << 20, .port = 3, .allowed = 0b0011}));
  EXPECT_FALSE(rig.sw.AddRange({.base = DeviceBase(3) + 4096, .bytes = 1, .port = 1}));
  EXPECT_FALSE(rig.sw.AddRange({.base = kSwitchBase + 1, .bytes = 1, .port = 1}));
  Tlp read;
  read.kind = TlpKind::kRead;
  read.address = DeviceBase(3) + 64;
  read.length = 512;
  read.tag = 5;
  ASSERT_TRUE(rig.sw.Accept(1, read));
  Tlp out;
  ASSERT_TRUE(rig.sw.Next(3, out));
  EXPECT_EQ(out.requester, 1);
  out.kind = TlpKind::kCompletion;
  out.length = 256;
  ASSERT_TRUE(rig.sw.Accept(3, out));
  ASSERT_TRUE(rig.sw.Next(1, out));
  EXPECT_EQ(out.tag, 5);
  // Port 2 is not allowed, so its read is refused.
  ASSERT_TRUE(rig.sw.Accept(2, read));
  EXPECT_FALSE(rig.sw.Next(3, out));
  ASSERT_TRUE(rig.sw.Next(2, out));
  EXPECT_TRUE(out.refused);
  EXPECT_EQ(rig.sw.dropped(Drop::kForbidden), 1u);
}

TEST(Forward, WhoTakesNoCompletionsMakesNoneWait) {
  Switch sw({.ports = 2, .pipeline = {}, .port_tlps = 16});
  Tlp read;
  read.kind = TlpKind::kRead;
  read.length = 64;
  for (const uint64_t address : {uint64_t{4096}, kWindows, kGlueMemory, kRegisters}) {
    read.address = address;  // An address without a device.
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(sw.Accept(0, read));
  }
  int refused = 0;
  for (Tlp out; sw.Next(0, out); ++refused) EXPECT_TRUE(out.refused);
  EXPECT_EQ(refused, 16);
}

TEST(Pipeline, DelaysEveryTlpByItsCycles) {
  // 10 stages of 10 cycles each at 3 GHz: 33.333 ns.
  EXPECT_EQ(
      (PipelineShape{.stages = 10, .cycles_per_stage = 10, .hertz = 3'000'000'000}).latency_ps(),
      33'333u);
  EXPECT_EQ(
      (PipelineShape{.stages = 6, .cycles_per_stage = 1, .hertz = 1'000'000'000}).latency_ps(),
      6'000u);
}

}  // namespace
}  // namespace sluice::device::pcie_switch::test
