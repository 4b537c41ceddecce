// SPDX-License-Identifier: BSD-3-Clause
//
// Tests MICA's protocol. The bytes of requests and answers were written by hand from the
// description of the format, not by the tested code.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "engine/kv/mica_format.h"
#include "engine/kv/mica_protocol.h"

namespace sluice::engine::kv {
namespace {

using Buffer = std::vector<uint8_t>;

enum : uint8_t { kReset, kNoopRead, kNoopWrite, kAdd, kSet, kGet, kTest, kDelete, kIncrement };
enum : uint8_t {
  kSuccess,
  kError,
  kNoSpace,
  kExists,
  kNotFound,
  kPartial,
  kNotProcessed,
  kNotSupported
};

/// Appends a number in little-endian order.
void Append(Buffer* to, uint64_t number, int bytes) {
  for (; bytes > 0; --bytes, number >>= 8) to->push_back(static_cast<uint8_t>(number));
}
void AppendPadded(Buffer* to, const std::string& text) {
  to->insert(to->end(), text.begin(), text.end());
  to->resize(to->size() + (8 - text.size() % 8) % 8);
}

Buffer Message(uint8_t operation, uint8_t result, const std::string& key, const std::string& value,
               uint32_t opaque, uint64_t hash = 0x1122334455667788) {
  Buffer bytes{operation, result, 0, 0};
  Append(&bytes, key.size() << 24 | value.size(), 4);
  Append(&bytes, hash, 8);
  Append(&bytes, opaque, 4);
  Append(&bytes, 0, 4);
  AppendPadded(&bytes, key);
  AppendPadded(&bytes, value);
  return bytes;
}
Buffer Request(uint8_t operation, const std::string& key = "", const std::string& value = "",
               uint32_t opaque = 7) {
  return Message(operation, 0, key, value, opaque);
}
Buffer Reply(uint8_t operation, uint8_t result, const std::string& value = "",
             uint32_t opaque = 7) {
  return Message(operation, result, "", value, opaque);
}
Buffer Datagram(uint8_t magic, const std::vector<Buffer>& messages) {
  Buffer bytes{magic, static_cast<uint8_t>(messages.size()), 0, 0, 0, 0};
  for (const Buffer& message : messages) {
    bytes.insert(bytes.end(), message.begin(), message.end());
  }
  return bytes;
}
Buffer Requests(const std::vector<Buffer>& messages) { return Datagram(0x78, messages); }
Buffer Replies(const std::vector<Buffer>& messages) { return Datagram(0x79, messages); }

std::string Number(uint64_t number) {
  Buffer bytes;
  Append(&bytes, number, 8);
  return {bytes.begin(), bytes.end()};
}

/// The parameter: whether answers may overwrite requests.
class MicaProtocol : public testing::TestWithParam<bool> {
 protected:
  void MakeStore(uint32_t partitions, uint32_t workers, Mode mode = Mode::kStore) {
    store_.partitions.clear();
    for (uint32_t i = 0; i < partitions; ++i) {
      store_.partitions.emplace_back(
          PartitionOptions{.mode = mode, .memory_bytes = 4 << 20, .items = 1024});
    }
    store_.workers = workers;
    store_.secret = 42;
  }
  void SetUp() override { MakeStore(1, 1); }

