// SPDX-License-Identifier: BSD-3-Clause
//
// Who is answered, and how much: a server must be of no use to anybody who forges a sender.
#include "engine/kv/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "engine/kv/mica_format.h"
#include "engine/kv/server.h"
#include "server_lab.h"

namespace {
std::atomic<uint64_t> g_allocations{0};
}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  ++g_allocations;
  if (void* const place = std::malloc(bytes)) return place;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* place) noexcept { std::free(place); }
[[gnu::noinline]] void operator delete(void* place, size_t) noexcept { std::free(place); }

namespace sluice::engine::kv {
namespace {

using S = Server<TestCourier>;
constexpr uint64_t kCyclesPerSecond = 1000;

/// Workers with a store of their own, in one thread.
class Host {
 public:
  explicit Host(const ServiceOptions& options, uint32_t workers = 1, bool concurrent_read = true) {
    store_.workers = workers;
    store_.secret = 42;
    store_.concurrent_read = concurrent_read;
    for (uint32_t i = 0; i < workers; ++i) {
      store_.partitions.emplace_back(PartitionOptions{.memory_bytes = 4 << 20, .items = 1 << 10});
      parcels_.push_back(std::make_unique<Parcel>());
      office_.empty.push_back(parcels_.back().get());
    }
    for (uint32_t i = 0; i < workers; ++i) {
      servers_.push_back(
          std::make_unique<S>(store_, i, options, TestCourier(office_, i), kCyclesPerSecond));
      servers_[i]->set_outbox(packet::Outbox::To(sent_));
    }
    Rest(0);
  }

  void Rest(uint64_t now) {
    for (int i = 0; i < 2; ++i) {
      for (auto& server : servers_) server->AtRest(now);
    }
  }
  /// `view` becomes the answer if the verdict is to forward it.
  packet::Verdict Process(packet::Frame& view, uint32_t worker = 0) {
    return servers_[worker]->Process(view, 0);
  }
  packet::Verdict Give(Frame frame, uint32_t worker = 0) {
    packet::Frame view{frame.data(), static_cast<uint32_t>(frame.size()), 0, 0};
    const packet::Verdict verdict = Process(view, worker);
    if (verdict == packet::kForward) sent_.Send(view.data, view.length);
    return verdict;
  }
  /// The frames that left since the last call.
  std::vector<Frame> Sent() { return std::exchange(sent_.frames, {}); }
  uint64_t SentBytes() {
    uint64_t bytes = 0;
    for (const Frame& frame : Sent()) bytes += frame.size();
    return bytes;
  }
  const ResponderCounters& counters(uint32_t worker = 0) const {
    return servers_[worker]->responder().counters();
  }
  std::string KeyOf(uint32_t worker) const {
    for (int i = 0;; ++i) {
      std::string key = "key" + std::to_string(i);
      if (store_.OwnerOf(RouteHash({reinterpret_cast<const uint8_t*>(key.data()), key.size()})) ==
          worker) {
        return key;
      }
    }
  }

