// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the client against servers in the same process, in test time.
#include "engine/kv/client/client.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "engine/kv/client/memcached_messages.h"
#include "engine/kv/mica_format.h"
#include "engine/kv/mica_protocol.h"

namespace sluice::engine::kv::client {
namespace {

using Buffer = std::vector<uint8_t>;

constexpr uint64_t kMicrosecond = 1000, kMillisecond = 1'000'000;

/// A MICA server with one worker, and wires with a delay of 10 µs in each direction. The test may
/// change or drop the answers.
class Lab {
 public:
  explicit Lab(const ClientOptions& options) : client(options), options_(options) {
    store_.partitions.emplace_back(
        PartitionOptions{.mode = Mode::kStore, .memory_bytes = 4 << 20, .items = 4096});
    store_.secret = 1;
  }

  /// Steps in microseconds until `end_ns`.
  void RunUntil(uint64_t end_ns) {
    for (; now_ns < end_ns; now_ns += kMicrosecond) Step();
  }
  void Preload() {
    while (client.phase() == Client::Phase::kPreload && now_ns < 10'000 * kMillisecond) {
      Step();
      now_ns += kMicrosecond;
    }
    ASSERT_EQ(Client::Phase::kReady, client.phase());
  }
  void RunFor(uint64_t ns) {
    client.Start(now_ns);
    RunUntil(now_ns + ns);
    client.Stop(now_ns);
    RunUntil(now_ns + 2 * options_.timeout_ns);
    EXPECT_EQ(0u, client.outstanding());
  }

  uint64_t now_ns = 1;
  Client client;
  /// Called for each answer before the client receives it; false drops the answer.
  std::function<bool(Buffer&)> disturb = [](Buffer&) { return true; };
  std::vector<uint32_t> batches;  // Number of requests in each datagram.
  uint64_t frozen_until_ns = 0;   // The server processes nothing until this time.

 private:
  void Step() {
    Buffer room(options_.max_datagram_bytes);
    while (const Outgoing out = client.Next(now_ns, room)) {
      EXPECT_EQ(0u, out.endpoint);
      requests_.emplace_back(now_ns + 10 * kMicrosecond,
                             Buffer(room.begin(), room.begin() + static_cast<long>(out.bytes)));
      batches.push_back(room[1]);
    }
    while (!requests_.empty() && requests_.front().first <= now_ns && now_ns >= frozen_until_ns) {
      Buffer answer = Serve(requests_.front().second);
      requests_.pop_front();
      if (disturb(answer)) answers_.emplace_back(now_ns + 10 * kMicrosecond, std::move(answer));
    }
    while (!answers_.empty() && answers_.front().first <= now_ns) {
      client.OnDatagram(now_ns, answers_.front().second);
      answers_.pop_front();
    }
  }

  Buffer Serve(const Buffer& datagram) {
    Exchange exchange{.datagram = datagram, .now_s = 1, .unix_s = 1, .max_reply_bytes = 1472};
    Access access(store_, 0);
    Buffer room(1472);
    Reply reply(room);
    EXPECT_EQ(Progress::kDone, ServeMica(exchange, access, reply, server_counters_));
    room.resize(reply.size());
    return room;
  }

