// SPDX-License-Identifier: BSD-3-Clause
//
// Tests messages in datagrams: reassembly, drop reasons, the destination of answers, and messages
// that are never answered.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/messages/message_server.h"
#include "packet/fixtures.h"
#include "packet/own_addresses.h"

namespace sluice::engine::messages {
namespace {

using packet::Datagram;
using test::Bytes;

constexpr uint64_t kTimeout = 1000;
constexpr uint32_t kLongest = 4000;

/// A fake interface that records sent frames. It can refuse them.
struct Wire {
  bool Send(const uint8_t* frame, uint32_t length) {
    if (full) return false;
    frames.emplace_back(frame, frame + length);
    return true;
  }
  std::vector<Bytes> frames;
  bool full = false;
};

struct To {
  uint8_t sender = 1;
  uint16_t port = 5000;
};

Bytes FrameOf(const Part& part, To to = {}) {
  const auto payload = static_cast<uint32_t>(kPartHeaderBytes + part.bytes.size());
  Bytes frame(std::max(60u, Datagram::kPlainPayload + payload));
  Datagram::WritePlain(frame.data(),
                       {{{2, 0, 0, 0, 0, to.sender}},
                        {{2, 0, 0, 0, 0, 99}},
                        {{10, 0, 0, to.sender}},
                        {{10, 0, 0, 99}},
                        777,
                        to.port},
                       payload);
  WritePartHeader(&frame[Datagram::kPlainPayload], part);
  std::ranges::copy(part.bytes, frame.begin() + Datagram::kPlainPayload + kPartHeaderBytes);
  return frame;
}

Bytes Counted(size_t bytes) {
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 256);
  return data;
}

class Messages : public testing::Test {
 protected:
  Messages() { server_.set_outbox(packet::Outbox::To(wire_)); }

  /// Returns the name of the frame's outcome.
  std::string Send(Bytes frame, uint64_t now = 0) {
    const test::ExactBuffer exact(frame);
    packet::Frame in{exact.data(), exact.size(), 0, 0};
    const packet::Verdict verdict = server_.Process(in, now);
    EXPECT_EQ(exact.bytes(), frame) << "it is not written to";
    switch (verdict.action) {
      case packet::Action::kConsume:
        return "taken";
      case packet::Action::kPass:
        return "passed";
      case packet::Action::kDrop:
        return std::string(MessageServer::kDropReasons[verdict.reason]);
      default:
        return "forwarded";
    }
  }
  /// Sends `data` in parts of `size` bytes.
  void SendAll(uint32_t number, const Bytes& data, uint32_t size, To to = {}) {
    for (uint32_t at = 0; at < data.size(); at += size) {
      const auto bytes = std::span(data).subspan(at, std::min<size_t>(size, data.size() - at));
      EXPECT_EQ(Send(FrameOf({.number = number,
                              .length = static_cast<uint32_t>(data.size()),
                              .offset = at,
                              .bytes = bytes},
                             to)),
                "taken");
    }
  }
  Bytes Receive(size_t flow, uint32_t* number) {
    EXPECT_TRUE(server_.HasMessage(flow));
    Bytes room(kLongest);
    room.resize(server_.Receive(flow, room, number));
    return room;
  }
  /// Expires all messages.
  void ExpireAll() {
    for (uint32_t i = 0; i < kMessages; ++i) server_.Expire(10 * kTimeout);
  }