 private:
  Store store_;
  Office office_;
  std::vector<std::unique_ptr<Parcel>> parcels_;
  sluice::engine::kv::Sent sent_;
  std::vector<std::unique_ptr<S>> servers_;
};

void Put(Frame* frame, size_t at, const Frame& bytes) {
  std::copy(bytes.begin(), bytes.end(), frame->begin() + static_cast<ptrdiff_t>(at));
}
void PutPort(Frame* frame, size_t at, uint16_t port) { packet::StoreBe16(&(*frame)[at], port); }

Frame Get(const std::string& key = "a") {
  return Udp(kMemcachedPort, Ascii("get " + key + "\r\n"), false, false);
}

constexpr size_t kSourceMac = 6, kSource4 = 26, kTo4 = 30, kPort4 = 34;
constexpr size_t kSource6 = 22, kTo6 = 38, kPort6 = 54;

/// Over IPv6, where there must be a checksum.
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
  std::optional<S::Reason> dropped;  ///< Else answered.
};

void Check(const std::vector<Row>& rows, const ServiceOptions& options, bool ipv6) {
  Host host(options);
  // Twice, the second time in front of a sender that is known.
  for (int round = 0; round < 2; ++round) {
    for (const Row& row : rows) {
      Frame frame = ipv6 ? Get6(row.at, row.bytes) : Get();
      if (!ipv6) Put(&frame, row.at, row.bytes);
      const packet::Verdict verdict = host.Give(frame);
      EXPECT_EQ(verdict, row.dropped ? packet::Drop(*row.dropped) : packet::kForward)
          << row.name << (ipv6 ? " over IPv6" : "") << ", round " << round;
      EXPECT_EQ(host.Sent().size(), row.dropped ? 0u : 1u) << row.name;
      ASSERT_EQ(host.Give(Get()), options.gate.own.empty() || options.gate.any_destination ||
                                          !options.gate.own.ipv4().empty()
                                      ? packet::kForward
                                      : packet::Drop(S::kNotOurs));
      host.Sent();
    }
  }
}

constexpr Frame::value_type kX = 0xff;

// RFC 6890's special addresses; RFC 1112 and RFC 2464 for groups in MACs.
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
      {"from another one of ours", kSource4, {10, 0, 0, 7},
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
      {"from our own address", kSource6,
       {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, S::kBadSource},
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
  EXPECT_EQ(Host(options).Give(Get()), packet::Drop(S::kNotOurs));
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
  EXPECT_EQ(host.Give(tagged), packet::kForward);
  PutPort(&tagged, kPort4 + 4, 7);
  EXPECT_EQ(host.Give(tagged), packet::Drop(S::kBadPort));
  PutPort(&tagged, kPort4 + 4, 40000);
  Put(&tagged, kSource4 + 4, {127, 0, 0, 1});
  EXPECT_EQ(host.Give(tagged), packet::Drop(S::kBadSource));
}

/// Each server's answers go to the other, until there are none. Returns how many there were.
int Exchange(const ServiceOptions& a, const ServiceOptions& b, uint16_t a_port, uint16_t b_port,
             const Frame& payload) {
  Host hosts[] = {Host(a), Host(b)};
  std::vector<Frame> travelling = {Udp(a_port, payload, false, false)};
  PutPort(&travelling[0], kPort4, b_port);  // In the name of the other.
  for (int answers = 0;; ++answers) {
    if (travelling.empty() || answers == 100) return answers;
    const uint32_t to = answers % 2;
    for (Frame& frame : travelling) {
      Put(&frame, 0, {2, 0, 0, 0, 0, 2});  // Either is the host of the lab.
      Put(&frame, kSourceMac, {2, 0, 0, 0, 0, 1});
      hosts[to].Give(frame);
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
  // At the first server; at the second; by what an answer looks like, even if ports do not help.
  EXPECT_EQ(Exchange(one, one, 11211, 11211, nonsense), 1);
  EXPECT_EQ(Exchange(open, one, 11211, 11211, nonsense), 2);
  EXPECT_EQ(Exchange(one, elsewhere, 11211, 9000, nonsense), 2);
  for (const char* request : {"nonsense\r\n", "get a\r\n", "set a 0 0 1\r\nx\r\n", "incr a 1\r\n",
                              "version\r\n", "mn\r\n", "mg a\r\n", "set a 0 0 x\r\n", "\x80",
                              "set n 0 0 1\r\n1\r\nincr n 4\r\n", "stats\r\n", "flush_all\r\n"}) {
    EXPECT_LE(Exchange(open, open, 11211, 11211, Ascii(request)), 2) << request;
    EXPECT_LE(Exchange(open, open, 11211, 1024, Ascii(request)), 2) << request;
  }
  Frame binary = Ascii(std::string("\x80\x7f", 2) + std::string(22, '\0'));  // No such command.
  EXPECT_EQ(Exchange(open, open, 11211, 11211, binary), 2);
  Frame mica(kMicaHeaderBytes + kMicaMessageBytes, 0);
  WriteMicaHeader(mica.data(), kMicaRequests, 1);
  EXPECT_EQ(Exchange(open, open, 1024, 1024, mica), 2);
}

/// A server with a value of 1000 bytes for each worker's key.
std::unique_ptr<Host> Loaded(const ServiceOptions& options, uint32_t workers,
                             bool concurrent_read = true) {
  auto made = std::make_unique<Host>(options, workers, concurrent_read);
  Host& host = *made;
  for (uint32_t i = 0; i < workers; ++i) {
    EXPECT_EQ(host.Give(Udp(kMemcachedPort, Ascii("set " + host.KeyOf(i) + " 0 0 1000\r\n" +
                                                  std::string(1000, 'v') + "\r\n")),
                        i),
              packet::kForward);
  }
  host.Sent();
  return made;
}

constexpr uint64_t kRate = 100'000;
/// Asks as often as it takes, for `seconds`. Returns bytes out; `in`: bytes in.
uint64_t Press(Host& host, uint64_t from, uint32_t seconds, const std::vector<Frame>& requests,
               uint64_t* in) {
  uint64_t out = 0;
  for (uint64_t now = from; now < from + seconds * kCyclesPerSecond; now += 10) {
    host.Rest(now);
    for (uint32_t i = 0; i < 20; ++i) {
      for (uint32_t worker = 0; worker < requests.size(); ++worker) {
        host.Give(requests[worker], worker);
        host.Rest(now);
        *in += requests[worker].size();
      }
    }
    out += host.SentBytes();
  }
  return out;
}

TEST(Excess, OfASourceIsBounded) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = kRate;
  for (const bool concurrent_read : {true, false}) {
    for (const uint32_t workers : {1u, 2u}) {
      const auto made = Loaded(options, workers, concurrent_read);
      Host& host = *made;
      // Of the first worker's key: the second's datagrams travel, unless all may read.
      const std::vector<Frame> requests(workers, Get(host.KeyOf(0)));
      uint64_t in = 0;
      const uint64_t out = Press(host, 0, 10, requests, &in);
      // 10 s, and the second that was saved up.
      EXPECT_LE(out, 3 * in + 11 * kRate);
      EXPECT_GE(out, 5 * kRate) << "what it may have, it gets";
      uint64_t withheld = 0;
      for (uint32_t i = 0; i < workers; ++i) withheld += host.counters(i).withheld;
      EXPECT_GT(withheld, 0u);
      // Silence fills the bucket, and not more than that.
      in = 0;
      const uint64_t later = Press(host, 1000 * kCyclesPerSecond, 1, requests, &in);
      EXPECT_LE(later, 3 * in + 2 * kRate);
    }
  }
}

TEST(Excess, EachSourceHasItsOwnAndSmallAnswersAreFree) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = kRate;
  const auto made = Loaded(options, 1);
  Host& host = *made;
  const std::string key = host.KeyOf(0);
  uint64_t in = 0;
  Press(host, 0, 2, {Get(key)}, &in);
  EXPECT_EQ(host.Give(Get(key)), packet::Drop(S::kWithheld));
  EXPECT_EQ(host.Give(Get("none")), packet::kForward) << "no longer than three times the request";
  EXPECT_EQ(host.Give(Udp(kMemcachedPort, Ascii("set b 0 0 1\r\nx\r\n"))), packet::kForward);
  Frame other = Get(key);
  Put(&other, kSource4, {10, 0, 0, 9});
  EXPECT_EQ(host.Give(other), packet::kForward);
  // All of a /64 is one source (RFC 4291, section 2.5.1).
  const auto from6 = [&](uint8_t network, uint8_t last) {
    Frame frame = Udp(kMemcachedPort, Ascii("get " + key + "\r\n"), true, false);
    frame[kSource6 + 7] = network;
    frame[kSource6 + 15] = last;
    FinishUdp(&frame, 14, kPort6, true, true);
    return frame;
  };
  for (uint32_t i = 0; i < 1000; ++i) host.Give(from6(0, static_cast<uint8_t>(3 + i % 200)));
  EXPECT_EQ(host.Give(from6(0, 250)), packet::Drop(S::kWithheld));
  EXPECT_EQ(host.Give(from6(1, 250)), packet::kForward);
}

TEST(Excess, Of0IsNotBounded) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = 0;
  const auto made = Loaded(options, 1);
  Host& host = *made;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(host.Give(Get(host.KeyOf(0))), packet::kForward);
}

TEST(Excess, ALongAnswerIsPaidForAtAnyRate) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = 1;
  options.max_reply_bytes = 20000;
  const auto made = Loaded(options, 1);
  Host& host = *made;
  std::string keys;
  for (int i = 0; i < 15; ++i) keys += " " + host.KeyOf(0);
  EXPECT_EQ(host.Give(Udp(kMemcachedPort, Ascii("get" + keys + "\r\n"))), packet::kConsume);
  EXPECT_EQ(host.Sent().size(), 12u) << "15 times 1020 bytes, 1392 a datagram";
}