  ClientOptions options_;
  kv::Store store_;
  ProtocolCounters server_counters_;
  std::deque<std::pair<uint64_t, Buffer>> requests_, answers_;
};

ClientOptions Small() {
  ClientOptions options;
  options.items = 1000;
  options.outstanding = 16;
  options.timeout_ns = kMillisecond;
  return options;
}

TEST(ClientTest, PreloadsEveryItemAndFindsEachOfThem) {
  for (const uint32_t value_bytes : {8u, 13u, 1024u}) {
    ClientOptions options = Small();
    options.sizes.value_bytes = value_bytes;
    Lab lab(options);
    lab.Preload();
    EXPECT_EQ(1000u, lab.client.counters().preloaded);
    lab.RunFor(50 * kMillisecond);
    const ClientCounters& counters = lab.client.counters();
    EXPECT_EQ(counters.requests, counters.hits + counters.stored);
    // 16 requests are in flight at a time, for 20 µs each.
    EXPECT_NEAR(40'000, static_cast<double>(counters.requests), 4000);
    EXPECT_NEAR(0.5, static_cast<double>(counters.hits) / static_cast<double>(counters.requests),
                0.02);
    EXPECT_EQ(counters.hits, lab.client.get_latency().count());
    EXPECT_EQ(counters.stored, lab.client.set_latency().count());
  }
}

TEST(ClientTest, FillsDatagramsUpToTheBatch) {
  ClientOptions options = Small();
  options.batch = 16;
  options.outstanding = 64;
  Lab lab(options);
  lab.Preload();
  lab.batches.clear();
  lab.RunFor(10 * kMillisecond);
  EXPECT_GT(lab.batches.size(), 100u);
  for (const uint32_t batch : lab.batches) EXPECT_EQ(16u, batch);
  EXPECT_EQ(lab.client.counters().requests,
            lab.client.counters().hits + lab.client.counters().stored);
}

TEST(ClientTest, SendsWhatThereIsOfABatchBeforeItGetsOld) {
  ClientOptions options = Small();
  options.batch = 16;
  options.rate = 500'000;  // This is five requests in the 10 µs for which a batch may wait.
  Lab lab(options);
  lab.Preload();
  lab.batches.clear();
  lab.RunFor(20 * kMillisecond);
  uint64_t requests = 0;
  for (const uint32_t batch : lab.batches) requests += batch;
  EXPECT_NEAR(10'000, static_cast<double>(requests), 400);
  EXPECT_NEAR(6, static_cast<double>(requests) / static_cast<double>(lab.batches.size()), 1);
  EXPECT_LE(lab.client.get_latency().max(), 35 * kMicrosecond);
}

TEST(ClientTest, CutsBatchesThatWouldNotFitIntoADatagram) {
  ClientOptions options = Small();
  options.sizes = {.key_bytes = 128, .value_bytes = 500};
  options.batch = 16;
  EXPECT_EQ(2u, Client(options).batch());  // (1472 - 6) / (24 + 128 + 504)
  options.protocol = Protocol::kMemcachedBinary;
  options.max_datagram_bytes = 1400;
  EXPECT_EQ(1u, Client(options).batch());
}

TEST(ClientTest, CountsLatencyFromWhenARequestWasDue) {
  ClientOptions options = Small();
  options.rate = 100'000;
  options.arrivals = workload::Arrivals::kConstant;
  options.timeout_ns = 100 * kMillisecond;
  Lab lab(options);
  lab.Preload();
  // The server stops for half of the run, so half of the requests wait 25 ms on average.
  lab.frozen_until_ns = lab.now_ns + 50 * kMillisecond;
  lab.RunFor(100 * kMillisecond);
  workload::Histogram all = lab.client.get_latency();
  all.Add(lab.client.set_latency());
  EXPECT_EQ(10'000u, all.count());
  EXPECT_NEAR(50e6, static_cast<double>(all.max()), 1e6);
  EXPECT_NEAR(25e6, static_cast<double>(all.Percentile(0.75)), 1e6);
  EXPECT_NEAR(20e3, static_cast<double>(all.Percentile(0.25)), 2e3);
}

TEST(ClientTest, RequestsThatCouldNotLeaveAreStillCharged) {
  // More requests become due during the pause than there are distinct ids.
  ClientOptions options = Small();
  options.rate = 2e6;
  options.timeout_ns = 1000 * kMillisecond;
  Lab lab(options);
  lab.Preload();
  lab.frozen_until_ns = lab.now_ns + 100 * kMillisecond;
  lab.client.Start(lab.now_ns);
  lab.RunUntil(lab.now_ns + 50 * kMillisecond);
  EXPECT_EQ(65'536u, lab.client.outstanding());
  lab.client.Stop(lab.now_ns);
  EXPECT_NEAR(100'000 - 65'536, static_cast<double>(lab.client.counters().unsent), 2000);
}

TEST(ClientTest, CountsLossAndDoesNotSendAgain) {
  Lab lab(Small());
  lab.Preload();
  std::mt19937 random(1);
  uint64_t lost = 0;
  lab.disturb = [&](Buffer&) {
    const bool lose = random() % 10 == 0;
    lost += lose;
    return !lose;
  };
  lab.RunFor(50 * kMillisecond);
  const ClientCounters& counters = lab.client.counters();
  EXPECT_GT(lost, 100u);
  EXPECT_EQ(lost, counters.timeouts);
  EXPECT_EQ(counters.requests, counters.answers() + counters.timeouts);
  EXPECT_EQ(0u, counters.wrong);
  EXPECT_EQ(0u, counters.misses);
}

TEST(ClientTest, PreloadsAgainWhatWasLost) {
  Lab lab(Small());
  std::mt19937 random(2);
  lab.disturb = [&](Buffer&) { return random() % 4 != 0; };
  lab.Preload();
  EXPECT_EQ(1000u, lab.client.counters().preloaded);
  EXPECT_GT(lab.client.counters().preload_timeouts, 100u);
  lab.disturb = [](Buffer&) { return true; };
  lab.RunFor(10 * kMillisecond);
  EXPECT_EQ(0u, lab.client.counters().misses + lab.client.counters().wrong);
}

/// Returns the value of an answer to one request, or null if it has no value of 8 bytes.
uint8_t* ValueOf(Buffer& answer) {
  return answer.size() == 6 + 24 + 8 ? answer.data() + 6 + 24 : nullptr;
}

TEST(ClientTest, NoticesValuesThatWereNeverSet) {
  Lab lab(Small());
  lab.Preload();
  uint64_t gets = 0, bent = 0;
  lab.disturb = [&](Buffer& answer) {
    uint8_t* const value = ValueOf(answer);
    if (value == nullptr || ++gets % 10 != 0) return true;
    value[bent++ % 8] ^= 0x10;
    return true;
  };
  lab.RunFor(20 * kMillisecond);
  EXPECT_GT(bent, 100u);
  EXPECT_EQ(bent, lab.client.counters().wrong);
}

TEST(ClientTest, NoticesValuesOfOtherItems) {
  Lab lab(Small());
  lab.Preload();
  uint64_t swapped = 0;
  uint64_t other = 0, other_hash = 0;
  lab.disturb = [&](Buffer& answer) {
    uint8_t* const value = ValueOf(answer);
    if (value == nullptr) return true;
    const auto mine = packet::Load<uint64_t>(value);
    const auto hash = packet::Load<uint64_t>(answer.data() + 6 + 8);
    if (other_hash != 0 && hash != other_hash) {
      packet::Store(value, other);
      ++swapped;
    }
    other = mine;
    other_hash = hash;
    return true;
  };
  lab.RunFor(5 * kMillisecond);
  EXPECT_GT(swapped, 100u);
  EXPECT_EQ(swapped, lab.client.counters().wrong);
}

TEST(ClientTest, NoticesValuesThatWereReplacedLongAgo) {
  ClientOptions options = Small();
  options.items = 1;
  options.outstanding = 1;
  Lab lab(options);
  lab.Preload();
  uint64_t first = 0, stale = 0;
  lab.disturb = [&](Buffer& answer) {
    uint8_t* const value = ValueOf(answer);
    if (value == nullptr) return true;
    const auto now = packet::Load<uint64_t>(value);
    if (first == 0) first = now;
    stale += now != first;
    packet::Store(value, first);
    return true;
  };
  lab.RunFor(10 * kMillisecond);
  EXPECT_GT(stale, 50u);
  EXPECT_EQ(stale, lab.client.counters().wrong);
}

TEST(ClientTest, CountsAnswersThatComeTwiceOrTooLate) {
  Lab lab(Small());
  lab.Preload();
  std::vector<Buffer> old;
  lab.disturb = [&](Buffer& answer) {
    old.push_back(answer);
    return true;
  };
  lab.RunFor(kMillisecond);
  const ClientCounters before = lab.client.counters();
  ASSERT_GT(old.size(), 100u);
  for (const Buffer& answer : old) lab.client.OnDatagram(lab.now_ns, answer);
  EXPECT_EQ(old.size(), lab.client.counters().late);
  EXPECT_EQ(before.answers(), lab.client.counters().answers());
}

TEST(ClientTest, SurvivesDatagramsOfAnyBytes) {
  for (const Protocol protocol :
       {Protocol::kMica, Protocol::kMemcachedAscii, Protocol::kMemcachedBinary}) {
    ClientOptions options = Small();
    options.protocol = protocol;
    options.max_datagram_bytes = 1400;
    Client client(options, /*preload=*/false);
    client.Start(0);
    Buffer room(1400);
    while (client.Next(0, room)) continue;
    ASSERT_EQ(16u, client.outstanding());
    std::mt19937 random(3);
    for (int i = 0; i < 20'000; ++i) {
      Buffer datagram(random() % 80);
      for (uint8_t& byte : datagram) byte = static_cast<uint8_t>(random() % 4 ? 0 : random());
      if (!datagram.empty()) datagram[0] = static_cast<uint8_t>(random() % 2 ? 0x79 : 0);
      client.OnDatagram(0, datagram);
    }
    EXPECT_GT(client.counters().malformed, 1000u);
  }
}

TEST(ClientTest, AsksTheWorkerThatOwnsTheKey) {
  ClientOptions options = Small();
  options.servers = 3;
  options.workers = 4;
  options.partitions = 10;
  options.outstanding = 1000;
  Client client(options);
  std::vector<uint16_t> servers(1000);
  for (size_t i = 0; i < servers.size(); ++i) servers[i] = static_cast<uint16_t>(i % 3);
  EXPECT_EQ(0u, client.Place(servers, 3));
  Buffer room(1472);
  uint64_t item = 0;
  while (const Outgoing out = client.Next(0, room)) {
    MicaMessage request;
    ASSERT_NE(0u, ReadMica(Bytes(room).first(out.bytes), 6, &request));
    const uint32_t worker = PartitionOf(RouteHash(request.key), 10) % 4;
    EXPECT_EQ(RouteHash(request.key), request.hash);
    EXPECT_EQ(item++ % 3 * 4 + worker, out.endpoint);
  }
  EXPECT_EQ(1000u, item);
  for (size_t i = 0; i < 100; ++i) servers[i] = 3;
  EXPECT_EQ(100u, client.Place(servers, 4));
}

TEST(ClientTest, TellsWhenToCallAgain) {
  ClientOptions options = Small();
  options.rate = 1000;
  options.arrivals = workload::Arrivals::kConstant;
  Client client(options, /*preload=*/false);
  EXPECT_EQ(UINT64_MAX, client.NextWakeNs());
  client.Start(5 * kMillisecond);
  EXPECT_EQ(5 * kMillisecond, client.NextWakeNs());
  Buffer room(1472);
  EXPECT_TRUE(client.Next(5 * kMillisecond, room));
  EXPECT_FALSE(client.Next(5 * kMillisecond, room));
  EXPECT_EQ(6 * kMillisecond, client.NextWakeNs());
  client.Stop(5 * kMillisecond);
  EXPECT_EQ(6 * kMillisecond, client.NextWakeNs());  // The next wake-up is for the timeout.
  EXPECT_FALSE(client.Next(6 * kMillisecond, room));
  EXPECT_EQ(1u, client.counters().timeouts);
  EXPECT_EQ(UINT64_MAX, client.NextWakeNs());
}

// Helpers that write bytes according to memcached's protocol.txt and protocol_binary.

Buffer Text(const std::string& text) { return {text.begin(), text.end()}; }
Buffer Framed(uint16_t id, const Buffer& message, uint8_t datagrams = 1) {
  Buffer bytes{static_cast<uint8_t>(id >> 8), static_cast<uint8_t>(id), 0, 0, 0, datagrams, 0, 0};
  bytes.insert(bytes.end(), message.begin(), message.end());
  return bytes;
}
Buffer Written(Protocol protocol, const Request& request) {
  Buffer room(1400);
  room.resize(WriteMemcached(protocol, request, room));
  return room;
}

TEST(ClientTest, CountsAnswersThatComeTwiceWhereTheirIdsSayNoUse) {
  ClientOptions options = Small();
  // Answers of this protocol return only 16 bits of an id.
  options.protocol = Protocol::kMemcachedAscii;
  options.max_datagram_bytes = 1400;
  options.outstanding = 1;
  options.get_share = 1;
  Client client(options, /*preload=*/false);
  client.Start(0);
  Buffer room(1400);
  ASSERT_TRUE(client.Next(0, room));
  const Buffer miss = Framed(static_cast<uint16_t>(room[0] << 8 | room[1]), Text("END\r\n"));
  for (int i = 0; i < 3; ++i) client.OnDatagram(0, miss);
  EXPECT_EQ(1u, client.counters().misses);
  EXPECT_EQ(2u, client.counters().late);
  EXPECT_EQ(0u, client.outstanding());
}

TEST(MemcachedMessagesTest, AreWrittenAsTheProtocolSays) {
  const Buffer key = Text("key"), value = Text("val\r\nue");
  EXPECT_EQ(Framed(0x0203, Text("get key\r\n")),
            Written(Protocol::kMemcachedAscii, {.id = 0x0203, .key = key}));
  EXPECT_EQ(Framed(4, Text("set key 0 0 7\r\nval\r\nue\r\n")),
            Written(Protocol::kMemcachedAscii, {.set = true, .id = 4, .key = key, .value = value}));
  Buffer get{0x80, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 5, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  get.insert(get.end(), key.begin(), key.end());
  EXPECT_EQ(Framed(5, get), Written(Protocol::kMemcachedBinary, {.id = 5 | 9 << 16, .key = key}));
  Buffer set{0x80, 1, 0, 3, 8, 0, 0, 0, 0, 0, 0, 18, 5, 0, 0, 0,
             0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0};
  set.insert(set.end(), key.begin(), key.end());
  set.insert(set.end(), value.begin(), value.end());
  EXPECT_EQ(Framed(5, set), Written(Protocol::kMemcachedBinary,
                                    {.set = true, .id = 5, .key = key, .value = value}));
}

TEST(MemcachedMessagesTest, OfAsciiAnswersOnlyWholeOnesAreRead) {
  const auto read = [](const std::string& text) {
    return ReadMemcached(Protocol::kMemcachedAscii, Framed(0x0102, Text(text)));
  };
  const std::string hit = "VALUE key 0 5\r\na\r\nbc\r\nEND\r\n";
  const Buffer datagram = Framed(0x0102, Text(hit));
  const auto answer = ReadMemcached(Protocol::kMemcachedAscii, datagram);
  ASSERT_TRUE(answer);
  EXPECT_EQ(0x0102u, answer->id);
  EXPECT_EQ(Outcome::kHit, answer->outcome);
  EXPECT_EQ("a\r\nbc", std::string(answer->value.begin(), answer->value.end()));
  for (size_t length = 0; length < hit.size(); ++length) {
    EXPECT_FALSE(read(hit.substr(0, length))) << length;
  }
  EXPECT_EQ(Outcome::kMiss, read("END\r\n")->outcome);
  EXPECT_EQ(Outcome::kStored, read("STORED\r\n")->outcome);
  for (const char* error :
       {"ERROR\r\n", "CLIENT_ERROR bad\r\n", "SERVER_ERROR out of memory\r\n", "NOT_STORED\r\n"}) {
    EXPECT_EQ(Outcome::kError, read(error)->outcome);
  }
  for (const char* none :
       {"", "\r\n", "STORED", "STORED\r\nSTORED\r\n", "VALUE key 0 99999999999\r\n",
        "VALUE key 0 4\r\na\r\nbc\r\nEND\r\n", "VALUE key 0 6\r\na\r\nbc\r\nEND\r\n"}) {
    EXPECT_FALSE(read(none)) << none;
  }
  EXPECT_FALSE(ReadMemcached(Protocol::kMemcachedAscii, Framed(1, Text("END\r\n"), 2)));
}

TEST(MemcachedMessagesTest, OfBinaryAnswersOnlyWholeOnesAreRead) {
  const auto answer = [](uint8_t code, uint8_t status, uint8_t extras, const Buffer& body) {
    Buffer message{
        0x81, code, 0, 0, extras, 0, 0, status, 0, 0, 0, static_cast<uint8_t>(body.size()),
        5,    0,    9, 0, 0,      0, 0, 0,      0, 0, 0, 1};
    message.insert(message.end(), body.begin(), body.end());
    return Framed(5, message);
  };
  const auto outcome = [](const Buffer& datagram) {
    return ReadMemcached(Protocol::kMemcachedBinary, datagram)->outcome;
  };
  const Buffer hit = answer(0, 0, 4, Text("\1\2\3\4value"));
  const auto read = ReadMemcached(Protocol::kMemcachedBinary, hit);
  ASSERT_TRUE(read);
  EXPECT_EQ(5u | 9 << 16, read->id);
  EXPECT_EQ(Outcome::kHit, read->outcome);
  EXPECT_EQ("value", std::string(read->value.begin(), read->value.end()));
  for (size_t length = 0; length < hit.size(); ++length) {
    EXPECT_FALSE(ReadMemcached(Protocol::kMemcachedBinary, Bytes(hit).first(length))) << length;
  }
  EXPECT_EQ(Outcome::kMiss, outcome(answer(0, 1, 0, Text("Not found"))));
  EXPECT_EQ(Outcome::kStored, outcome(answer(1, 0, 0, {})));
  EXPECT_EQ(Outcome::kError, outcome(answer(1, 0x82, 0, Text("Out of memory"))));
  EXPECT_FALSE(ReadMemcached(Protocol::kMemcachedBinary, answer(0, 0, 0, Text("value"))));
  EXPECT_FALSE(ReadMemcached(Protocol::kMemcachedBinary, answer(0, 0, 200, Text("value"))));
}

TEST(VersionsTest, ASetThatWasAloneEndsTheTimeOfThoseBefore) {
  Versions versions(1);
  EXPECT_EQ(0u, versions.Oldest(0));
  EXPECT_EQ(1u, versions.Issue(0));
  versions.Acknowledge(0);
  EXPECT_EQ(1u, versions.Oldest(0));
  EXPECT_EQ(2u, versions.Issue(0));
  EXPECT_EQ(1u, versions.Oldest(0));
  versions.Acknowledge(0);
  EXPECT_EQ(2u, versions.Oldest(0));
}

TEST(VersionsTest, SetsUnderWayTogetherMayEndInAnyOrder) {
  Versions versions(1);
  versions.Issue(0);
  versions.Issue(0);
  versions.Acknowledge(0);
  versions.Issue(0);
  versions.Acknowledge(0);
  EXPECT_EQ(0u, versions.Oldest(0));
  versions.Acknowledge(0);
  EXPECT_EQ(1u, versions.Oldest(0));
  versions.Issue(0);
  versions.Acknowledge(0);
  EXPECT_EQ(4u, versions.Oldest(0));
}

TEST(VersionsTest, ASetThatWasLostMayComeIntoEffectAnyTime) {
  Versions versions(1);
  versions.Issue(0);
  versions.Acknowledge(0);
  versions.Issue(0);
  versions.Lose(0);
  versions.Issue(0);
  versions.Acknowledge(0);
  EXPECT_EQ(1u, versions.Oldest(0));
}

}  // namespace
}  // namespace sluice::engine::kv::client