  /// Serves a datagram, with handovers between workers. Returns the answer, which is empty if the
  /// datagram is rejected.
  Buffer Serve(const Buffer& datagram, uint32_t worker = 0) {
    Buffer requests = datagram;
    Exchange exchange{
        .datagram = requests, .now_s = 1, .unix_s = 1, .max_reply_bytes = max_reply_bytes_};
    Buffer room(1472);
    size_t used = 0;
    for (hops_ = 0;; ++hops_) {
      Access access(store_, worker);
      kv::Reply reply =
          GetParam() && hops_ == 0 ? kv::Reply::Movable(requests, room) : kv::Reply(room, used);
      progress_ = ServeMica(exchange, access, reply, counters_);
      EXPECT_FALSE(reply.overflowed());
      used = reply.size();
      if (progress_ != Progress::kForeign) return {reply.begin(), reply.begin() + used};
      EXPECT_NE(exchange.owner, worker);
      worker = exchange.owner;
    }
  }
  /// Sends one request and returns the single message of its answer.
  Buffer Ask(const Buffer& request) {
    const Buffer answer = Serve(Requests({request}));
    EXPECT_EQ(Progress::kDone, progress_);
    EXPECT_EQ((Buffer{0x79, 1, 0, 0, 0, 0}), Buffer(answer.begin(), answer.begin() + 6));
    return {answer.begin() + 6, answer.end()};
  }

  /// Sets an item of the first partition, at time 0.
  void SetDirectly(const std::string& key, const std::string& value, uint32_t expires_s = 0) {
    const auto bytes = [](const std::string& text) {
      return Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    };
    ASSERT_EQ(Result::kOk, store_.partitions[0].Set(
                               bytes(key), IndexHash(bytes(key), store_.secret), bytes(value),
                               {.expires_s = expires_s}, Condition::kAlways, 0));
  }

