// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the layout of an endpoint, and one manual exchange of each kind between the two ends. The
// expected offsets and numbers are derived from the comment and constants of coherent/layout.h.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "coherent/frame_host.h"
#include "coherent/frames.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"
#include "cpu/clock.h"
#include "hostile_memory.h"

namespace sluice::coherent::test {
namespace {

/// Both ends of an endpoint, with the endpoint's memory.
struct Couple {
  explicit Couple(const Geometry& geometry = {.overflow_lines = 2, .buffer_bytes = 4096},
                  const NicOptions& options = {.process = 1})
      : bytes(geometry.Bytes() + 4096),
        base(reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(bytes.data()) + 4095) / 4096 *
                                        4096)),
        memory(EndpointMemory::Format({base, geometry.Bytes()}, geometry)),
        nic(memory, options, 0),
        host(EndpointMemory::Find({base, geometry.Bytes()}), WaitMethod::kPause) {}

  /// The host waits in a load, and the NIC observes the load.
  void Load() {
    EXPECT_EQ(host.Wait(0), Got::kNothing);
    EXPECT_EQ(nic.Look(Pair::kReceive, 0), Seen::kLoad);
  }
  bool Deliver(uint64_t tag, uint32_t length = 0) {
    return nic.Deliver(Pair::kReceive, {.kind = Kind::kRequest, .length = length, .code = 5}, 1,
                       tag);
  }

  std::vector<uint8_t> bytes;
  uint8_t* base;
  EndpointMemory memory;
  NicEnd nic;
  HostEnd host;
};

TEST(Layout, PlacesAreThoseOfTheDescription) {
  const Geometry geometry = {.overflow_lines = 2, .buffer_bytes = 8192};
  EXPECT_EQ(geometry.SlotBytes(), 384u);
  EXPECT_EQ(geometry.LineCapacity(), 104u + 2 * 128);
  EXPECT_EQ(geometry.LineOffset(Pair::kReceive, 0), 512u);
  EXPECT_EQ(geometry.LineOffset(Pair::kReceive, 1), 512u + 384);
  EXPECT_EQ(geometry.LineOffset(Pair::kReceive, 6), 512u);
  EXPECT_EQ(geometry.LineOffset(Pair::kTransmit, 0), 512u + 2 * 384);
  EXPECT_EQ(geometry.LineOffset(Pair::kTransmit, 3), 512u + 3 * 384);
  // 512 + 4 * 384 = 2048; buffers begin at the next page.
  EXPECT_EQ(geometry.BufferOffset(Pair::kReceive, 0), 4096u);
  EXPECT_EQ(geometry.BufferOffset(Pair::kTransmit, 1), 4096u + 3 * 8192);
  EXPECT_EQ(geometry.Bytes(), 4096u + 4 * 8192);
  EXPECT_EQ((Geometry{.overflow_lines = 2}.Bytes()), 2048u);
  // The lines must have room for the frames of the public implementation, which uses MTU 9618 and
  // 76 overflow lines.
  EXPECT_GE(Geometry{}.LineCapacity(), 9618u);
}

