// SPDX-License-Identifier: BSD-3-Clause
//
// Tests complete servers with frames: two workers with handoffs between them, MICA's and
// memcached's protocols, answers in place, answers longer than their request, answers of several
// datagrams, and unanswered frames. Other tests cover the protocols in detail.
#include "engine/kv/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/kv/mica_format.h"
#include "packet/burst.h"
#include "packet/checksum.h"
#include "packet/parse.h"
#include "server_lab.h"

namespace sluice::engine::kv {
namespace {

using packet::Action;

class ServerTest : public testing::Test {
 protected:
  explicit ServerTest(bool concurrent_read = true, uint32_t handoffs = 4) {
    store_.workers = kWorkers;
    store_.secret = 42;
    store_.concurrent_read = concurrent_read;
    for (uint32_t i = 0; i < kWorkers; ++i) {
      store_.partitions.emplace_back(PartitionOptions{.memory_bytes = 8 << 20, .items = 1 << 12});
    }
    for (uint32_t i = 0; i < handoffs; ++i) {
      handoffs_.handoffs.push_back(std::make_unique<Handoff>());
      handoffs_.empty.push_back(handoffs_.handoffs.back().get());
    }
    ServiceOptions options = LabOptions();
    options.max_reply_bytes = 65536;
    for (uint32_t i = 0; i < kWorkers; ++i) {
      servers_.push_back(std::make_unique<Server<TestHandoffQueue>>(
          store_, i, options, TestHandoffQueue(handoffs_, i), 1000));
      servers_[i]->set_outbox(packet::Outbox::To(sent_[i]));
      servers_[i]->AtRest(0);
    }
  }

  /// Returns a key that this worker owns.
  std::string KeyOf(uint32_t worker) const {
    for (int i = 0;; ++i) {
      std::string key = "key" + std::to_string(i);
      if (store_.OwnerOf(RouteHash(AsBytes(key))) == worker) return key;
    }
  }
  static Bytes AsBytes(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }

  struct Result {
    packet::Verdict verdict;
    Frame frame;
    bool in_place = false;
  };
  Result Give(uint32_t worker, Frame frame, uint32_t tailroom = 0) {
    const auto length = static_cast<uint32_t>(frame.size());
    frame.resize(length + tailroom);
    packet::Frame view{frame.data(), length, 0, tailroom};
    Result result;
    result.verdict = packet::ProcessFrame(*servers_[worker], view, 0);
    result.frame.assign(view.data, view.data + view.length);
    result.in_place = view.data == frame.data();
    return result;
  }
  /// Calls AtRest four times on each server, which suffices to finish all handoffs.
  void Rest() {
    for (int i = 0; i < 4; ++i) {
      for (auto& server : servers_) server->AtRest(0);
    }
  }

