// SPDX-License-Identifier: BSD-3-Clause
//
// Tests which senders get answers. A server must not be useful for attacks with forged sender
// addresses.
#include "engine/kv/gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/kv/mica_format.h"
#include "engine/kv/server.h"
#include "server_lab.h"

namespace sluice::engine::kv {
namespace {

using S = Server<TestHandoffQueue>;

void PutPort(Frame* frame, size_t at, uint16_t port) { packet::StoreBe16(&(*frame)[at], port); }

/// Returns a get over IPv6, which requires a checksum.
Frame Get6(size_t at, const Frame& bytes) {
  Frame frame = Udp(kMemcachedPort, Ascii("get a\r\n"), true, false);
  Put(&frame, at, bytes);
  FinishUdp(&frame, 14, kPort6, true, true);
  return frame;
}

Frame Ip6(uint8_t first, uint8_t last, uint8_t tenth = 0) {
  Frame address(16, 0);
  address[0] = first;
  address[10] = address[11] = tenth;
  address[15] = last;
  return address;
}

struct Row {
  const char* name;
  size_t at;
  Frame bytes;
  std::optional<S::Reason> dropped;  ///< Drop reason; none if the frame is answered.
};

void Check(const std::vector<Row>& rows, const ServiceOptions& options, bool ipv6) {
  Host host(options);
  // A valid get follows each row, so every row of the second round follows a valid get.
  for (int round = 0; round < 2; ++round) {
    for (const Row& row : rows) {
      Frame frame = ipv6 ? Get6(row.at, row.bytes) : Get();
      if (!ipv6) Put(&frame, row.at, row.bytes);
      const packet::Verdict verdict = host.Receive(frame);
      EXPECT_EQ(verdict, row.dropped ? packet::Drop(*row.dropped) : packet::kForward)
          << row.name << (ipv6 ? " over IPv6" : "") << ", round " << round;
      EXPECT_EQ(host.Sent().size(), row.dropped ? 0u : 1u) << row.name;
      ASSERT_EQ(host.Receive(Get()), options.gate.own.empty() || options.gate.any_destination ||
                                             !options.gate.own.ipv4().empty()
                                         ? packet::kForward
                                         : packet::Drop(S::kNotOurs));
      host.Sent();
    }
  }
}

constexpr Frame::value_type kX = 0xff;

// Special addresses from RFC 6890, and group MAC addresses from RFC 1112 and RFC 2464.
std::vector<Row> Rows4(bool listed) {
  const auto other = listed ? std::optional(S::kNotOurs) : std::nullopt;
  return {
      {"as it is", 0, {2}, {}},
      {"another host's MAC", 0, {2, 0, 0, 0, 0, 3}, S::kNotOurs},
      {"the broadcast MAC", 0, {kX, kX, kX, kX, kX, kX}, S::kNotOurs},
      {"a group's MAC", 0, {1, 0, 0x5e, 0, 0, 1}, S::kNotOurs},
      {"a group as the sender's MAC", kSourceMac, {3, 0, 0, 0, 0, 1}, S::kBadSource},
      {"broadcast as the sender's MAC", kSourceMac, {kX, kX, kX, kX, kX, kX}, S::kBadSource},
      {"another sender's MAC", kSourceMac, {2, 9, 9, 9, 9, 9}, {}},
      {"another host's address", kTo4, {10, 0, 0, 3}, other},
      {"to the broadcast address", kTo4, {kX, kX, kX, kX}, S::kNotOurs},
      {"to a group", kTo4, {224, 0, 0, 1}, S::kNotOurs},
      {"to the last group", kTo4, {239, kX, kX, kX}, S::kNotOurs},
      {"to a reserved address", kTo4, {240, 0, 0, 1}, S::kNotOurs},
      {"to loopback", kTo4, {127, 0, 0, 1}, S::kNotOurs},
      {"to nobody", kTo4, {0, 0, 0, 0}, S::kNotOurs},
      {"from nobody", kSource4, {0, 0, 0, 0}, S::kBadSource},
      {"from this network", kSource4, {0, 1, 2, 3}, S::kBadSource},
      {"from the lowest address", kSource4, {1, 0, 0, 0}, {}},
      {"from below loopback", kSource4, {126, kX, kX, kX}, {}},
      {"from loopback", kSource4, {127, 0, 0, 1}, S::kBadSource},
      {"from the last of loopback", kSource4, {127, kX, kX, kX}, S::kBadSource},
      {"from above loopback", kSource4, {128, 0, 0, 1}, {}},
      {"from the highest address", kSource4, {223, kX, kX, kX}, {}},
      {"from a group", kSource4, {224, 0, 0, 1}, S::kBadSource},
      {"from a reserved address", kSource4, {240, 0, 0, 1}, S::kBadSource},
      {"from broadcast", kSource4, {kX, kX, kX, kX}, S::kBadSource},
      {"from our own address", kSource4, {10, 0, 0, 2}, S::kBadSource},
      {"from another one of ours",
       kSource4,
       {10, 0, 0, 7},
       listed ? std::optional(S::kBadSource) : std::nullopt},
      {"from port 0", kPort4, {0, 0}, S::kBadPort},
      {"from echo", kPort4, {0, 7}, S::kBadPort},
      {"from the last port of those", kPort4, {1023 >> 8, 1023 & 0xff}, S::kBadPort},
      {"from MICA's port", kPort4, {1024 >> 8, 1024 & 0xff}, S::kBadPort},
      {"from the port after", kPort4, {1025 >> 8, 1025 & 0xff}, {}},
      {"from memcached's port", kPort4, {11211 >> 8, 11211 & 0xff}, S::kBadPort},
      {"from the port before", kPort4, {11210 >> 8, 11210 & 0xff}, {}},
      {"from the last port", kPort4, {kX, kX}, {}},
  };
}

std::vector<Row> Rows6(bool listed) {
  const auto other = listed ? std::optional(S::kNotOurs) : std::nullopt;
  return {
      {"as it is", 0, {2}, {}},
      {"another host's MAC", 0, {2, 0, 0, 0, 0, 3}, S::kNotOurs},
      {"a group's MAC", 0, {0x33, 0x33, 0, 0, 0, 1}, S::kNotOurs},
      {"a group as the sender's MAC", kSourceMac, {0x33, 0x33, 0, 0, 0, 1}, S::kBadSource},
      {"another host's address", kTo6, Ip6(0x20, 9), other},
      {"to a group", kTo6, Ip6(kX, 1), S::kNotOurs},
      {"to nobody", kTo6, Ip6(0, 0), S::kNotOurs},
      {"to loopback", kTo6, Ip6(0, 1), S::kNotOurs},
      {"from nobody", kSource6, Ip6(0, 0), S::kBadSource},
      {"from loopback", kSource6, Ip6(0, 1), S::kBadSource},
      {"from a group", kSource6, Ip6(kX, 1), S::kBadSource},
      {"from an IPv4 address", kSource6, Ip6(0, 9, kX), S::kBadSource},
      {"from the link", kSource6, Ip6(0xfe, 9), {}},
      {"from our own address",
       kSource6,
       {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
       S::kBadSource},
      {"from port 0", kPort6, {0, 0}, S::kBadPort},
      {"from memcached's port", kPort6, {11211 >> 8, 11211 & 0xff}, S::kBadPort},
      {"from the last port", kPort6, {kX, kX}, {}},
  };
}

TEST(Gate, WithoutAListOfAddressesAnswersItsMacAtAnyHostsAddress) {
  Check(Rows4(false), LabOptions(), false);
  Check(Rows6(false), LabOptions(), true);
}

TEST(Gate, WithAListAnswersItsAddressesAlone) {
  ServiceOptions options = LabOptions();
  std::string error;
  ASSERT_TRUE(options.gate.own.Add("10.0.0.7,10.0.0.2,2001:db8::2", &error)) << error;
  Check(Rows4(true), options, false);
  Check(Rows6(true), options, true);
}

TEST(Gate, AListOfOneFamilyRefusesTheOther) {
  ServiceOptions options = LabOptions();
  std::string error;
  ASSERT_TRUE(options.gate.own.Add("2001:db8::2", &error)) << error;
  EXPECT_EQ(Host(options).Receive(Get()), packet::Drop(S::kNotOurs));
}

TEST(Gate, AnyDestinationIsStillNotAnySource) {
  ServiceOptions options = LabOptions();
  options.gate.any_destination = true;
  std::vector<Row> rows = Rows4(false);
  for (Row& row : rows) {
    if (row.dropped == S::kNotOurs) row.dropped.reset();
  }
  Check(rows, options, false);
}

TEST(Gate, AnySourcePortIsNotPort0) {
  ServiceOptions options = LabOptions();
  options.gate.any_source_port = true;
  std::vector<Row> rows = Rows4(false);
  for (Row& row : rows) {
    if (row.dropped == S::kBadPort && row.bytes != Frame{0, 0}) row.dropped.reset();
  }
  Check(rows, options, false);
}

TEST(Gate, TagsAndOptionsOpenNothing) {
  Host host(LabOptions());
  Frame tagged = Udp(kMemcachedPort, Ascii("get a\r\n"), false, false, /*vlan=*/true);
  EXPECT_EQ(host.Receive(tagged), packet::kForward);
  PutPort(&tagged, kPort4 + 4, 7);
  EXPECT_EQ(host.Receive(tagged), packet::Drop(S::kBadPort));
  PutPort(&tagged, kPort4 + 4, 40000);
  Put(&tagged, kSource4 + 4, {127, 0, 0, 1});
  EXPECT_EQ(host.Receive(tagged), packet::Drop(S::kBadSource));
}

/// Passes each server's answers to the peer until there are no more answers. Returns the number of
/// answers.
int Exchange(const ServiceOptions& a, const ServiceOptions& b, uint16_t a_port, uint16_t b_port,
             const Frame& payload) {
  Host hosts[] = {Host(a), Host(b)};
  std::vector<Frame> travelling = {Udp(a_port, payload, false, false)};
  PutPort(&travelling[0], kPort4, b_port);  // Forged: the source is the other server.
  for (int answers = 0;; ++answers) {
    if (travelling.empty() || answers == 100) return answers;
    const uint32_t to = answers % 2;
    for (Frame& frame : travelling) {
      Put(&frame, 0, {2, 0, 0, 0, 0, 2});  // Both servers have the lab's host address.
      Put(&frame, kSourceMac, {2, 0, 0, 0, 0, 1});
      hosts[to].Receive(frame);
    }
    travelling = hosts[to].Sent();
  }
}

TEST(Gate, ServersDoNotAnswerEachOther) {
  const Frame nonsense = Ascii("nonsense\r\n");
  const ServiceOptions one = LabOptions();
  ServiceOptions open = one;
  open.gate.any_source_port = true;
  ServiceOptions elsewhere = one;
  elsewhere.memcached_port = 9000;
  // The exchange must end at one of the servers. If answers cannot be recognized by their ports,
  // they are recognized by their format.
  EXPECT_EQ(Exchange(one, one, 11211, 11211, nonsense), 1);
  EXPECT_EQ(Exchange(open, one, 11211, 11211, nonsense), 2);
  EXPECT_EQ(Exchange(one, elsewhere, 11211, 9000, nonsense), 2);
  for (const char* request : {"nonsense\r\n", "get a\r\n", "set a 0 0 1\r\nx\r\n", "incr a 1\r\n",
                              "version\r\n", "mn\r\n", "mg a\r\n", "set a 0 0 x\r\n", "\x80",
                              "set n 0 0 1\r\n1\r\nincr n 4\r\n", "stats\r\n", "flush_all\r\n"}) {
    EXPECT_LE(Exchange(open, open, 11211, 11211, Ascii(request)), 2) << request;
    EXPECT_LE(Exchange(open, open, 11211, 1024, Ascii(request)), 2) << request;
  }
  std::string no_such_command = "\x80\x7f";
  no_such_command.resize(24);
  Frame binary = Ascii(no_such_command);
  EXPECT_EQ(Exchange(open, open, 11211, 11211, binary), 2);
  Frame mica(kMicaHeaderBytes + kMicaMessageBytes, 0);
  WriteMicaHeader(mica.data(), kMicaRequests, 1);
  EXPECT_EQ(Exchange(open, open, 1024, 1024, mica), 2);
}

}  // namespace
}  // namespace sluice::engine::kv