TEST(Layout, ControlWordsKeepEveryField) {
  // Request number 0x89abcdef, length 0x12345, 3 frames, payload in the buffer, kReply (7). The bit
  // positions are those of layout.h.
  const Control control = {0x89ab'cdef, 0x1'2345, 3, true, Kind::kReply};
  EXPECT_EQ(control.Word(), 0x7831'2345'89ab'cdefull);
  EXPECT_EQ(Control::Of(control.Word()), control);
  EXPECT_EQ(Control::Of(kPoison).kind, Kind::kNone);
  for (uint64_t kind = kKinds; kind < 16; ++kind) {
    EXPECT_EQ(Control::Of(kind << 60).kind, Kind::kNone) << kind;
  }
}

TEST(Layout, WhatIsNotSoundIsNotFound) {
  Couple couple;
  const std::span memory(couple.base, couple.memory.geometry().Bytes());
  EXPECT_TRUE(EndpointMemory::Find(memory));
  EXPECT_FALSE(EndpointMemory::Find(memory.first(memory.size() - 1))) << "cut";
  EXPECT_FALSE(EndpointMemory::Find(memory.first(100)));
  EXPECT_FALSE(EndpointMemory::Find(memory.subspan(8))) << "not aligned";
  struct Case {
    Geometry geometry;
    const char* error;
  };
  for (const auto& [geometry, error] : {
           Case{{.mode = static_cast<Mode>(2)}, "mode: give user or kernel"},
           Case{{.overflow_lines = 1025}, "overflow_lines: give at most 1024"},
           Case{{.buffer_bytes = 100}, "buffer_bytes: give a multiple of 4096, at most 1044480"},
           Case{{.buffer_bytes = 1 << 20},
                "buffer_bytes: give a multiple of 4096, at most 1044480"},
           Case{{.headroom_bytes = 7}, "headroom_bytes: give a multiple of 8, at most 256"},
           Case{{.headroom_bytes = 264}, "headroom_bytes: give a multiple of 8, at most 256"},
       }) {
    EXPECT_STREQ(geometry.Error(), error);
    couple.memory.header().geometry = geometry;
    EXPECT_FALSE(EndpointMemory::Find(memory)) << error;
  }
  couple.memory.header().geometry = {};
  EXPECT_FALSE(EndpointMemory::Find(memory)) << "sizes that the memory does not have";
}

TEST(Exchange, TheReplyLiesWhereTheArgumentsWere) {
  Couple couple;
  for (const uint32_t length : {0u, 1u, 40u, 104u, 105u, 360u}) {
    if (!couple.nic.Waits(Pair::kReceive)) couple.Load();
    const uint64_t line = couple.nic.number(Pair::kReceive) & 1;
    std::memset(couple.nic.Room(Pair::kReceive).data(), 'a', length);
    ASSERT_TRUE(couple.Deliver(length, length)) << length;
    ASSERT_EQ(couple.host.Wait(0), Got::kContent);
    EXPECT_EQ(couple.host.content().code, 5u);
    ASSERT_EQ(couple.host.payload().size(), length);
    EXPECT_EQ(couple.host.payload().data(), couple.base + 512 + line * 384 + 24);
    for (uint8_t& byte : couple.host.payload()) byte = static_cast<uint8_t>(byte + 1);
    ASSERT_TRUE(couple.host.Return({.kind = Kind::kReply, .length = length, .code = 9}));
    EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kNothing) << "not before the next load";
    EXPECT_EQ(couple.host.Wait(0), Got::kNothing);
    ASSERT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kReturned);
    const Returned& back = couple.nic.returned(Pair::kReceive);
    EXPECT_EQ(back.kind, Kind::kReply);
    EXPECT_EQ(back.status, 9u);
    EXPECT_EQ(back.tag, length);
    EXPECT_EQ(std::string(back.payload.begin(), back.payload.end()), std::string(length, 'b'));
    EXPECT_NE(couple.nic.number(Pair::kReceive) & 1, line) << "the other line";
  }
  EXPECT_FALSE(couple.Deliver(0, 361)) << "a payload that does not fit";
  EXPECT_EQ(couple.nic.counters(Pair::kReceive).replied, 6u);
}

TEST(Exchange, WhatIsTooLargeForLinesIsInTheBuffer) {
  Couple couple;
  couple.Load();
  const std::span<uint8_t> room = couple.nic.Room(Pair::kReceive, true);
  ASSERT_EQ(room.size(), 4096u);
  EXPECT_EQ(room.data(), couple.base + 4096 + 4096) << "the first load is of line 1";
  room[4095] = 77;
  const Content content = {.kind = Kind::kRequest, .length = 4096, .in_buffer = true};
  ASSERT_TRUE(couple.nic.Deliver(Pair::kReceive, content, 1, 0));
  ASSERT_EQ(couple.host.Wait(0), Got::kContent);
  ASSERT_EQ(couple.host.payload().size(), 4096u);
  EXPECT_EQ(couple.host.payload()[4095], 77);
  EXPECT_FALSE(couple.host.Return({.kind = Kind::kReply, .length = 4097, .in_buffer = true}));
  EXPECT_TRUE(couple.host.Return({.kind = Kind::kReply, .length = 4096, .in_buffer = true}));
}

