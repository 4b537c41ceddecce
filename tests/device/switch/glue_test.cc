// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how the switch drives a device that knows only descriptors: doorbell, descriptor, data,
// record.
#include <gtest/gtest.h>

#include <cstring>

#include "rig.h"

namespace sluice::device::pcie_switch::test {
namespace {

/// A chain of three nodes, 0 -> 1 -> 2; node 1 has the legacy interface.
StreamSpec Chain(uint32_t slots, uint32_t window_granules = 64) {
  StreamSpec spec{
      .nodes = {Node(0, 0, 0, {Always(0b010)}), Node(1, 0, 1, {Always(0b100)}), Node(2, 0, 2)},
      .max_message = 1000};
  spec.nodes[1].kind = NodeKind::kLegacy;
  spec.nodes[1].slots = slots;
  spec.nodes[1].window_granules = window_granules;
  spec.nodes[1].command = 3;
  spec.nodes[1].state = {1, 2};
  return spec;
}

std::vector<uint8_t> ReadAll(Rig& rig, PortId port, uint64_t address, uint32_t length) {
  std::vector<uint8_t> bytes(length);
  for (uint32_t at = 0; at < length; at += kMaxReadRequest) {
    Tlp read;
    read.kind = TlpKind::kRead;
    read.address = address + at;
    read.length = std::min(length - at, kMaxReadRequest);
    rig.completions.clear();
    EXPECT_TRUE(rig.sw.Accept(port, read));
    rig.Pump();
    for (const Tlp& tlp : rig.completions) {
      EXPECT_FALSE(tlp.refused);
      std::memcpy(bytes.data() + at + tlp.address, tlp.payload.data(), tlp.length);
    }
  }
  return bytes;
}

void WriteAll(Rig& rig, PortId port, uint64_t address, const std::vector<uint8_t>& bytes) {
  for (uint32_t at = 0; at < bytes.size(); at += kMaxPayload) {
    Tlp tlp;
    tlp.address = address + at;
    tlp.length = std::min<uint32_t>(static_cast<uint32_t>(bytes.size()) - at, kMaxPayload);
    std::memcpy(tlp.payload.data(), bytes.data() + at, tlp.length);
    EXPECT_TRUE(rig.sw.Accept(port, tlp));
    rig.Pump();
  }
}

std::vector<uint8_t> Result(LegacyRecord record, const std::vector<uint8_t>& data) {
  std::vector<uint8_t> bytes(sizeof record + data.size());
  StoreTo(bytes.data(), record);
  std::copy(data.begin(), data.end(), bytes.begin() + sizeof record);
  return bytes;
}

TEST(Glue, ADescriptorIsRungFetchedAndItsResultBecomesAMessage) {
  Rig rig;
  const Opened opened = rig.Open(Chain(2));
  ASSERT_EQ(opened.error, "");
  for (uint32_t i = 0; i < 5; ++i) rig.Put(opened.stream, 0, 40 + i, 700 + i, 6);
  for (uint32_t i = 0; i < 5; ++i) {
    rig.Pump();
    ASSERT_FALSE(rig.others.empty());
    // The switch rings one doorbell per descriptor, and is at most two descriptors ahead.
    EXPECT_EQ(LoadFrom<uint32_t>(rig.others.back().payload.data()), std::min(i + 2, 5u));
    EXPECT_EQ(rig.others.back().address, NodeBase(1, 0, 1) + kDoorbellOffset);
    const auto bytes = ReadAll(rig, 1, opened.rings[1] + i % 2 * 64, 64);
    const auto descriptor = LoadFrom<LegacyDescriptor>(bytes.data());
    EXPECT_EQ(descriptor.sequence, i);
    EXPECT_EQ(descriptor.length, 700 + i);
    EXPECT_EQ(descriptor.capacity, 1000u);
    EXPECT_EQ(descriptor.command, 3u);
    EXPECT_EQ(descriptor.state, (State{1, 2}));
    EXPECT_EQ(descriptor.output, opened.windows[1]);
    EXPECT_EQ(ReadAll(rig, 1, descriptor.input, descriptor.length), Bytes(700 + i, 40 + i));
    WriteAll(rig, 1, descriptor.output,
             Result({.sequence = i, .length = 500, .key = 8}, Bytes(500, i)));
    const auto got = rig.Drain(opened.stream, 2);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].header.message, 40 + i);
    EXPECT_EQ(got[0].header.key[0], 8u);
    EXPECT_EQ(got[0].data, Bytes(500, i));
  }
  EXPECT_EQ(rig.others.size(), 5u);
  EXPECT_EQ(rig.sw.drops(), Drops{});
}

TEST(Glue, NoDescriptorIsGivenWhoseResultHasNoPlace) {
  Rig rig;
  // A result needs 16 granules. The window has 20, so one result fits, regardless of the number of
  // slots.
  const Opened opened = rig.Open(Chain(8, 20));
  ASSERT_EQ(opened.error, "");
  for (uint32_t i = 0; i < 4; ++i) rig.Put(opened.stream, 0, i, 900);
  rig.Pump();
  EXPECT_EQ(rig.others.size(), 1u);
  EXPECT_EQ(rig.sw.Open(Chain(8, 15)).error,
            "node 1: its window is smaller than the longest result");
  EXPECT_EQ(rig.sw.Open(Chain(6)).error, "node 1: the number of its slots must be a power of two");
}