  kv::Store store_;
  ProtocolCounters counters_;
  Progress progress_ = Progress::kDone;
  uint32_t max_reply_bytes_ = 1472;
  int hops_ = 0;
};

TEST_P(MicaProtocol, KnowsEveryOperation) {
  EXPECT_EQ(Reply(kNoopRead, kSuccess), Ask(Request(kNoopRead)));
  EXPECT_EQ(Reply(kNoopWrite, kSuccess), Ask(Request(kNoopWrite)));
  EXPECT_EQ(Reply(kGet, kNotFound), Ask(Request(kGet, "apple")));
  EXPECT_EQ(Reply(kTest, kNotFound), Ask(Request(kTest, "apple")));
  EXPECT_EQ(Reply(kDelete, kNotFound), Ask(Request(kDelete, "apple")));
  EXPECT_EQ(Reply(kAdd, kSuccess), Ask(Request(kAdd, "apple", "green")));
  EXPECT_EQ(Reply(kAdd, kExists), Ask(Request(kAdd, "apple", "red")));
  EXPECT_EQ(Reply(kGet, kSuccess, "green"), Ask(Request(kGet, "apple")));
  EXPECT_EQ(Reply(kSet, kSuccess), Ask(Request(kSet, "apple", "red")));
  EXPECT_EQ(Reply(kGet, kSuccess, "red"), Ask(Request(kGet, "apple")));
  EXPECT_EQ(Reply(kTest, kSuccess), Ask(Request(kTest, "apple")));
  EXPECT_EQ(Reply(kDelete, kSuccess), Ask(Request(kDelete, "apple")));
  EXPECT_EQ(Reply(kGet, kNotFound), Ask(Request(kGet, "apple")));
  EXPECT_EQ(13u, counters_.requests);
  EXPECT_EQ(3u, counters_.get_hits);
  EXPECT_EQ(3u, counters_.get_misses);
  EXPECT_EQ(2u, counters_.sets);
  EXPECT_EQ(1u, counters_.deletes);
  EXPECT_EQ(0u, counters_.errors);
}

TEST_P(MicaProtocol, BringsValuesOfEveryLengthBack) {
  for (uint32_t length = 0; length <= 100; ++length) {
    std::string value(length, '\0');
    std::iota(value.begin(), value.end(), '!');
    const std::string key(1 + length, 'k');
    ASSERT_EQ(Reply(kSet, kSuccess), Ask(Request(kSet, key, value))) << length;
    ASSERT_EQ(Reply(kGet, kSuccess, value), Ask(Request(kGet, key))) << length;
  }
}

TEST_P(MicaProtocol, ReplacesAValueByALongerOneWithoutHarmToItsNeighbor) {
  for (const char* key : {"first", "second"}) Ask(Request(kSet, key, "12345678"));
  Ask(Request(kSet, "first", "1234567890123456"));
  EXPECT_EQ(Reply(kGet, kSuccess, "1234567890123456"), Ask(Request(kGet, "first")));
  EXPECT_EQ(Reply(kGet, kSuccess, "12345678"), Ask(Request(kGet, "second")));
}

TEST_P(MicaProtocol, IncrementsNumbersOfEightBytes) {
  EXPECT_EQ(Reply(kIncrement, kNotFound), Ask(Request(kIncrement, "n", Number(1))));
  Ask(Request(kSet, "n", Number(40)));
  EXPECT_EQ(Reply(kIncrement, kSuccess, Number(42)), Ask(Request(kIncrement, "n", Number(2))));
  EXPECT_EQ(Reply(kGet, kSuccess, Number(42)), Ask(Request(kGet, "n")));
  EXPECT_EQ(Reply(kIncrement, kSuccess, Number(41)),
            Ask(Request(kIncrement, "n", Number(UINT64_MAX))));
  EXPECT_EQ(Reply(kIncrement, kError), Ask(Request(kIncrement, "n", "1234567")));
  EXPECT_EQ(Reply(kIncrement, kError), Ask(Request(kIncrement, "n")));
  Ask(Request(kSet, "text", "123456789"));
  EXPECT_EQ(Reply(kIncrement, kError), Ask(Request(kIncrement, "text", Number(1))));
  EXPECT_EQ(Reply(kGet, kSuccess, "123456789"), Ask(Request(kGet, "text")));
  EXPECT_EQ(3u, counters_.errors);
}

TEST_P(MicaProtocol, NeverWipesTheStore) {
  Ask(Request(kSet, "apple", "green"));
  EXPECT_EQ(Reply(kReset, kNotSupported, "", 0), Ask(Message(0, 0, "", "", 0)));
  EXPECT_EQ(Reply(kGet, kSuccess, "green"), Ask(Request(kGet, "apple")));
  EXPECT_EQ(1u, counters_.refused_admin);
}

TEST_P(MicaProtocol, RefusesUnknownOperations) {
  for (const int operation : {9, 10, 127, 128, 255}) {
    const auto code = static_cast<uint8_t>(operation);
    EXPECT_EQ(Reply(code, kNotSupported), Ask(Request(code, "apple", "green")));
  }
  EXPECT_EQ(5u, counters_.errors);
}

TEST_P(MicaProtocol, AnswersBadKeysWithAnError) {
  for (const uint8_t operation : {kAdd, kSet, kGet, kTest, kDelete, kIncrement}) {
    EXPECT_EQ(Reply(operation, kError), Ask(Request(operation, "", Number(1))));
    EXPECT_EQ(Reply(operation, kError), Ask(Request(operation, std::string(251, 'k'))));
  }
  EXPECT_EQ(12u, counters_.errors);
  EXPECT_EQ(Reply(kSet, kSuccess), Ask(Request(kSet, std::string(250, 'k'), "v")));
}

TEST_P(MicaProtocol, SaysWhenTheStoreIsFull) {
  const std::string value(1000, 'v');
  uint32_t stored = 0;
  Buffer answer;
  while (stored < 10'000) {
    answer = Ask(Request(kSet, "key" + std::to_string(stored), value));
    if (answer != Reply(kSet, kSuccess)) break;
    ++stored;
  }
  EXPECT_EQ(Reply(kSet, kNoSpace), answer);
  EXPECT_GT(stored, 2000u);  // 4 MiB can hold more than 2000 of these items.
  EXPECT_EQ(Reply(kGet, kSuccess, value), Ask(Request(kGet, "key0")));
}

TEST_P(MicaProtocol, ServesABatchInItsOrder) {
  std::vector<Buffer> requests, replies;
  for (uint32_t i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i % 3), value = "v" + std::to_string(i);
    requests.push_back(Request(kSet, key, value, i));
    replies.push_back(Reply(kSet, kSuccess, "", i));
    requests.push_back(Request(kGet, key, "", 100 + i));
    replies.push_back(Reply(kGet, kSuccess, value, 100 + i));
  }
  max_reply_bytes_ = 1472;
  requests.resize(30);
  replies.resize(30);
  EXPECT_EQ(Replies(replies), Serve(Requests(requests)));
}

TEST_P(MicaProtocol, RefusesDatagramsThatAreNotWholeBeforeDoingAnything) {
  const Buffer good = Requests({Request(kSet, "a", "1"), Request(kSet, "b", "2")});
  const auto refused = [&](const Buffer& datagram) {
    return Serve(datagram).empty() && progress_ == Progress::kRefused;
  };
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_TRUE(refused(Buffer(good.begin(), good.begin() + static_cast<long>(length)))) << length;
  }
  Buffer bad = good;
  bad[0] = 0x79;
  EXPECT_TRUE(refused(bad));
  for (const int count : {0, 1, 3, 255}) {  // Wrong counts.
    bad = good;
    bad[1] = static_cast<uint8_t>(count);
    EXPECT_TRUE(refused(bad)) << count;
  }
  for (const size_t byte : {10, 11, 12, 13}) {  // The length fields of the first request.
    bad = good;
    bad[byte] = 0xff;
    EXPECT_TRUE(refused(bad)) << byte;
  }
  bad = good;
  bad.push_back(0);
  EXPECT_TRUE(refused(bad));
  EXPECT_TRUE(refused(Requests({})));
  EXPECT_EQ(0u, counters_.requests);
  EXPECT_EQ(0u, store_.partitions[0].counters().items);
  EXPECT_FALSE(refused(good));
}