TEST(Exchange, AnEmptyAnswerChangesTheLineToo) {
  Couple couple;
  couple.Load();
  EXPECT_EQ(couple.nic.number(Pair::kReceive), 1u);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 14'999'999), Seen::kNothing);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 15'000'000), Seen::kTriedAgain) << "after 15 ms";
  EXPECT_FALSE(couple.Deliver(1)) << "no load waits";
  EXPECT_EQ(couple.host.Wait(0), Got::kTryAgain);
  couple.Load();
  EXPECT_EQ(couple.nic.number(Pair::kReceive), 2u);
  EXPECT_TRUE(couple.Deliver(1));
  EXPECT_EQ(couple.host.Wait(0), Got::kContent);
}

TEST(Exchange, ALoadWaitsAsLongAsItsPatience) {
  Couple couple;
  constexpr uint64_t kPatience = 2'000'000;
  const uint64_t before = cpu::Cycles();
  EXPECT_EQ(couple.host.Wait(kPatience), Got::kNothing);
  EXPECT_GE(cpu::Cycles() - before, kPatience);
}

TEST(Exchange, ASuccessorLetsALoadWaitFromItsOwnStart) {
  Couple couple;
  couple.Load();
  NicEnd successor(couple.memory, {.process = 1}, 100'000'000);
  EXPECT_EQ(successor.Look(Pair::kReceive, 114'999'999), Seen::kNothing);
  EXPECT_EQ(successor.Look(Pair::kReceive, 115'000'000), Seen::kTriedAgain);
}

TEST(Exchange, NothingReturnedIsSaidSo) {
  Couple couple;
  couple.Load();
  couple.Deliver(3);
  ASSERT_EQ(couple.host.Wait(0), Got::kContent);
  EXPECT_EQ(couple.host.Wait(0), Got::kNothing);
  ASSERT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kReturned);
  EXPECT_EQ(couple.nic.returned(Pair::kReceive).kind, Kind::kNoReply);
  EXPECT_EQ(couple.nic.returned(Pair::kReceive).tag, 3u);
}

TEST(Exchange, ARequestOfAnotherProcessIsRefused) {
  Couple couple;
  couple.Load();
  EXPECT_FALSE(couple.nic.Deliver(Pair::kReceive, {.kind = Kind::kRequest}, 2, 0));
  EXPECT_EQ(couple.host.Wait(0), Got::kNothing);
}

TEST(Frames, GoBothWaysInOnePair) {
  Couple couple({.overflow_lines = 2, .headroom_bytes = 24});
  couple.Load();
  FrameWriter writer(couple.nic.Room(Pair::kReceive), couple.nic.geometry().headroom_bytes);
  std::memset(writer.Add(60, 8), 1, 60);
  std::memset(writer.Add(61, 8), 2, 61);
  // The records have 8 + 24 + 64 bytes each; lengths 60 and 61 are rounded up to 64.
  EXPECT_EQ(writer.length(), 192u);
  EXPECT_EQ(writer.Add(200, 8), nullptr) << "360 bytes in all";
  EXPECT_EQ(writer.Add(60, 2), nullptr) << "two frames at most";
  const Content frames = {.kind = Kind::kFrames, .length = writer.length(), .count = 2};
  ASSERT_TRUE(couple.nic.Deliver(Pair::kReceive, frames, 1, 0));

  ASSERT_EQ(couple.host.Wait(0), Got::kContent);
  FrameWalker walker(couple.host.payload(), couple.host.content().count);
  ASSERT_TRUE(walker.Next());
  EXPECT_EQ(walker.frame().size(), 60u);
  walker.Set(8, 0);  // Drops the frame.
  ASSERT_TRUE(walker.Next());
  walker.frame().data()[-20] = 9;
  walker.Set(static_cast<uint16_t>(walker.record().offset - 20),
             81);  // Prepends a header to the frame.
  EXPECT_FALSE(walker.Next());
  EXPECT_FALSE(walker.bad());
  EXPECT_TRUE(couple.host.Return(frames));
  couple.host.Wait(0);

  ASSERT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kReturned);
  const Returned& back = couple.nic.returned(Pair::kReceive);
  FrameWalker sent(back.payload, back.count);
  ASSERT_TRUE(sent.Next());
  EXPECT_TRUE(sent.frame().empty());
  ASSERT_TRUE(sent.Next());
  ASSERT_EQ(sent.frame().size(), 81u);
  EXPECT_EQ(sent.frame()[0], 9);
  EXPECT_EQ(sent.frame()[80], 2);
}

