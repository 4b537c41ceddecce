// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the limit on answers to one source, which makes forged source addresses unattractive.
#include "engine/kv/excess.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

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

using S = Server<TestHandoffQueue>;

/// Returns a server that stores a value of 1000 bytes under a key of each worker.
std::unique_ptr<Host> Loaded(const ServiceOptions& options, uint32_t workers,
                             bool concurrent_read = true) {
  auto made = std::make_unique<Host>(options, workers, concurrent_read);
  Host& host = *made;
  for (uint32_t i = 0; i < workers; ++i) {
    EXPECT_EQ(host.Receive(Udp(kMemcachedPort, Ascii("set " + host.KeyOf(i) + " 0 0 1000\r\n" +
                                                     std::string(1000, 'v') + "\r\n")),
                           i),
              packet::kForward);
  }
  host.Sent();
  return made;
}

constexpr uint64_t kRate = 100'000;
/// Sends 2000 requests per second to each worker for `seconds` seconds, starting at cycle `from`.
/// Returns the number of bytes that the host sent, and adds the number of bytes that it received to
/// `in`.
uint64_t Press(Host& host, uint64_t from, uint32_t seconds, const std::vector<Frame>& requests,
               uint64_t* in) {
  uint64_t out = 0;
  for (uint64_t now = from; now < from + seconds * kCyclesPerSecond; now += 10) {
    host.Rest(now);
    for (uint32_t i = 0; i < 20; ++i) {
      for (uint32_t worker = 0; worker < requests.size(); ++worker) {
        host.Receive(requests[worker], worker);
        host.Rest(now);
        *in += requests[worker].size();
      }
    }
    out += host.SentBytes();
  }
  return out;
}

TEST(Excess, IsWhatGoesBeyondThreeTimesTheRequest) {
  Excess excess(1, 1000, 1);  // The rate is 1 B/s, and the initial credit is 1000 bytes.
  const auto source = [] { return uint64_t{7}; };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(excess.Allow(100, 300, source)) << "free";
  EXPECT_TRUE(excess.Allow(100, 900, source)) << "600 of 1000";
  EXPECT_FALSE(excess.Allow(100, 701, source)) << "400 are left";
  EXPECT_TRUE(excess.Allow(100, 700, source));
  EXPECT_FALSE(excess.Allow(100, 301, source));
  excess.SetTime(1);
  EXPECT_TRUE(excess.Allow(100, 301, source));
  EXPECT_FALSE(excess.Allow(100, 301, source));
}

TEST(Excess, OfASourceIsBounded) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = kRate;
  for (const bool concurrent_read : {true, false}) {
    for (const uint32_t workers : {1u, 2u}) {
      const auto made = Loaded(options, workers, concurrent_read);
      Host& host = *made;
      // The key belongs to the first worker. Datagrams that arrive at the second worker are handed
      // over, unless all workers may read.
      const std::vector<Frame> requests(workers, Get(host.KeyOf(0)));
      uint64_t in = 0;
      const uint64_t out = Press(host, 0, 10, requests, &in);
      // The source has the credit of 10 s, plus one second of saved credit.
      EXPECT_LE(out, 3 * in + 11 * kRate);
      EXPECT_GE(out, 5 * kRate) << "what it may have, it gets";
      uint64_t withheld = 0;
      for (uint32_t i = 0; i < workers; ++i) withheld += host.counters(i).withheld;
      EXPECT_GT(withheld, 0u);
      // The bucket fills during silence, but only up to its size.
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
  EXPECT_EQ(host.Receive(Get(key)), packet::Drop(S::kWithheld));
  EXPECT_EQ(host.Receive(Get("none")), packet::kForward)
      << "no longer than three times the request";
  EXPECT_EQ(host.Receive(Udp(kMemcachedPort, Ascii("set b 0 0 1\r\nx\r\n"))), packet::kForward);
  Frame other = Get(key);
  Put(&other, kSource4, {10, 0, 0, 9});
  EXPECT_EQ(host.Receive(other), packet::kForward);
  // A /64 counts as one source (RFC 4291, section 2.5.1).
  const auto from6 = [&](uint8_t network, uint8_t last) {
    Frame frame = Udp(kMemcachedPort, Ascii("get " + key + "\r\n"), true, false);
    frame[kSource6 + 7] = network;
    frame[kSource6 + 15] = last;
    FinishUdp(&frame, 14, kPort6, true, true);
    return frame;
  };
  for (uint32_t i = 0; i < 1000; ++i) host.Receive(from6(0, static_cast<uint8_t>(3 + i % 200)));
  EXPECT_EQ(host.Receive(from6(0, 250)), packet::Drop(S::kWithheld));
  EXPECT_EQ(host.Receive(from6(1, 250)), packet::kForward);
}

TEST(Excess, Of0IsNotBounded) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = 0;
  const auto made = Loaded(options, 1);
  Host& host = *made;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(host.Receive(Get(host.KeyOf(0))), packet::kForward);
}

TEST(Excess, ALongAnswerIsPaidForAtAnyRate) {
  ServiceOptions options = LabOptions();
  options.excess_bytes_per_s = 1;
  options.max_reply_bytes = 20000;
  const auto made = Loaded(options, 1);
  Host& host = *made;
  std::string keys;
  for (int i = 0; i < 15; ++i) keys += " " + host.KeyOf(0);
  EXPECT_EQ(host.Receive(Udp(kMemcachedPort, Ascii("get" + keys + "\r\n"))), packet::kConsume);
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
  // A get of the longest value that one datagram can set at an MTU of 1500 is answered.
  const std::string set = "set a 0 0 1441\r\n";
  Frame longest = Udp(kMemcachedPort, Ascii(set + std::string(1441, 'v') + "\r\n"));
  ASSERT_EQ(longest.size(), 14u + 20 + 8 + 8 + set.size() + 1441 + 2);
  ASSERT_LE(longest.size(), 1514u);
  ASSERT_EQ(host.Receive(longest), packet::kForward);
  EXPECT_EQ(host.Receive(Get()), packet::kConsume);
  uint64_t bytes = 0;
  for (const Frame& frame : host.Sent()) bytes += frame.size() - 50;
  EXPECT_GT(bytes, 1441u);
  // A reply with two such values is truncated.
  EXPECT_EQ(host.Receive(Get("a a")), packet::kForward);
  EXPECT_EQ(host.counters().memcached.cut_replies, 1u);
}

}  // namespace
}  // namespace sluice::engine::kv