TEST(Glue, ARefusedResultIsCountedAndNothingIsForwarded) {
  Rig rig;
  const Opened opened = rig.Open(Chain(2));
  rig.Put(opened.stream, 0, 1, 100);
  rig.Pump();
  WriteAll(rig, 1, opened.windows[1], Result({.sequence = 0, .status = 1}, {}));
  EXPECT_TRUE(rig.Drain(opened.stream, 2).empty());
  EXPECT_EQ(rig.sw.dropped(Drop::kRefused), 1u);
  // A repeated record, and a record for a descriptor that does not exist.
  WriteAll(rig, 1, opened.windows[1], Result({.sequence = 0, .length = 4}, Bytes(4)));
  WriteAll(rig, 1, opened.windows[1], Result({.sequence = 9, .length = 4}, Bytes(4)));
  EXPECT_EQ(rig.sw.dropped(Drop::kBadRecord), 2u);
  EXPECT_TRUE(rig.Drain(opened.stream, 2).empty());
}

TEST(Glue, OnlyTheDeviceItselfReadsItsDescriptors) {
  Rig rig;
  const Opened opened = rig.Open(Chain(2));
  const auto read = [&](PortId port, uint64_t address, uint32_t length) {
    Tlp tlp;
    tlp.kind = TlpKind::kRead;
    tlp.address = address;
    tlp.length = length;
    rig.completions.clear();
    rig.sw.Accept(port, tlp);
    rig.Pump();
    return rig.completions.at(0).refused;
  };
  EXPECT_FALSE(read(1, opened.rings[1], 64));
  EXPECT_TRUE(read(2, opened.rings[1], 64));
  // 2 descriptors and 2 slots of 1024 bytes are 2176 bytes; one byte more is refused.
  EXPECT_FALSE(read(1, opened.rings[1] + 2176 - 64, 64));
  EXPECT_TRUE(read(1, opened.rings[1] + 2176 - 63, 64));
  EXPECT_TRUE(read(1, opened.rings[1], 0)) << "of nothing";
  EXPECT_EQ(rig.sw.dropped(Drop::kBadRead), 3u);
}

TEST(Glue, ALegacyDeviceThatSendsNothingOnReportsToItsRegister) {
  Rig rig;
  StreamSpec spec{.nodes = {Node(0, 0, 0, {Always(0b10)}), Node(1, 0, 1)}, .max_message = 1000};
  spec.nodes[1].kind = NodeKind::kLegacy;
  spec.nodes[1].slots = 1;
  const Opened opened = rig.Open(spec);
  ASSERT_EQ(opened.error, "");
  for (uint32_t i = 0; i < 3; ++i) {
    rig.Put(opened.stream, 0, i, 100);
    rig.Pump();
    ASSERT_EQ(rig.others.size(), i + 1);
    WriteAll(rig, 1, opened.registers[1], Result({.sequence = i}, {}));
  }
  EXPECT_EQ(rig.sw.MessagesTo(opened.stream, 1), 3u);
  rig.sw.Close(opened.stream);
  rig.Flush(0, opened.windows[0]);
  EXPECT_TRUE(rig.sw.Finished(opened.stream));
}

// A legacy device has no windows, so it never flushes one.
TEST(Glue, ALegacyNodesWindowClosesWhenItHasAnsweredAll) {
  Rig rig;
  const Opened opened = rig.Open(Chain(2));
  rig.Put(opened.stream, 0, 1, 100);
  rig.Pump();
  rig.sw.Close(opened.stream);
  rig.Flush(0, opened.windows[0]);
  EXPECT_TRUE(rig.sw.Quiet(opened.stream, 0));
  EXPECT_FALSE(rig.sw.Quiet(opened.stream, 1)) << "it has a descriptor";
  EXPECT_FALSE(rig.sw.Finished(opened.stream));
  WriteAll(rig, 1, opened.windows[1], Result({.sequence = 0, .length = 10}, Bytes(10)));
  EXPECT_TRUE(rig.sw.Quiet(opened.stream, 1));
  EXPECT_FALSE(rig.sw.Finished(opened.stream)) << "the result is not consumed";
  EXPECT_FALSE(rig.sw.Quiet(opened.stream, 2));
  EXPECT_EQ(rig.Drain(opened.stream, 2).size(), 1u);
  EXPECT_TRUE(rig.sw.Quiet(opened.stream, 2));
  EXPECT_TRUE(rig.sw.Finished(opened.stream));
}

TEST(Glue, AFailedStreamIsFreeWhenItsLegacyDeviceHasAnswered) {
  Rig rig;
  const Opened opened = rig.Open(Chain(2));
  rig.Put(opened.stream, 0, 1, 100);
  rig.Pump();
  rig.sw.Fail(2);
  ASSERT_TRUE(rig.sw.failed(opened.stream));
  EXPECT_FALSE(rig.sw.Finished(opened.stream)) << "it has a descriptor";
  WriteAll(rig, 1, opened.windows[1], Result({.sequence = 0, .length = 300}, Bytes(300)));
  EXPECT_EQ(rig.sw.dropped(Drop::kClosed), 2u);
  EXPECT_TRUE(rig.sw.Finished(opened.stream));
}

TEST(Glue, WhatADeadLegacyDeviceHadIsCounted) {
  Rig rig;
  StreamSpec spec = Chain(2);
  spec.nodes[1].on_death = OnDeath::kBypass;
  spec.nodes[1].bypass = 2;
  const Opened opened = rig.Open(spec);
  for (uint32_t i = 0; i < 5; ++i) rig.Put(opened.stream, 0, i, 400);
  rig.Pump();
  rig.sw.Fail(1);
  EXPECT_EQ(rig.sw.dropped(Drop::kStageDead), 2u);
  EXPECT_EQ(rig.Drain(opened.stream, 2).size(), 3u);
}

}  // namespace
}  // namespace sluice::device::pcie_switch::test