TEST(Frames, ARecordThatLiesEndsTheWalk) {
  for (const Record& record : {
           Record{.stride = 0, .offset = 8, .length = 14},
           Record{.stride = 20, .offset = 8, .length = 12},
           Record{.stride = 128, .offset = 8, .length = 60},
           Record{.stride = 72, .offset = 7, .length = 60},
           Record{.stride = 72, .offset = 16, .length = 57},
           Record{.stride = 72, .offset = 80, .length = 0},
           Record{.stride = 72, .offset = 8, .length = 13},
           Record{.stride = 72, .offset = 8, .length = 65535},
       }) {
    alignas(8) std::array<uint8_t, 120> payload{};
    const uint64_t word = record.Word();
    std::memcpy(payload.data(), &word, sizeof(word));
    FrameWalker walker(payload, 1);
    EXPECT_FALSE(walker.Next()) << record.stride << " " << record.offset << " " << record.length;
    EXPECT_TRUE(walker.bad());
  }
  alignas(8) std::array<uint8_t, 72> payload{};
  const uint64_t word = Record{.stride = 72, .offset = 8, .length = 64}.Word();
  std::memcpy(payload.data(), &word, sizeof(word));
  FrameWalker walker(payload, 2);
  EXPECT_TRUE(walker.Next());
  EXPECT_FALSE(walker.Next()) << "two frames announced, one there";
  EXPECT_TRUE(walker.bad());
}

void PutHead(std::span<uint8_t> payload, size_t at, const Record& record) {
  const uint64_t word = record.Word();
  std::memcpy(payload.data() + at, &word, sizeof(word));
}
constexpr Record kFull{.stride = 72, .offset = 8, .length = 60};
constexpr Record kEmpty{.stride = 72, .offset = 8, .length = 0};

TEST(Frames, AnEqualHeadThatDoesNotFitEndsTheWalk) {
  for (const size_t rest : {0, 4, 8, 64, 72}) {
    alignas(8) std::array<uint8_t, 144> payload{};
    PutHead(payload, 0, kFull);
    PutHead(payload, 72, kFull);
    FrameWalker walker(std::span<uint8_t>(payload).first(72 + rest), 2);
    ASSERT_TRUE(walker.Next());
    EXPECT_EQ(walker.Next(), rest == 72) << rest;
    EXPECT_EQ(walker.bad(), rest != 72) << rest;
    EXPECT_EQ(walker.frame().size(), rest == 72 ? 60u : 0u);
    EXPECT_FALSE(walker.Next());
  }
}

TEST(Frames, ARecordOfZerosEndsTheWalkAtAnyPosition) {
  for (const bool first : {true, false}) {
    alignas(8) std::array<uint8_t, 144> payload{};
    if (!first) PutHead(payload, 0, kFull);
    FrameWalker walker(payload, 2);
    EXPECT_EQ(walker.Next(), !first);
    EXPECT_FALSE(walker.Next());
    EXPECT_TRUE(walker.bad());
  }
}

TEST(Frames, EqualAndOtherHeadsFollowEachOther) {
  constexpr Record kOther{.stride = 80, .offset = 16, .length = 61};
  constexpr Record kRecords[] = {kFull, kFull, kOther, kOther, kEmpty, kEmpty, kFull};
  alignas(8) std::array<uint8_t, 520> payload{};
  size_t at = 0;
  for (const Record& record : kRecords) {
    PutHead(payload, at, record);
    at += record.stride;
  }
  FrameWalker walker(payload, std::size(kRecords));
  at = 0;
  for (const Record& record : kRecords) {
    ASSERT_TRUE(walker.Next());
    EXPECT_EQ(walker.frame().data(), payload.data() + at + record.offset);
    EXPECT_EQ(walker.frame().size(), record.length);
    at += record.stride;
  }
  EXPECT_FALSE(walker.Next());
  EXPECT_FALSE(walker.bad());
}