TEST_P(MicaProtocol, LeavesOutValuesForWhichTheAnswerHasNoRoom) {
  Ask(Request(kSet, "long", std::string(600, 'v')));
  Ask(Request(kSet, "short", "v"));
  // The answer has room for the headers of four answers, one long value and one short value.
  max_reply_bytes_ = 6 + 4 * 24 + 600 + 8;
  EXPECT_EQ(Replies({Reply(kGet, kSuccess, std::string(600, 'v')), Reply(kGet, kPartial),
                     Reply(kGet, kSuccess, "v"), Reply(kGet, kPartial)}),
            Serve(Requests({Request(kGet, "long"), Request(kGet, "long"), Request(kGet, "short"),
                            Request(kGet, "short")})));
  EXPECT_EQ(2u, counters_.cut_replies);
  max_reply_bytes_ = 6 + 2 * 24 - 1;
  EXPECT_TRUE(Serve(Requests({Request(kNoopRead), Request(kNoopRead)})).empty());
  EXPECT_EQ(Progress::kRefused, progress_);
}

TEST_P(MicaProtocol, PassesOnWhatAnotherWorkerMustServe) {
  MakeStore(4, 4);
  for (const bool concurrent_read : {true, false}) {
    store_.concurrent_read = concurrent_read;
    std::vector<Buffer> sets, gets, set_replies, get_replies;
    for (uint32_t i = 0; i < 20; ++i) {
      const std::string number = std::to_string(i);
      const std::string key = (i < 10 ? "tinykey" : "k") + number;
      const std::string value = (i < 10 ? "tinyval" : "v") + number;
      sets.push_back(Request(kSet, key, value, i));
      set_replies.push_back(Reply(kSet, kSuccess, "", i));
      gets.push_back(Request(kGet, key, "", i));
      get_replies.push_back(Reply(kGet, kSuccess, value, i));
    }
    for (uint32_t worker = 0; worker < 4; ++worker) {
      EXPECT_EQ(Replies(set_replies), Serve(Requests(sets), worker));
      EXPECT_GT(hops_, 3);
      EXPECT_EQ(Replies(get_replies), Serve(Requests(gets), worker));
      EXPECT_EQ(concurrent_read, hops_ == 0);
    }
  }
  EXPECT_EQ(2u * 4 * 40, counters_.requests);
}

