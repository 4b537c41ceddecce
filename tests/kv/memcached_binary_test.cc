// SPDX-License-Identifier: BSD-3-Clause
//
// Tests memcached's binary protocol in the cases for which memcached cannot be the reference.
// memcached_oracle_test.py compares the other answers.
#include <gtest/gtest.h>

#include "memcached_lab.h"

namespace sluice::engine::kv {
namespace {

std::string BigEndian(uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::string Message(char magic, char opcode, size_t key_bytes, size_t extras_bytes, uint16_t status,
                    size_t body_bytes, uint64_t unique) {
  return std::string{magic, opcode} + BigEndian(key_bytes, 2) + BigEndian(extras_bytes, 1) + '\0' +
         BigEndian(status, 2) + BigEndian(body_bytes, 4) + "tell" + BigEndian(unique, 8);
}

std::string Request(char opcode, const std::string& key = "", const std::string& extras = "",
                    const std::string& value = "") {
  return Message('\x80', opcode, key.size(), extras.size(), 0,
                 key.size() + extras.size() + value.size(), 0) +
         extras + key + value;
}

std::string Failure(char opcode, uint16_t status, const std::string& text) {
  return Message('\x81', opcode, 0, 0, status, text.size(), 0) + text;
}

const std::string kSetExtras = BigEndian(0, 8);
constexpr char kGet = 0, kSet = 1, kFlush = 8, kGetQ = 9, kNoop = 10, kStat = 16, kSetQ = 17,
               kGatQ = 30;

TEST(MemcachedBinary, ServesNoPartOfARequestThatIsCutShort) {
  const std::string request = Request(kSet, "key", kSetExtras, "value");
  for (size_t size = 0; size < request.size(); ++size) {
    MemcachedLab lab;
    EXPECT_EQ(lab.Ask(request.substr(0, size)), "") << size;
    EXPECT_EQ(lab.progress, Progress::kRefused) << size;
    const std::string noop = Request(kNoop);
    EXPECT_EQ(lab.Ask(noop + request.substr(0, size)), lab.Ask(noop)) << size;
    EXPECT_EQ(lab.counters.sets, 0u);
  }
}

TEST(MemcachedBinary, AnswersLengthsThatContradictEachOtherAndEndsThere) {
  MemcachedLab lab;
  for (const auto& [key, extras, body] :
       {std::tuple<size_t, size_t, size_t>{4, 0, 3}, {0, 4, 3}, {2, 2, 3}, {65535, 255, 3}}) {
    const std::string lie = Message('\x80', kGet, key, extras, 0, body, 0) + "abc";
    EXPECT_EQ(lab.Ask(lie + Request(kNoop)), Failure(kGet, 0x81, "Unknown command"));
  }
  EXPECT_EQ(lab.counters.errors, 4u);
}

TEST(MemcachedBinary, RefusesBodiesLongerThanTheDatagram) {
  MemcachedLab lab;
  for (const size_t body : {4ul, 65536ul, 0x7ffffffful, 0xfffffffful, 0xffffffe8ul}) {
    EXPECT_EQ(lab.Ask(Message('\x80', kGet, 3, 0, 0, body, 0) + "abc"), "");
    EXPECT_EQ(lab.progress, Progress::kRefused);
  }
}

TEST(MemcachedBinary, SurvivesEveryByteOfAHeaderBeingBent) {
  const std::string request = Request(kSet, "key", kSetExtras, "value");
  for (size_t i = 0; i < 24; ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      static MemcachedLab lab;
      std::string bent = request;
      bent[i] = static_cast<char>(byte);
      lab.Ask(bent);
      EXPECT_NE(lab.Ask(Request(kNoop)), "");
    }
  }
}

TEST(MemcachedBinary, AnswersAReplyThatGetsTooLongWithAnError) {
  MemcachedLab lab;
  lab.Ask(Request(kSet, "big", kSetExtras, std::string(2000, 'x')));
  lab.max_reply_bytes = 1024;
  EXPECT_EQ(lab.Ask(Request(kGet, "big") + Request(kNoop)),
            Failure(kGet, 3, "Too large.") + lab.Ask(Request(kNoop)));
  EXPECT_EQ(lab.counters.cut_replies, 1u);
  for (uint32_t bound = 0; bound < 3000; bound += 5) {
    lab.max_reply_bytes = bound;
    EXPECT_LE(lab.Ask(Request(kGetQ, "big") + Request(kNoop) + Request(kGetQ, "big")).size(),
              bound);
  }
}

TEST(MemcachedBinary, RefusesToFlushUnlessAllowedAndThenVisitsEveryWorker) {
  MemcachedLab lab;
  EXPECT_EQ(lab.Ask(Request(kFlush)), Failure(kFlush, 0x20, "Auth failure."));
  EXPECT_EQ(lab.counters.refused_admin, 1u);

  MemcachedLab open({.workers = 3, .allow_flush = true});
  for (uint32_t i = 0; i < 3; ++i) open.Ask(Request(kSetQ, open.KeyOf(i), kSetExtras, "v"));
  EXPECT_EQ(open.Ask(Request(kFlush)), Message('\x81', kFlush, 0, 0, 0, 0, 0));
  EXPECT_EQ(open.hops, 2);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(open.Ask(Request(kGetQ, open.KeyOf(i))), "");
}

TEST(MemcachedBinary, TravelsFromRequestToRequest) {
  MemcachedLab lab({.workers = 3, .concurrent_read = false});
  std::string sets, gets;
  for (uint32_t i = 0; i < 3; ++i) {
    sets += Request(kSetQ, lab.KeyOf(i), kSetExtras, "v" + std::to_string(i));
    gets += Request(kGatQ, lab.KeyOf(2 - i), BigEndian(0, 4));
  }
  EXPECT_EQ(lab.Ask(sets), "");
  EXPECT_EQ(lab.hops, 2);
  std::string expected;
  for (const char* const value : {"v2", "v1", "v0"}) {
    expected += Message('\x81', kGatQ, 0, 4, 0, 6, 1) + BigEndian(0, 4) + value;
  }
  EXPECT_EQ(lab.Ask(gets), expected);
  EXPECT_EQ(lab.counters.requests, 6u);
}

}  // namespace
}  // namespace sluice::engine::kv