TEST(Frames, AGrownFrameMustFitThePayload) {
  alignas(8) std::array<uint8_t, 144> payload{};
  PutHead(payload, 72, kFull);
  const std::span<uint8_t> all(payload);
  EXPECT_EQ(GrownFrame(all, 9).size(), 60u);
  EXPECT_TRUE(GrownFrame(all.first(136), 9).empty()) << "ends within the record";
  EXPECT_TRUE(GrownFrame(all.first(76), 9).empty()) << "ends within its head";
}

TEST(Frames, TheHostLendsFramesUpToARecordThatDoesNotFit) {
  struct Held {
    uint8_t* data;
    uint32_t length, headroom, tailroom;
  };
  std::array<Held, FrameHost::kMaxFrames> frames;
  Couple couple;  // The host end of this couple never loads.
  FrameHost host(couple.memory);
  ASSERT_EQ(host.Wait(frames.data()), 0u);
  ASSERT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kLoad);
  const std::span<uint8_t> room = couple.nic.Room(Pair::kReceive);
  size_t at = 0;
  for (const Record& record : {kFull, kEmpty, kFull, kFull, kFull}) {
    PutHead(room, at, record);
    at += record.stride;
  }
  // The payload ends within the last record, whose head equals that of the previous record.
  const Content content = {.kind = Kind::kFrames, .length = 4 * 72 + 16, .count = 5};
  ASSERT_TRUE(couple.nic.Deliver(Pair::kReceive, content, 1, 0));
  ASSERT_EQ(host.Wait(frames.data()), 3u);
  EXPECT_TRUE(host.faulted());
  const std::array<size_t, 3> records = {0, 2, 3};
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(frames[i].data, room.data() + records[i] * 72 + 8);
    EXPECT_EQ(frames[i].length, 60u);
    EXPECT_EQ(frames[i].headroom, 0u);
    EXPECT_EQ(frames[i].tailroom, 4u);
  }
  host.Answer(static_cast<const Held*>(nullptr), 0);
  ASSERT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kReturned);
  EXPECT_EQ(couple.nic.returned(Pair::kReceive).count, 4u);
}

TEST(Transmit, TheLoadOfTheOtherLineIsTheDoorbell) {
  Couple couple;
  EXPECT_FALSE(couple.host.Send({.kind = Kind::kFrames})) << "no line is granted";
  for (uint64_t frame = 1; frame <= 3; ++frame) {
    couple.host.Grant(0);
    couple.nic.Look(Pair::kTransmit, 0);
    ASSERT_TRUE(couple.nic.Deliver(Pair::kTransmit, {.kind = Kind::kGrant}, 1, 0));
    ASSERT_EQ(couple.host.Grant(0), Got::kContent);
    EXPECT_EQ(couple.host.Grant(0), Got::kContent) << "the same line";
    couple.host.SendRoom()[0] = static_cast<uint8_t>(frame);
    ASSERT_TRUE(couple.host.Send({.kind = Kind::kFrames, .length = 1, .count = 1}));
    ASSERT_EQ(couple.nic.Look(Pair::kTransmit, 0), Seen::kReturned);
    EXPECT_EQ(couple.nic.returned(Pair::kTransmit).payload[0], frame);
  }
  EXPECT_EQ(couple.nic.number(Pair::kTransmit), 4u);
}

TEST(Preemption, AHostThatWaitsLeavesAtOnceAndStaysOut) {
  Couple couple;
  couple.Load();
  EXPECT_TRUE(couple.nic.Preempt(0));
  EXPECT_FALSE(couple.nic.Preempt(0));
  EXPECT_TRUE(couple.host.Asked());
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kNothing) << "it has not seen YIELDNOW";
  EXPECT_EQ(couple.host.Wait(0), Got::kYieldNow);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kLeft);
  EXPECT_EQ(couple.host.Wait(0), Got::kBarred);
  EXPECT_EQ(couple.host.Wait(0), Got::kBarred);
  EXPECT_TRUE(couple.nic.Resume());
  couple.Load();
  EXPECT_TRUE(couple.Deliver(1));
}

TEST(Preemption, AHandlerEndsAndItsReplyIsTaken) {
  Couple couple;
  couple.Load();
  couple.Deliver(4);
  couple.host.Wait(0);
  couple.nic.Preempt(1000);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 10'000'999), Seen::kNothing) << "a bound of 10 ms";
  couple.host.Return({.kind = Kind::kReply});
  EXPECT_EQ(couple.host.Wait(0), Got::kNothing);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 10'000'999), Seen::kReturned);
  EXPECT_EQ(couple.nic.returned(Pair::kReceive).tag, 4u);
  EXPECT_EQ(couple.host.Wait(0), Got::kYieldNow);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 10'001'000), Seen::kLeft);
}