TEST(Excess, AMillionForgedSourcesTakeNoMemory) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = kRate;
  const auto made = Loaded(options, 1);
  Host& host = *made;
  Frame room = Get(host.KeyOf(0));
  const Frame request = room;
  uint64_t answered = 0;
  const uint64_t before = g_allocations;
  for (uint32_t i = 0; i < 1u << 20; ++i) {
    room = request;
    packet::StoreBe32(&room[kSource4], 0x0b000000 + i);
    packet::Frame view{room.data(), static_cast<uint32_t>(room.size()), 0, 0};
    answered += host.Process(view) == packet::kForward;
  }
  EXPECT_EQ(g_allocations, before);
  EXPECT_GT(answered, 0u);
  EXPECT_EQ(answered + host.counters().withheld, 1u << 20);
}

TEST(LargeAnswers, AreNotGivenUnlessAskedFor) {
  Host host(LabOptions());
  // The longest value that one datagram of an MTU of 1500 sets can be had.
  const std::string set = "set a 0 0 1441\r\n";
  Frame longest = Udp(kMemcachedPort, Ascii(set + std::string(1441, 'v') + "\r\n"));
  ASSERT_EQ(longest.size(), 14u + 20 + 8 + 8 + set.size() + 1441 + 2);
  ASSERT_LE(longest.size(), 1514u);
  ASSERT_EQ(host.Give(longest), packet::kForward);
  EXPECT_EQ(host.Give(Get()), packet::kConsume);
  uint64_t bytes = 0;
  for (const Frame& frame : host.Sent()) bytes += frame.size() - 50;
  EXPECT_GT(bytes, 1441u);
  // Twice that cannot.
  EXPECT_EQ(host.Give(Get("a a")), packet::kForward);
  EXPECT_EQ(host.counters().memcached.cut_replies, 1u);
}

}  // namespace
}  // namespace sluice::engine::kv