  static constexpr uint32_t kMessages = 6;
  Wire wire_;
  MessageServer server_{{.flows = {{5000, kLongest}, {6000, 10}},
                         .messages = kMessages,
                         .timeout_cycles = kTimeout,
                         .cycles_hz = 1'000'000'000}};
};

TEST_F(Messages, OfOneOrSeveralPartsAreTakenWholeAndInOrder) {
  for (const uint32_t size : {1u, 100u, 1400u, 4000u}) {
    const Bytes first = Counted(3999), second = Counted(10);
    SendAll(7, first, size);
    SendAll(8, second, size);
    uint32_t number = 0, other = 0;
    EXPECT_EQ(Receive(0, &number), first);
    EXPECT_EQ(Receive(0, &other), second);
    EXPECT_NE(number, other);
    EXPECT_FALSE(server_.HasMessage(0));
    server_.Answer(number, {}, {});
    server_.Answer(other, {}, {});
  }
  EXPECT_EQ(server_.counts().received, 8u);
  EXPECT_EQ(server_.counts().received_bytes, 4 * 4009u);
}

TEST_F(Messages, SendersThatUseTheSameNumberDoNotMeet) {
  const Bytes data = Counted(300);
  for (const uint32_t at : {0u, 100u, 200u}) {
    for (const uint8_t sender : {1, 2}) {
      EXPECT_EQ(
          Send(FrameOf(
              {.number = 5, .length = 300, .offset = at, .bytes = std::span(data).subspan(at, 100)},
              {.sender = sender})),
          "taken");
    }
  }
  uint32_t number = 0;
  EXPECT_EQ(Receive(0, &number), data);
  EXPECT_EQ(Receive(0, &number), data);
}

TEST_F(Messages, AnswersGoWhereTheMessageCameFromInAsManyPartsAsTheyNeed) {
  for (const uint32_t bytes : {0u, 1u, 1400u, 1401u, 4000u}) {
    SCOPED_TRACE(bytes);
    SendAll(41, Counted(20), 20, {.sender = 3});
    uint32_t number = 0;
    Receive(0, &number);
    wire_.frames.clear();
    const Bytes answer = Counted(bytes);
    server_.Answer(number, answer, {11, 12});
    ASSERT_EQ(wire_.frames.size(), std::max(1u, (bytes + kPartBytes - 1) / kPartBytes));
    Bytes joined;
    for (const Bytes& frame : wire_.frames) {
      const Datagram datagram = Datagram::In(frame.data(), static_cast<uint32_t>(frame.size()));
      ASSERT_EQ(datagram.kind, Datagram::Kind::kUdp);
      EXPECT_EQ(datagram.port, 777);
      EXPECT_EQ(frame[5], 3) << "to the sender's MAC";
      EXPECT_EQ(frame[33], 3) << "and to its address";
      const auto part = ReadPart({&frame[datagram.payload], datagram.payload_bytes});
      ASSERT_TRUE(part);
      EXPECT_EQ(part->number, 41u);
      EXPECT_EQ(part->length, bytes);
      EXPECT_EQ(part->offset, joined.size());
      EXPECT_EQ(part->key, (std::array<uint32_t, 2>{11, 12}));
      EXPECT_GE(frame.size(), 60u);
      EXPECT_LE(frame.size(), 1500u);
      joined.insert(joined.end(), part->bytes.begin(), part->bytes.end());
    }
    EXPECT_EQ(joined, answer);
  }
}

TEST_F(Messages, OverIpv6AndBehindTagsAreAnsweredAlike) {
  for (const Bytes* fixture : {&test::kUdp6, &test::kVlanUdp4}) {
    // Puts the fixture's headers in front of a message, with the checksums that a NIC would
    // compute.
    const Datagram like = Datagram::In(fixture->data(), static_cast<uint32_t>(fixture->size()));
    ASSERT_EQ(like.kind, Datagram::Kind::kUdp);
    Bytes frame(fixture->begin(), fixture->begin() + like.payload);
    frame.resize(like.payload + kPartHeaderBytes + 5);
    WritePartHeader(&frame[like.payload], {.number = 9, .length = 5, .bytes = {}});
    like.Answer(frame.data(),
                kPartHeaderBytes + 5);  // Sets lengths and checksums, and swaps the addresses.
    MessageServer server({.flows = {{0, kLongest}},
                          .messages = 1,
                          .timeout_cycles = kTimeout,
                          .cycles_hz = 1'000'000'000});
    server.set_outbox(packet::Outbox::To(wire_));
    packet::Frame in{frame.data(), static_cast<uint32_t>(frame.size()), 0, 0};
    ASSERT_EQ(server.Process(in, 0), packet::kConsume);
    Bytes room(kLongest);
    uint32_t number = 0;
    ASSERT_TRUE(server.HasMessage(0));
    server.Receive(0, room, &number);
    wire_.frames.clear();
    server.Answer(number, Counted(8), {});
    ASSERT_EQ(wire_.frames.size(), 1u);
    const Bytes& sent = wire_.frames[0];
    const Datagram back = Datagram::In(sent.data(), static_cast<uint32_t>(sent.size()));
    EXPECT_EQ(back.kind, Datagram::Kind::kUdp) << "its checksum holds";
    EXPECT_EQ(back.ipv6, like.ipv6);
    EXPECT_EQ(back.payload, like.payload);
    EXPECT_EQ(back.port, like.port) << "there and back";
  }
}

TEST_F(Messages, HostileFramesEndUnderANameAndTakeNothing) {
  const Bytes data = Counted(500);
  const auto part = [&](uint32_t length, uint32_t offset, uint32_t bytes, To to = {}) {
    return FrameOf(
        {.number = 1, .length = length, .offset = offset, .bytes = std::span(data).first(bytes)},
        to);
  };
  Bytes no_magic = part(5, 0, 5);
  no_magic[Datagram::kPlainPayload] ^= 1;
  Bytes short_header(Datagram::kPlainPayload + kPartHeaderBytes - 1);
  Datagram::WritePlain(short_header.data(), {{}, {}, {}, {}, 1, 5000}, kPartHeaderBytes - 1);
  std::memcpy(&short_header[Datagram::kPlainPayload], "SLCM", 4);
  Bytes lying_udp = part(5, 0, 5);
  lying_udp[Datagram::kPlainPayload - 3] = 200;
  Bytes bad_checksum = part(5, 0, 5);
  bad_checksum[Datagram::kPlainPayload - 1] = 1;
  Bytes fragment = part(5, 0, 5);
  fragment[20] = 0x20;
  struct Case {
    const char* what;
    Bytes frame;
    const char* ends;
  };
  const Case cases[] = {
      {"no header", no_magic, "no_message"},
      {"half a header", short_header, "no_message"},
      {"more bytes than the message has", part(4, 0, 5), "bad_part"},
      {"bytes beyond the end", part(100, 98, 5), "bad_part"},
      {"an offset beyond the end", part(100, 101, 0), "bad_part"},
      {"an offset that wraps around", part(100, ~0u, 5), "bad_part"},
      {"no bytes of a message that has some", part(100, 0, 0), "bad_part"},
      {"the end of a message that has come to it", part(100, 100, 0), "bad_part"},
      {"a message longer than any", part(~0u, 0, 500), "too_long"},
      {"longer than its flow's", part(11, 0, 11, {.port = 6000}), "too_long"},
      {"no beginning", part(500, 100, 100), "part_missing"},
      {"another port", part(5, 0, 5, {.port = 5001}), "passed"},
      {"a length of UDP beyond the frame", lying_udp, "malformed"},
      {"a wrong checksum", bad_checksum, "bad_checksum"},
      {"a fragment", fragment, "fragment"},
      {"options of IP", test::kUdp4IpOptions, "ip_options"},
      {"TCP", test::kTcp4Syn, "passed"},
      {"no frame", Bytes(5), "malformed"},
  };
  for (const Case& each : cases) EXPECT_EQ(Send(each.frame), each.ends) << each.what;
  EXPECT_EQ(server_.counts().received, 0u);
  EXPECT_EQ(server_.open(), 0u);
}

TEST_F(Messages, PartsThatDoNotFollowChangeNothing) {
  const Bytes data = Counted(300);
  const auto part = [&](uint32_t length, uint32_t offset, uint32_t bytes) {
    return FrameOf({.number = 1,
                    .length = length,
                    .offset = offset,
                    .bytes = std::span(data).subspan(offset, bytes)});
  };
  EXPECT_EQ(Send(part(300, 0, 100)), "taken");
  EXPECT_EQ(Send(part(300, 200, 100)), "part_missing");
  EXPECT_EQ(Send(part(250, 100, 100)), "bad_part") << "of another message of that number";
  EXPECT_EQ(Send(part(300, 100, 100)), "taken");
  EXPECT_EQ(Send(part(300, 100, 100)), "part_missing") << "it has come before";
  EXPECT_EQ(Send(part(300, 200, 100)), "taken");
  EXPECT_EQ(Send(part(300, 200, 100)), "part_missing") << "its message is whole";
  uint32_t number = 0;
  EXPECT_EQ(Receive(0, &number), data);
  // A sender may start a new message with the same number.
  EXPECT_EQ(Send(part(300, 0, 100)), "taken");
  EXPECT_EQ(Send(part(200, 0, 100)), "taken");
  EXPECT_EQ(server_.counts().incomplete, 1u);
  EXPECT_EQ(Send(part(200, 100, 100)), "taken");
  EXPECT_EQ(Receive(0, &number), Bytes(data.begin(), data.begin() + 200));
}

TEST_F(Messages, AsManyAsMayBeHereAndHalfOfThemInParts) {
  const Bytes data = Counted(20);
  const auto begin = [&](uint32_t number) {
    return Send(FrameOf({.number = number, .length = 20, .bytes = std::span(data).first(10)}));
  };
  for (uint32_t i = 0; i < kMessages / 2; ++i) EXPECT_EQ(begin(i), "taken");
  EXPECT_EQ(begin(77), "busy") << "who only begins messages leaves room for others";
  for (uint32_t i = 0; i < kMessages / 2; ++i) SendAll(100 + i, data, 20);
  EXPECT_EQ(Send(FrameOf({.number = 1000, .length = 20, .bytes = data})), "busy");
  uint32_t number = 0;
  Receive(0, &number);
  EXPECT_EQ(Send(FrameOf({.number = 1000, .length = 20, .bytes = data})), "busy");
  server_.Answer(number, {}, {});
  EXPECT_EQ(Send(FrameOf({.number = 1000, .length = 20, .bytes = data})), "taken");
  ExpireAll();
  const MessageCounts counts = server_.counts();
  EXPECT_EQ(counts.incomplete, kMessages / 2);
  EXPECT_EQ(counts.unanswered, kMessages / 2);
  EXPECT_EQ(counts.answered, 1u);
  EXPECT_FALSE(server_.HasMessage(0)) << "an expired message is not started";
  for (uint32_t i = 0; i < kMessages; ++i) SendAll(i, data, 20);
}

TEST_F(Messages, AMessageIsAnsweredOnce) {
  SendAll(1, Counted(5), 5);
  uint32_t number = 0;
  server_.Answer(0, {}, {});  // The message has not been dequeued yet.
  Receive(0, &number);
  server_.Answer(number, {}, {});
  server_.Answer(number, {}, {});
  server_.Answer(number ^ 1, {}, {});
  server_.Answer(~0u, {}, {});
  EXPECT_EQ(server_.counts().answered, 1u);
  EXPECT_EQ(server_.counts().late, 4u);
  EXPECT_EQ(wire_.frames.size(), 1u);
  // An answer after the timeout is discarded.
  SendAll(2, Counted(5), 5);
  Receive(0, &number);
  ExpireAll();
  server_.Answer(number, {}, {});
  EXPECT_EQ(server_.counts().unanswered, 1u);
  EXPECT_EQ(server_.counts().late, 5u);
  EXPECT_EQ(server_.open(), 0u);
}

TEST_F(Messages, WhatAnInterfaceDoesNotTakeIsCounted) {
  SendAll(1, Counted(5), 5);
  uint32_t number = 0;
  Receive(0, &number);
  wire_.full = true;
  server_.Answer(number, Counted(3000), {});
  EXPECT_EQ(server_.counts().unsent, 1u);
  EXPECT_EQ(server_.counts().answered, 1u);
}

TEST_F(Messages, ForOtherHostsAreTheirs) {
  packet::OwnAddresses own(packet::MacAddress{{2, 0, 0, 0, 0, 99}});
  std::string error;
  ASSERT_TRUE(own.Add("10.0.0.99", &error));
  server_.SetOwn(own);
  const Bytes data = Counted(5);
  EXPECT_EQ(Send(FrameOf({.number = 1, .length = 5, .bytes = data})), "taken");
  Bytes frame = FrameOf({.number = 1, .length = 5, .bytes = data});
  frame[5] = 98;
  EXPECT_EQ(Send(frame), "passed");
  frame = FrameOf({.number = 1, .length = 5, .bytes = data});
  Datagram::WritePlain(
      frame.data(),
      {{{2, 0, 0, 0, 0, 1}}, {{2, 0, 0, 0, 0, 99}}, {{10, 0, 0, 1}}, {{10, 0, 0, 98}}, 777, 5000},
      kPartHeaderBytes + 5);
  EXPECT_EQ(Send(frame), "passed");
}

}  // namespace
}  // namespace sluice::engine::messages