TEST(Preemption, AHandlerThatDoesNotEndIsClosedAtTheBound) {
  Couple couple;
  couple.Load();
  couple.Deliver(4);
  couple.host.Wait(0);
  couple.nic.Preempt(1000);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 10'001'000), Seen::kOverdue);
  EXPECT_TRUE(couple.nic.closed());
  EXPECT_EQ(couple.nic.ConsumeLost(Pair::kReceive), 4u);
  EXPECT_EQ(couple.nic.ConsumeLost(Pair::kReceive), std::nullopt) << "once";
  EXPECT_EQ(couple.nic.counters(Pair::kReceive).lost, 1u);
  EXPECT_EQ(couple.host.Wait(0), Got::kClosed);
  EXPECT_EQ(couple.host.Grant(0), Got::kClosed);
}

TEST(Preemption, AHostThatWaitsForALineToFillIsLetGo) {
  Couple couple;
  couple.host.Grant(0);
  couple.nic.Look(Pair::kTransmit, 0);
  couple.nic.Preempt(0);
  EXPECT_EQ(couple.nic.Look(Pair::kTransmit, 0), Seen::kTriedAgain);
  EXPECT_EQ(couple.host.Grant(0), Got::kTryAgain);
  EXPECT_EQ(couple.host.Wait(0), Got::kNothing);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kLoad);
  EXPECT_EQ(couple.host.Wait(0), Got::kYieldNow);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kLeft);
}

TEST(Kernel, AnEndpointThatIsNotNeededRetires) {
  Couple couple({.mode = Mode::kKernel, .overflow_lines = 0});
  EXPECT_EQ(couple.nic.mode(), Mode::kKernel);
  EXPECT_FALSE(couple.nic.Retire()) << "no load waits";
  couple.Load();
  EXPECT_TRUE(couple.nic.Retire());
  EXPECT_EQ(couple.host.Wait(0), Got::kRetire);
}

TEST(Faults, ALoadThatCannotFollowClosesTheEndpoint) {
  for (const uint64_t load : {2ull, 3ull, ~0ull}) {
    Couple couple;
    couple.memory.host(Pair::kReceive).load = load;
    EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kFault);
    EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kNothing);
    EXPECT_EQ(couple.nic.counters(Pair::kReceive).faults, 1u);
  }
  Couple couple;
  couple.Load();
  couple.memory.host(Pair::kReceive).load = 2;
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kFault) << "two loads, one answer";
}

TEST(Faults, AReturnThatMakesNoSenseIsCountedAndTheHostGoesOn) {
  const Control kCases[] = {
      {.number = 1, .kind = Kind::kTryAgain},
      {.number = 1, .kind = Kind::kRequest},
      {.number = 3, .kind = Kind::kReply},
      {.number = 1, .length = 361, .kind = Kind::kReply},
      {.number = 1, .length = 4097, .in_buffer = true, .kind = Kind::kReply},
  };
  for (const Control& control : kCases) {
    Couple couple;
    couple.Load();
    couple.Deliver(6);
    couple.memory.line(Pair::kReceive, 1).control = control.Word();
    couple.memory.host(Pair::kReceive).load = 2;
    ASSERT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kReturned);
    EXPECT_EQ(couple.nic.returned(Pair::kReceive).kind, Kind::kNone);
    EXPECT_EQ(couple.nic.returned(Pair::kReceive).tag, 6u);
    EXPECT_TRUE(couple.nic.returned(Pair::kReceive).payload.empty());
    EXPECT_EQ(couple.nic.counters(Pair::kReceive).malformed, 1u);
    EXPECT_TRUE(couple.Deliver(7));
  }
}

