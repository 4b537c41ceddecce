// SPDX-License-Identifier: BSD-3-Clause
//
// Tests scripts of requests against a server in the same process.
#include "engine/kv/client/script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/kv/mica_format.h"
#include "engine/kv/mica_protocol.h"
#include "engine/kv/partition.h"
#include "packet/bytes.h"

namespace sluice::engine::kv::client {
namespace {

using Buffer = std::vector<uint8_t>;

class Server {
 public:
  Server() {
    store_.partitions.emplace_back(
        PartitionOptions{.mode = Mode::kStore, .memory_bytes = 4 << 20, .items = 4096});
    store_.secret = 1;
  }
  Buffer Serve(const Buffer& datagram) {
    Exchange exchange{.datagram = datagram, .now_s = 1, .unix_s = 1, .max_reply_bytes = 1472};
    Access access(store_, 0);
    Buffer room(1472);
    Reply reply(room);
    EXPECT_EQ(Progress::kDone, ServeMica(exchange, access, reply, counters_));
    room.resize(reply.size());
    return room;
  }

 private:
  kv::Store store_;
  ProtocolCounters counters_;
};

ClientOptions SmallScript() {
  ClientOptions options;
  options.items = 1000;
  options.batch = 8;
  options.sizes.value_bytes = 13;
  return options;
}

struct Sent {
  Script::Datagram info;
  Buffer bytes;
};

std::vector<Sent> All(Script& script, const ClientOptions& options) {
  std::vector<Sent> all;
  Buffer room(options.max_datagram_bytes);
  for (Script::Datagram next; (next = script.Next(room)).bytes != 0;) {
    all.push_back({next, {room.begin(), room.begin() + static_cast<ptrdiff_t>(next.bytes)}});
  }
  return all;
}

TEST(ScriptTest, SetsEveryItemFirstAndThenFillsEveryDatagram) {
  ClientOptions options = SmallScript();
  options.workers = 3;
  options.partitions = 6;
  Script script(options, 5000);
  uint64_t preloaded = 0, requests = 0;
  bool preload = true;
  for (const Sent& sent : All(script, options)) {
    EXPECT_EQ(CountMica(sent.bytes, kMicaRequests), sent.info.requests);
    EXPECT_TRUE(preload || !sent.info.preload);
    preload = sent.info.preload;
    (preload ? preloaded : requests) += sent.info.requests;
    if (!preload) {
      EXPECT_EQ(sent.info.requests, 8u);
    }
    MicaMessage message;
    for (size_t at = kMicaHeaderBytes; at != sent.bytes.size();) {
      at = ReadMica(sent.bytes, at, &message);
      EXPECT_EQ(PartitionOf(RouteHash(message.key), 6) % 3, sent.info.endpoint);
      if (preload) {
        EXPECT_EQ(message.operation, MicaOperation::kSet);
      }
    }
  }
  EXPECT_EQ(preloaded, 1000u);
  EXPECT_GT(requests, 5000u - 3 * 8);
}

TEST(ScriptTest, AcceptsAllAnswersOfAServerThoughRequestsAreRepeated) {
  const ClientOptions options = SmallScript();
  Script script(options, 4000);
  Server server;
  const std::vector<Sent> all = All(script, options);
  uint64_t requests = 0;
  for (const Sent& sent : all) {
    script.Check(server.Serve(sent.bytes));
    requests += sent.info.requests;
  }
  std::vector<Sent> again(all.begin() + 125, all.end());
  EXPECT_FALSE(again.front().info.preload);
  std::shuffle(again.begin(), again.end(), std::mt19937(1));
  for (const Sent& sent : again) {
    script.Check(server.Serve(sent.bytes));
    requests += sent.info.requests;
  }
  const Script::Results& results = script.results();
  EXPECT_EQ(results.hits + results.stored, requests);
  EXPECT_GT(results.hits, 3000u);
  EXPECT_EQ(results.misses + results.refused + results.wrong + results.malformed, 0u);
}

TEST(ScriptTest, CountsAnswersThatAreNotCorrect) {
  ClientOptions options = SmallScript();
  options.batch = 1;
  options.get_share = 1;
  Script script(options, 100);
  Server server;
  std::vector<Buffer> answers;
  for (const Sent& sent : All(script, options)) {
    Buffer answer = server.Serve(sent.bytes);
    if (!sent.info.preload) answers.push_back(answer);
  }
  const Script::Results& results = script.results();
  const size_t value = kMicaHeaderBytes + kMicaMessageBytes;
  // Every byte of a value is checked.
  for (size_t byte = 0; byte < options.sizes.value_bytes; ++byte) {
    Buffer answer = answers[0];
    answer[value + byte] ^= 1;
    script.Check(answer);
    EXPECT_EQ(results.wrong, byte + 1);
  }
  // The value of another item, and a version that was not set.
  Buffer answer = answers[1];
  packet::Store(&answer[kMicaHeaderBytes + 16], uint32_t{5});
  script.Check(answer);
  EXPECT_EQ(results.wrong, 14u) << "request 5 is a set";
  const auto id = packet::Load<uint32_t>(&answers[1][kMicaHeaderBytes + 16]);
  answer = answers[1];
  packet::Store(&answer[kMicaHeaderBytes + 16], id + 1000000);
  script.Check(answer);
  EXPECT_EQ(results.wrong, 15u);
  answer = answers[2];
  answer[kMicaHeaderBytes + 1] = static_cast<uint8_t>(MicaResult::kRejected);
  script.Check(answer);
  EXPECT_EQ(results.refused, 1u);
  answer.pop_back();
  script.Check(answer);
  EXPECT_EQ(results.malformed, 1u);
  EXPECT_EQ(results.hits, 0u);
}

}  // namespace
}  // namespace sluice::engine::kv::client