TEST_P(MicaProtocol, BelievesTheHashOfClientsOnlyIfTold) {
  const auto with_hash = [](uint8_t operation, uint64_t hash, const std::string& value) {
    return Message(operation, 0, "apple", value, 7, hash);
  };
  Ask(with_hash(kSet, 1, "green"));
  EXPECT_EQ(Message(kGet, kSuccess, "", "green", 7, 2), Ask(with_hash(kGet, 2, "")));
  MakeStore(1, 1);
  store_.trust_hashes = true;
  Ask(with_hash(kSet, 1, "green"));
  EXPECT_EQ(Message(kGet, kSuccess, "", "green", 7, 1), Ask(with_hash(kGet, 1, "")));
  EXPECT_EQ(Message(kGet, kNotFound, "", "", 7, 2), Ask(with_hash(kGet, 2, "")));
}

TEST_P(MicaProtocol, TellsTheSameKeyFromOneWithZerosBehind) {
  Ask(Request(kSet, "ab", "1"));
  EXPECT_EQ(Reply(kGet, kNotFound), Ask(Request(kGet, std::string("ab\0", 3))));
  // The content of the padding is ignored.
  Buffer request = Request(kGet, "ab");
  request.back() = 0xff;
  EXPECT_EQ(Reply(kGet, kSuccess, "1"), Ask(request));
}

TEST(MicaBatchTest, WritesRequestsByTheFormat) {
  Buffer room(200);
  MicaBatch batch(room);
  const Buffer key{'k', 'e', 'y'}, value{'v'};
  const uint64_t hash = 0x1122334455667788;
  ASSERT_TRUE(batch.Add(
      {.operation = MicaOperation::kSet, .opaque = 9, .hash = hash, .key = key, .value = value}));
  ASSERT_TRUE(
      batch.Add({.operation = MicaOperation::kGet, .opaque = 10, .hash = hash, .key = key}));
  EXPECT_EQ(Requests({Message(kSet, 0, "key", "v", 9), Message(kGet, 0, "key", "", 10)}),
            Buffer(batch.bytes().begin(), batch.bytes().end()));
  EXPECT_EQ(2u, batch.requests());
}