TEST(Faults, AnAnswerThatMakesNoSenseStopsTheHost) {
  const uint64_t kCases[] = {
      kPoison,
      Control{.number = 1, .kind = Kind::kReply}.Word(),
      Control{.number = 1, .kind = Kind::kNone}.Word(),
      Control{.number = 1, .length = 361, .kind = Kind::kRequest}.Word(),
      Control{.number = 1, .length = 4097, .in_buffer = true, .kind = Kind::kRequest}.Word(),
  };
  for (const uint64_t word : kCases) {
    Couple couple;
    couple.Load();
    couple.memory.line(Pair::kReceive, 1).control = word;
    EXPECT_EQ(couple.host.Wait(0), Got::kClosed) << std::hex << word;
    EXPECT_EQ(couple.host.Wait(0), Got::kClosed);
    EXPECT_EQ(couple.host.state(Pair::kTransmit), State::kStopped) << "it stops as a whole";
    EXPECT_EQ(couple.host.Grant(0), Got::kClosed);
  }
}

TEST(Faults, AHostThatFindsItsEndpointClosedStopsAsAWhole) {
  Couple couple;
  couple.memory.header().ready = kClosed;
  EXPECT_EQ(couple.host.Wait(0), Got::kClosed);
  for (const Pair pair : {Pair::kReceive, Pair::kTransmit}) {
    EXPECT_EQ(couple.host.state(pair), State::kStopped);
  }
}

TEST(Restart, ANicGoesOnWhereTheMemorySays) {
  Couple couple;
  const auto restart = [&] { couple.nic = NicEnd(couple.memory, {.process = 1}, 0); };
  restart();
  couple.Load();
  restart();
  EXPECT_TRUE(couple.nic.Waits(Pair::kReceive));
  EXPECT_TRUE(couple.Deliver(1));
  ASSERT_EQ(couple.host.Wait(0), Got::kContent);
  couple.host.Return({.kind = Kind::kReply});
  restart();
  EXPECT_FALSE(couple.Deliver(2)) << "the line is lent";
  couple.host.Wait(0);
  ASSERT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kReturned);
  EXPECT_EQ(couple.nic.returned(Pair::kReceive).tag, std::nullopt) << "the owner is unknown";
  EXPECT_EQ(couple.nic.counters(Pair::kReceive).orphaned, 1u);
  couple.nic.Preempt(0);
  restart();
  EXPECT_EQ(couple.host.Wait(0), Got::kYieldNow);
  EXPECT_EQ(couple.nic.Look(Pair::kReceive, 0), Seen::kLeft) << "what was asked still is";
  couple.nic.Kill();
  restart();
  EXPECT_TRUE(couple.nic.closed());
}

TEST(Waiting, EveryMethodOfThisProcessorWakesForAStoreAndForItsDeadline) {
  EXPECT_TRUE(CanWaitBy(WaitMethod::kPause));
  EXPECT_TRUE(CanWaitBy(BestWaitMethod()));
  for (const char* name : {"umwait", "monitorx", "pause"}) {
    const std::optional<WaitMethod> method = WaitMethodOf(name);
    ASSERT_TRUE(method) << name;
    EXPECT_EQ(Name(*method), name);
    if (!CanWaitBy(*method)) continue;
    Couple couple;
    HostEnd host(couple.memory, *method);
    EXPECT_EQ(host.Wait(100'000), Got::kNothing) << name;
    couple.nic.Look(Pair::kReceive, 0);
    couple.Deliver(1);
    EXPECT_EQ(host.Wait(~uint64_t{0} >> 1), Got::kContent) << name;
  }
  EXPECT_EQ(WaitMethodOf("mwait"), std::nullopt);
}

TEST(Hostile, EndsKeepTheirPromisesWhateverIsStored) {
  std::mt19937_64 random(7);
  uint32_t contents[2] = {};
  for (int round = 0; round < 4000; ++round) {
    std::array<uint8_t, 300> bytes;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const Driven nic = DriveNic(bytes.data(), bytes.size());
    ASSERT_EQ(nic.broken, nullptr) << nic.broken << ", round " << round;
    const Driven host = DriveHost(bytes.data(), bytes.size());
    ASSERT_EQ(host.broken, nullptr) << host.broken << ", round " << round;
    contents[0] += nic.contents;
    contents[1] += host.contents;
  }
  EXPECT_GT(contents[0], 1000u) << "stored values must also be valid";
  EXPECT_GT(contents[1], 1000u);
}

}  // namespace
}  // namespace sluice::coherent::test