  Store store_;
  Handoffs handoffs_;
  Sent sent_[kWorkers];
  std::vector<std::unique_ptr<Server<TestHandoffQueue>>> servers_;
};

class StrictServerTest : public ServerTest {
 protected:
  StrictServerTest() : ServerTest(/*concurrent_read=*/false) {}
};
class CrampedServerTest : public ServerTest {
 protected:
  CrampedServerTest() : ServerTest(true, /*handoffs=*/1) {}
};

/// Returns the payload of an answer. Checks that its headers are valid, that its checksums are
/// correct, and that it is sent to the client.
Frame PayloadOf(const Frame& frame) {
  const packet::Headers headers = packet::Parse(frame.data(), static_cast<uint32_t>(frame.size()));
  EXPECT_EQ(headers.error, packet::ParseError::kNone);
  EXPECT_EQ(headers.protocol, 17);
  EXPECT_EQ(Frame(frame.begin(), frame.begin() + 6), Frame(kClientMac.begin(), kClientMac.end()));
  EXPECT_EQ(packet::LoadBe16(&frame[headers.l4 + 2]), 40000) << "back to the client's port";
  const uint8_t* const ip = &frame[headers.l3];
  const uint32_t udp_bytes = 8 + headers.payload_bytes;
  if (!headers.IsIpv6()) {
    EXPECT_TRUE(packet::ChecksumHolds(packet::SumBytes(ip, 20)));
    EXPECT_EQ(packet::LoadBe32(ip + 16), 0x0a000001u);
  }
  if (packet::Load<uint16_t>(&frame[headers.l4 + 6]) != 0) {
    const uint64_t pseudo =
        headers.IsIpv6() ? packet::PseudoHeaderSumIpv6(ip, 17, udp_bytes)
                         : packet::PseudoHeaderSumIpv4(ip, 17, static_cast<uint16_t>(udp_bytes));
    EXPECT_TRUE(packet::ChecksumHolds(packet::SumBytes(&frame[headers.l4], udp_bytes, pseudo)));
  }
  return {frame.begin() + headers.payload, frame.begin() + headers.payload + headers.payload_bytes};
}

/// Returns the text of an ASCII answer that is a single datagram.
std::string TextOf(const Frame& frame, uint16_t request_id = 0x1234) {
  const Frame payload = PayloadOf(frame);
  EXPECT_GE(payload.size(), 8u);
  EXPECT_EQ(packet::LoadBe16(&payload[0]), request_id);
  EXPECT_EQ(packet::LoadBe16(&payload[4]), 1) << "one datagram";
  return {payload.begin() + 8, payload.end()};
}

std::vector<MicaMessage> Answers(const Frame& payload) {
  EXPECT_NE(CountMica(payload, kMicaAnswers), 0u);
  std::vector<MicaMessage> found;
  for (size_t at = kMicaHeaderBytes; at < payload.size();) {
    MicaMessage message;
    at = ReadMica(payload, at, &message);
    if (at == 0) break;
    found.push_back(message);
  }
  return found;
}

TEST_F(ServerTest, MemcachedSetAndGetAreAnsweredInTheirOwnFrames) {
  const std::string key = KeyOf(0);
  Result result = Give(0, Udp(kMemcachedPort, Ascii("set " + key + " 7 0 5\r\nhello\r\n")));
  ASSERT_EQ(result.verdict, packet::kForward);
  EXPECT_TRUE(result.in_place);
  EXPECT_EQ(TextOf(result.frame), "STORED\r\n");
  result = Give(0, Udp(kMemcachedPort, Ascii("get " + key + "\r\n")), /*tailroom=*/128);
  ASSERT_EQ(result.verdict, packet::kForward);
  EXPECT_TRUE(result.in_place) << "the answer is longer than the request, but there is room";
  EXPECT_EQ(TextOf(result.frame), "VALUE " + key + " 7 5\r\nhello\r\nEND\r\n");
}

TEST_F(ServerTest, AnAnswerThatDoesNotFitItsFrameIsBuiltElsewhere) {
  const std::string key = KeyOf(0), value(500, 'v');
  Give(0, Udp(kMemcachedPort, Ascii("set " + key + " 0 0 500\r\n" + value + "\r\n")));
  const Result result = Give(0, Udp(kMemcachedPort, Ascii("get " + key + "\r\n")));
  ASSERT_EQ(result.verdict, packet::kForward);
  EXPECT_FALSE(result.in_place);
  EXPECT_EQ(TextOf(result.frame), "VALUE " + key + " 0 500\r\n" + value + "\r\nEND\r\n");
}

TEST_F(ServerTest, ALongAnswerLeavesInNumberedDatagrams) {
  const std::string key = KeyOf(0);
  // The value is longer than a request can be at this MTU, so it is built with append.
  Give(0, Udp(kMemcachedPort,
              Ascii("set " + key + " 0 0 1000\r\n" + std::string(1000, 'a') + "\r\n")));
  std::string value(1000, 'a');
  for (const char c : {'b', 'c', 'd'}) {
    value += std::string(1000, c);
    Give(0, Udp(kMemcachedPort,
                Ascii("append " + key + " 0 0 1000\r\n" + std::string(1000, c) + "\r\n")));
  }
  const Result result = Give(0, Udp(kMemcachedPort, Ascii("get " + key + "\r\n")));
  ASSERT_EQ(result.verdict, packet::kConsume) << "all are sent, in their order";
  const std::vector<Frame> frames = sent_[0].frames;
  ASSERT_EQ(frames.size(), 3u) << "4000 bytes and more, 1392 in a datagram";
  std::string text;
  for (size_t i = 0; i < frames.size(); ++i) {
    const Frame payload = PayloadOf(frames[i]);
    EXPECT_LE(payload.size(), 1400u);
    EXPECT_EQ(packet::LoadBe16(&payload[0]), 0x1234);
    EXPECT_EQ(packet::LoadBe16(&payload[2]), i);
    EXPECT_EQ(packet::LoadBe16(&payload[4]), 3);
    text.append(payload.begin() + 8, payload.end());
  }
  EXPECT_EQ(text, "VALUE " + key + " 0 4000\r\n" + value + "\r\nEND\r\n");
}

TEST_F(ServerTest, AWriteAtTheWrongWorkerIsDoneAndAnsweredByTheOwner) {
  const std::string key = KeyOf(1);
  const Result result = Give(0, Udp(kMemcachedPort, Ascii("set " + key + " 0 0 2\r\nhi\r\n")));
  EXPECT_EQ(result.verdict, packet::kConsume);
  Rest();
  ASSERT_EQ(sent_[1].frames.size(), 1u);
  EXPECT_EQ(TextOf(sent_[1].frames[0]), "STORED\r\n");
  EXPECT_EQ(servers_[0]->responder().counters().handed_over, 1u);
  EXPECT_EQ(servers_[1]->responder().counters().taken_over, 1u);
  EXPECT_EQ(handoffs_.empty.size(), handoffs_.handoffs.size()) << "every handoff came back";
}

TEST_F(ServerTest, AReadAtTheWrongWorkerIsAnsweredAtOnce) {
  const std::string key = KeyOf(1);
  Give(1, Udp(kMemcachedPort, Ascii("set " + key + " 0 0 2\r\nhi\r\n")));
  const Result result = Give(0, Udp(kMemcachedPort, Ascii("get " + key + "\r\n")), 64);
  ASSERT_EQ(result.verdict, packet::kForward);
  EXPECT_EQ(TextOf(result.frame), "VALUE " + key + " 0 2\r\nhi\r\nEND\r\n");
}

TEST_F(StrictServerTest, WithoutConcurrentReadsAMultiGetTravelsAndKeepsItsOrder) {
  const std::string a = KeyOf(0), b = KeyOf(1);
  Give(0, Udp(kMemcachedPort, Ascii("set " + a + " 0 0 1\r\nA\r\n")));
  Give(1, Udp(kMemcachedPort, Ascii("set " + b + " 0 0 1\r\nB\r\n")));
  const Result result =
      Give(0, Udp(kMemcachedPort, Ascii("get " + a + " " + b + " " + a + "\r\n")));
  EXPECT_EQ(result.verdict, packet::kConsume);
  Rest();
  ASSERT_EQ(sent_[0].frames.size(), 1u) << "there, and back for the last key";
  EXPECT_EQ(TextOf(sent_[0].frames[0]), "VALUE " + a + " 0 1\r\nA\r\nVALUE " + b +
                                            " 0 1\r\nB\r\nVALUE " + a + " 0 1\r\nA\r\nEND\r\n");
}

TEST_F(ServerTest, ABatchOfMicaServesTheKeysOfBothWorkersInOrder) {
  const std::string a = KeyOf(0), b = KeyOf(1), one = "first", two = "the second";
  const auto message = [&](MicaOperation operation, const std::string& key,
                           const std::string& value, uint32_t opaque) {
    return MicaMessage{.operation = operation,
                       .opaque = opaque,
                       .hash = RouteHash(AsBytes(key)),
                       .key = AsBytes(key),
                       .value = AsBytes(value)};
  };
  const Result result =
      Give(0, Udp(kMicaPort, MicaPayload({message(MicaOperation::kSet, a, one, 1),
                                          message(MicaOperation::kSet, b, two, 2),
                                          message(MicaOperation::kGet, a, "", 3),
                                          message(MicaOperation::kGet, b, "", 4)})));
  EXPECT_EQ(result.verdict, packet::kConsume);
  Rest();
  ASSERT_EQ(sent_[1].frames.size(), 1u);
  const Frame payload = PayloadOf(sent_[1].frames[0]);
  const std::vector<MicaMessage> answers = Answers(payload);
  ASSERT_EQ(answers.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answers[i].opaque, i + 1);
    EXPECT_EQ(answers[i].result, MicaResult::kSuccess);
  }
  EXPECT_TRUE(std::ranges::equal(answers[2].value, AsBytes(one)));
  EXPECT_TRUE(std::ranges::equal(answers[3].value, AsBytes(two)));
}

TEST_F(CrampedServerTest, WithoutAFreeHandoffTheDatagramIsDroppedUnderItsName) {
  const Frame set = Udp(kMemcachedPort, Ascii("set " + KeyOf(1) + " 0 0 2\r\nhi\r\n"));
  EXPECT_EQ(Give(0, set).verdict, packet::kConsume);
  EXPECT_EQ(Give(0, set).verdict, packet::Drop(Server<TestHandoffQueue>::kNoHandoff));
  Rest();
  EXPECT_EQ(Give(0, set).verdict, packet::kConsume) << "it came back";
}

TEST_F(ServerTest, Ipv6AndVlanTagsAreAnsweredInKind) {
  const std::string key = KeyOf(0);
  for (const bool vlan : {false, true}) {
    const Frame request = Udp(kMemcachedPort, Ascii("delete " + key + "\r\n"), true, true, vlan);
    const Result result = Give(0, request);
    ASSERT_EQ(result.verdict, packet::kForward);
    EXPECT_EQ(TextOf(result.frame), "NOT_FOUND\r\n");
    if (vlan) {
      EXPECT_EQ(packet::LoadBe32(&result.frame[12]), 0x81000007u) << "the tag stays";
    }
  }
}

TEST_F(ServerTest, ARequestWithoutAUdpChecksumIsAnsweredWithoutOne) {
  const Frame request = Udp(kMemcachedPort, Ascii("get a\r\n"), false, /*summed=*/false);
  const Result result = Give(0, request);
  ASSERT_EQ(result.verdict, packet::kForward);
  EXPECT_EQ(packet::LoadBe16(&result.frame[40]), 0);
  EXPECT_EQ(TextOf(result.frame), "END\r\n");
}

TEST_F(ServerTest, WhatIsNotForUsGoesToTheSlowPath) {
  EXPECT_EQ(Give(0, Udp(53, Ascii("get a\r\n"))).verdict, packet::kPass);
  EXPECT_EQ(Give(0, Udp(kMicaPort + kWorkers, Ascii("get a\r\n"))).verdict, packet::kPass);
  Frame tcp = Udp(kMemcachedPort, Frame(20, 0));
  tcp[23] = 6;
  tcp[14 + 20 + 12] = 5 << 4;
  EXPECT_EQ(Give(0, tcp).verdict, packet::kPass);
}

TEST_F(ServerTest, WhatCannotBeTrustedIsDroppedUnderItsName) {
  using S = Server<TestHandoffQueue>;
  const Frame good = Udp(kMemcachedPort, Ascii("get a\r\n"));
  Frame bad = good;
  bad.back() ^= 1;
  EXPECT_EQ(Give(0, bad).verdict, packet::Drop(S::kBadChecksum));
  bad = good;
  packet::StoreBe16(&bad[16], 2000);
  EXPECT_EQ(Give(0, bad).verdict, packet::Drop(S::kMalformed));
  bad = good;
  packet::StoreBe16(&bad[38], 7);
  EXPECT_EQ(Give(0, bad).verdict, packet::Drop(S::kMalformed));
  bad = good;
  bad[20] = 0x20;  // The more-fragments flag.
  EXPECT_EQ(Give(0, bad).verdict, packet::Drop(S::kFragment));
  Frame unsummed = Udp(kMemcachedPort, Ascii("get a\r\n"), /*ipv6=*/true, false);
  EXPECT_EQ(Give(0, unsummed).verdict, packet::Drop(S::kBadChecksum));
  EXPECT_EQ(Give(0, Udp(kMemcachedPort, Frame{1, 2, 3})).verdict, packet::Drop(S::kRefused));
  EXPECT_EQ(Give(0, Udp(kMicaPort, Frame(30, 0))).verdict, packet::Drop(S::kRefused));
}

TEST_F(ServerTest, NoPrefixOfARequestDoesHarm) {
  const Frame whole = Udp(kMemcachedPort, Ascii("set " + KeyOf(0) + " 0 0 5\r\nhello\r\n"));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Result result =
        Give(0, Frame(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes)));
    EXPECT_NE(result.verdict.action, Action::kForward) << bytes;
  }
  EXPECT_EQ(store_.partitions[0].counters().items, 0u);
}

}  // namespace
}  // namespace sluice::engine::kv