TEST(MicaBatchTest, TakesNoMoreThanFits) {
  const Buffer key(8), value(8);
  const MicaMessage request{.operation = MicaOperation::kSet, .key = key, .value = value};
  Buffer room(6 + 2 * 40 + 39);
  MicaBatch batch(room);
  EXPECT_TRUE(batch.Add(request));
  EXPECT_TRUE(batch.Add(request));
  EXPECT_FALSE(batch.Add(request));
  EXPECT_EQ(6u + 2 * 40, batch.bytes().size());
  Buffer large(20'000);
  MicaBatch many(large);
  for (int i = 0; i < 255; ++i) ASSERT_TRUE(many.Add(request));
  EXPECT_FALSE(many.Add(request));
  const Buffer long_key(256);
  EXPECT_FALSE(MicaBatch(large).Add({.key = long_key}));
}

TEST(MicaAnswersTest, ReadsAnswersAndNothingElse) {
  const Buffer datagram = Replies({Reply(kGet, kSuccess, "value"), Reply(kSet, kNoSpace, "", 8)});
  MicaAnswers answers(datagram);
  EXPECT_TRUE(answers.whole());
  const auto first = answers.Next();
  ASSERT_TRUE(first);
  EXPECT_EQ(MicaOperation::kGet, first->operation);
  EXPECT_EQ(MicaResult::kSuccess, first->result);
  EXPECT_EQ(7u, first->opaque);
  EXPECT_EQ(0x1122334455667788u, first->hash);
  EXPECT_EQ("value", std::string(first->value.begin(), first->value.end()));
  const auto second = answers.Next();
  ASSERT_TRUE(second);
  EXPECT_EQ(MicaResult::kInsufficientSpace, second->result);
  EXPECT_EQ(8u, second->opaque);
  EXPECT_FALSE(answers.Next());

  for (size_t length = 0; length < datagram.size(); ++length) {
    MicaAnswers cut(Bytes(datagram).first(length));
    EXPECT_FALSE(cut.whole()) << length;
    EXPECT_FALSE(cut.Next()) << length;
  }
  EXPECT_FALSE(MicaAnswers(Requests({Request(kGet, "key")})).whole());
}

TEST_P(MicaProtocol, GetsItemsOfTinyKeysWithEveryLengthAndTime) {
  const std::string key = "8 bytes!";
  for (const size_t length : {0, 1, 7, 8, 9, 16, 17}) {
    SetDirectly(key, std::string(length, 'v'));
    EXPECT_EQ(Reply(kGet, kSuccess, std::string(length, 'v')), Ask(Request(kGet, key))) << length;
  }
  SetDirectly(key, "12345678", 2);
  EXPECT_EQ(Reply(kGet, kSuccess, "12345678"), Ask(Request(kGet, key))) << "expires later";
  EXPECT_EQ(Reply(kGet, kSuccess, "12345678"), Ask(Request(kGet, key, "a value")));
  SetDirectly(key, "12345678", 1);
  EXPECT_EQ(Reply(kGet, kNotFound), Ask(Request(kGet, key))) << "expired";
  EXPECT_EQ(1u, store_.partitions[0].counters().expired);
  EXPECT_EQ(9u, counters_.get_hits);
  EXPECT_EQ(1u, counters_.get_misses);
}

TEST_P(MicaProtocol, ATinyGetSeesTheRequestsBeforeItInItsDatagram) {
  const std::string key = "8 bytes!";
  EXPECT_EQ(
      Replies({Reply(kGet, kNotFound), Reply(kSet, kSuccess), Reply(kGet, kSuccess, "12345678"),
               Reply(kDelete, kSuccess), Reply(kGet, kNotFound), Reply(kSet, kSuccess),
               Reply(kGet, kSuccess, "87654321")}),
      Serve(Requests({Request(kGet, key), Request(kSet, key, "12345678"), Request(kGet, key),
                      Request(kDelete, key), Request(kGet, key), Request(kSet, key, "87654321"),
                      Request(kGet, key)})));
}

TEST_P(MicaProtocol, ATinyGetRenewsItsItem) {
  MakeStore(1, 1, Mode::kCache);  // A log of 4 MiB.
  int number = 0;
  const auto fill = [&](int items) {
    for (; items > 0; --items) SetDirectly(std::to_string(number++), std::string(100'000, 'v'));
  };
  SetDirectly("8 bytes!", "12345678");
  fill(33);  // 3.3 MB: more than three quarters.
  EXPECT_EQ(Reply(kGet, kSuccess, "12345678"), Ask(Request(kGet, "8 bytes!")));
  fill(20);  // Overwrites the item's first position.
  EXPECT_EQ(Reply(kGet, kSuccess, "12345678"), Ask(Request(kGet, "8 bytes!")));
}

TEST_P(MicaProtocol, TinyItemsMayShareTheirTag) {
  store_.trust_hashes = true;  // Hashes 0 and 1 have tag 1 and the same chain.
  const std::string keys[] = {"8 bytes0", "8 bytes1"};
  for (const uint64_t hash : {0, 1}) {
    Ask(Message(kSet, 0, keys[hash], "value  " + std::to_string(hash), 7, hash));
  }
  for (const uint64_t hash : {0, 1}) {
    EXPECT_EQ(Message(kGet, kSuccess, "", "value  " + std::to_string(hash), 7, hash),
              Ask(Message(kGet, 0, keys[hash], "", 7, hash)));
  }
}

INSTANTIATE_TEST_SUITE_P(OverRequests, MicaProtocol, testing::Bool());

}  // namespace
}  // namespace sluice::engine::kv
