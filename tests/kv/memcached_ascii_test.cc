// SPDX-License-Identifier: BSD-3-Clause
//
// Tests memcached's ASCII protocol in the cases for which memcached cannot be the reference: time,
// bounds, counters and malformed datagrams. memcached_oracle_test.py compares the other answers.
#include <gtest/gtest.h>

#include <array>

#include "engine/kv/memcached/base64.h"
#include "engine/kv/memcached/numbers.h"
#include "engine/kv/memcached/udp_frame.h"
#include "memcached_lab.h"

namespace sluice::engine::kv {
namespace {

using std::string_literals::operator""s;

TEST(MemcachedFrame, HasTheBytesOfTheDocument) {
  const std::array<uint8_t, 10> request{0x12, 0x34, 0, 0, 0, 1, 0, 0, 'm', 'n'};
  const auto frame = memcached::ReadUdpFrame(request);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->request_id, 0x1234);
  std::array<uint8_t, 8> bytes;
  bytes.fill(0xff);
  memcached::WriteUdpFrame(bytes.data(), {.request_id = 0x1234, .sequence = 2, .total = 0x103});
  EXPECT_EQ(bytes, (std::array<uint8_t, 8>{0x12, 0x34, 0, 2, 1, 3, 0, 0}));
}

TEST(MemcachedFrame, IsRefusedIfCutShortOrPartOfALongerRequest) {
  const std::array<uint8_t, 8> two{0, 1, 0, 0, 0, 2, 0, 0};
  EXPECT_FALSE(memcached::ReadUdpFrame(two));
  const std::array<uint8_t, 8> none{0, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_FALSE(memcached::ReadUdpFrame(none));
  const std::array<uint8_t, 8> one{0, 1, 0, 0, 0, 1, 0, 0};
  for (size_t size = 0; size < one.size(); ++size) {
    EXPECT_FALSE(memcached::ReadUdpFrame(Bytes(one).first(size)));
  }
}

TEST(MemcachedFrame, LeavesRoomForTheDataOfItsDatagrams) {
  EXPECT_EQ(memcached::kMaxDatagramData, 1392u);
  EXPECT_EQ(memcached::DatagramsOf(0), 0u);
  EXPECT_EQ(memcached::DatagramsOf(1392), 1u);
  EXPECT_EQ(memcached::DatagramsOf(1393), 2u);
}

// Vectors from RFC 4648, section 10.
TEST(MemcachedBase64, DecodesTheVectorsOfTheRfc) {
  const std::pair<const char*, const char*> vectors[] = {
      {"Zg==", "f"},        {"Zm8=", "fo"},        {"Zm9v", "foo"},
      {"Zm9vYg==", "foob"}, {"Zm9vYmE=", "fooba"}, {"Zm9vYmFy", "foobar"}};
  for (const auto& [text, plain] : vectors) {
    std::array<uint8_t, 6> bytes;
    const auto size = memcached::DecodeBase64(text, bytes);
    ASSERT_TRUE(size) << text;
    EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + *size), plain);
    EXPECT_FALSE(memcached::DecodeBase64(text, std::span(bytes).first(*size - 1)));
  }
  std::array<uint8_t, 6> bytes;
  for (const char* const text : {"", "Z", "Zg", "Zg=", "====", "Zg=v", "Z===", "Zm9?", "Zg==\n"}) {
    EXPECT_FALSE(memcached::DecodeBase64(text, bytes)) << text;
  }
}

TEST(MemcachedTime, IsRelativeForThirtyDaysAndUnixTimeBeyond) {
  Exchange exchange;
  exchange.now_s = 100;
  exchange.unix_s = 1'700'000'000;
  EXPECT_EQ(memcached::ExpiryOf(0, exchange), 0u);
  EXPECT_EQ(memcached::ExpiryOf(1, exchange), 101u);
  EXPECT_EQ(memcached::ExpiryOf(2'592'000, exchange), 2'592'100u);
  EXPECT_EQ(memcached::ExpiryOf(2'592'001, exchange), 100u);
  EXPECT_EQ(memcached::ExpiryOf(-1, exchange), 100u);
  EXPECT_EQ(memcached::ExpiryOf(1'700'000'060, exchange), 160u);
  EXPECT_EQ(memcached::ExpiryOf(INT64_MAX, exchange), UINT32_MAX);
  EXPECT_EQ(memcached::ExpiryOf(INT64_MIN, exchange), 100u);
}

TEST(MemcachedAscii, ForgetsItemsWhenTheirTimeHasCome) {
  MemcachedLab lab;
  EXPECT_EQ(lab.Ask("set a 0 10 1\r\nx\r\n"), "STORED\r\n");
  lab.now_s += 9;
  EXPECT_EQ(lab.Ask("mg a t v\r\n"), "VA 1 t1\r\nx\r\n");
  lab.now_s += 1;
  EXPECT_EQ(lab.Ask("get a\r\n"), "END\r\n");
}

TEST(MemcachedAscii, TouchesWithGetAndWithMetaGet) {
  MemcachedLab lab;
  lab.Ask("set a 0 10 1\r\nx\r\n");
  EXPECT_EQ(lab.Ask("gat 20 a\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(lab.Ask("mg a t T30 t\r\n"), "CLIENT_ERROR duplicate flag\r\n");
  EXPECT_EQ(lab.Ask("mg a t T30\r\n"), "HD t20\r\n");
  EXPECT_EQ(lab.Ask("mg a T40 t\r\n"), "HD t40\r\n");
  EXPECT_EQ(lab.Ask("touch a 50\r\nmg a t\r\n"), "TOUCHED\r\nHD t50\r\n");
  EXPECT_EQ(lab.counters.touches, 4u);
}

// "The number MAY be space-padded at the end" (protocol.txt, "Increment/Decrement"). memcached
// 1.6.18 pads the number unless it becomes longer.
TEST(MemcachedAscii, KeepsTheLengthOfANumberThatBecomesShorter) {
  for (const size_t length : {2u, 3u, 20u, 64u, 65u, 100u, 1000u, 100'000u}) {
    MemcachedLab lab;
    lab.max_reply_bytes = 1 << 18;
    lab.reply_room = 1 << 18;
    const std::string digits = std::to_string(length);
    lab.Ask("set n 7 0 " + digits + "\r\n10" + std::string(length - 2, ' ') + "\r\n");
    EXPECT_EQ(lab.Ask("decr n 1\r\nget n\r\n"),
              "9\r\nVALUE n 7 " + digits + "\r\n9" + std::string(length - 1, ' ') + "\r\nEND\r\n");
    EXPECT_EQ(lab.Ask("incr n 90\r\nmg n s\r\n"), "99\r\nHD s" + digits + "\r\n");
  }
  MemcachedLab lab;
  EXPECT_EQ(lab.Ask("set n 0 0 1\r\n9\r\nincr n 1\r\nmg n s v\r\n"),
            "STORED\r\n10\r\nVA 2 s2\r\n10\r\n");
  EXPECT_EQ(lab.Ask("set n 0 0 4\r\n5 x \r\nincr n 1\r\nmg n v\r\n"),
            "STORED\r\n6\r\nVA 4\r\n6   \r\n")
      << "behind a number nothing counts";
}

TEST(MemcachedAscii, CountsANumberInPlaceAsNoNewItem) {
  MemcachedLab lab;
  lab.Ask("set n 0 0 1\r\n8\r\nincr n 1\r\n");
  EXPECT_EQ(lab.counters.sets, 1u);
  lab.Ask("incr n 1\r\ndecr n 1\r\nincr none 1\r\ndecr none 1\r\n");
  EXPECT_EQ(lab.counters.sets, 2u) << "a digit more is a longer item";
  EXPECT_EQ(lab.counters.incr_hits, 2u);
  EXPECT_EQ(lab.counters.decr_hits, 1u);
  EXPECT_EQ(lab.counters.incr_misses, 1u);
  EXPECT_EQ(lab.counters.decr_misses, 1u);
}

// memcached 1.6.18 applies the flags from left to right.
TEST(MemcachedAscii, AppliesTheFlagsOfMetaArithmeticInTheirOrder) {
  const std::pair<const char*, const char*> steps[] = {{"set n 0 0 2\r\n10\r\n", "STORED\r\n"},
                                                       {"ma n t T100\r\n", "HD t-1\r\n"},
                                                       {"ma n T200 t\r\n", "HD t200\r\n"},
                                                       {"ma n t\r\n", "HD t200\r\n"},
                                                       {"ma n q T300 t\r\n", ""},
                                                       {"mg n t\r\n", "HD t300\r\n"},
                                                       {"ma n T0 t v\r\n", "VA 2 t-1\r\n15\r\n"},
                                                       {"ma new N30 t T50\r\n", "HD t30\r\n"},
                                                       {"mg new t\r\n", "HD t50\r\n"},
                                                       {"md new\r\n", "HD\r\n"},
                                                       {"ma new t N30 v\r\n", "VA 1 t-1\r\n0\r\n"},
                                                       {"mg new t\r\n", "HD t30\r\n"},
                                                       {"ma new N90 t\r\n", "HD t30\r\n"},
                                                       {"md new\r\n", "HD\r\n"},
                                                       {"ma new T50 N30 t\r\n", "HD t30\r\n"},
                                                       {"md new\r\n", "HD\r\n"},
                                                       {"ma new N30 J7 q\r\n", "HD\r\n"},
                                                       {"ma new N30 J7 q v\r\n", ""},
                                                       {"ma new T-1\r\n", "HD\r\n"},
                                                       {"mg new\r\n", "EN\r\n"}};
  MemcachedLab lab;
  for (const auto& [request, answer] : steps) EXPECT_EQ(lab.Ask(request), answer) << request;
}

TEST(MemcachedAscii, AnswersUnknownCommandsAndCountsThem) {
  MemcachedLab lab;
  EXPECT_EQ(lab.Ask("fetch a\r\nget\r\n"), "ERROR\r\nERROR\r\n");
  EXPECT_EQ(lab.counters.errors, 2u);
  EXPECT_EQ(lab.counters.requests, 2u);
}

TEST(MemcachedAscii, RefusesToFlushUnlessAllowed) {
  MemcachedLab lab;
  lab.Ask("set a 0 0 1\r\nx\r\n");
  EXPECT_EQ(lab.Ask("flush_all\r\nflush_all 0 noreply\r\nget a\r\n"),
            "CLIENT_ERROR flush_all not allowed\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(lab.counters.refused_admin, 2u);
}

TEST(MemcachedAscii, AnswersAReplyThatGetsTooLongWithAnErrorAndGoesOn) {
  MemcachedLab lab;
  lab.Ask("set big 0 0 900\r\n" + std::string(900, 'x') + "\r\nset s 0 0 1\r\ny\r\n");
  lab.max_reply_bytes = 1000;
  EXPECT_EQ(lab.Ask("get s big\r\nmg big v\r\nget s\r\n"),
            "SERVER_ERROR reply too long\r\nSERVER_ERROR reply too long\r\n"
            "VALUE s 0 1\r\ny\r\nEND\r\n");
  EXPECT_EQ(lab.counters.cut_replies, 2u);
}

TEST(MemcachedAscii, NeverExceedsTheBoundOfRepliesOrTheRoomForThem) {
  for (const bool by_bound : {true, false}) {
    MemcachedLab lab;
    lab.Ask("set a 0 0 100\r\n" + std::string(100, 'x') + "\r\n");
    std::string many;
    for (int i = 0; i < 20; ++i) many += "get a\r\nmg a v k\r\nincr a 1\r\nversion\r\n";
    for (size_t bound = 0; bound < 3000; bound += 7) {
      if (by_bound) {
        lab.max_reply_bytes = static_cast<uint32_t>(bound);
      } else {
        lab.reply_room = bound;
      }
      const std::string reply = lab.Ask(many);
      EXPECT_LE(reply.size(), bound);
      EXPECT_TRUE(reply.empty() || reply.ends_with("\r\n"));
    }
  }
}

TEST(MemcachedAscii, DoesNotServeWhatItHasNoRoomToAnswer) {
  MemcachedLab lab;
  lab.max_reply_bytes = 40;
  EXPECT_EQ(lab.Ask("set a 0 0 1\r\nx\r\n"), "SERVER_ERROR reply too long\r\n");
  lab.max_reply_bytes = 65536;
  EXPECT_EQ(lab.Ask("get a\r\n"), "END\r\n");
}

TEST(MemcachedAscii, ServesNoPartOfARequestThatIsCutShort) {
  const std::string request = "set a 0 0 5\r\nhello\r\n";
  for (size_t size = 0; size < request.size(); ++size) {
    MemcachedLab lab;
    lab.Ask("set a 0 0 1\r\nx\r\n");
    const std::string reply = lab.Ask(request.substr(0, size));
    if (size < std::string("set a 0 0 5\r\n").size()) {
      EXPECT_EQ(lab.progress, Progress::kRefused) << size;
      EXPECT_EQ(reply, "");
    } else {
      EXPECT_EQ(reply, "CLIENT_ERROR bad data chunk\r\n") << size;
    }
    EXPECT_EQ(lab.Ask("get a\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
  }
}

TEST(MemcachedAscii, SurvivesEveryTruncationOfEveryCommand) {
  const std::string requests[] = {"get a b\r\n",
                                  "gats 5 a b\r\n",
                                  "cas a 1 2 3 4 noreply\r\nabc\r\n",
                                  "incr a 5 noreply\r\n",
                                  "mg YQ== b v f t s k c Oq T5\r\n",
                                  "ms YQ== 3 b k c MA C5 F1\r\nabc\r\n",
                                  "md a k Oq C5\r\n",
                                  "ma a N5 J5 D5 v t c k\r\n",
                                  "touch a 5\r\ndelete a 0 noreply\r\n",
                                  "flush_all 0\r\nstats\r\nverbosity 1\r\nversion\r\nquit\r\n"};
  for (const std::string& request : requests) {
    for (size_t size = 0; size <= request.size(); ++size) {
      MemcachedLab lab;
      lab.Ask("set a 0 0 1\r\n5\r\n");
      lab.Ask(request.substr(0, size));
      lab.Ask(request.substr(0, size) + "\r\n");
      EXPECT_EQ(lab.Ask("mn\r\n"), "MN\r\n");
    }
  }
}

TEST(MemcachedAscii, IsNotDeceivedByLengths) {
  MemcachedLab lab;
  for (const char* const bytes :
       {"-1", "65535", "2147483645", "2147483646", "4294967295", "4294967296",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "1e3", "0x10"}) {
    for (const char* const command : {"set a 0 0 ", "append a 0 0 ", "ms a "}) {
      const std::string reply = lab.Ask(command + std::string(bytes) + "\r\nx\r\n");
      EXPECT_TRUE(reply.starts_with("CLIENT_ERROR bad ")) << command << bytes << reply;
    }
  }
  EXPECT_EQ(lab.Ask("get a\r\n"), "END\r\n");
}

TEST(MemcachedAscii, KeepsTheOldValueOfAStoreIfANewOneIsTooLarge) {
  const std::string set = "set a 0 0 1100000\r\n" + std::string(1100000, 'x') + "\r\n";
  const std::string too_large = "SERVER_ERROR object too large for cache\r\n";
  MemcachedLab lab({.mode = Mode::kStore});
  lab.Ask("set a 0 0 1\r\nx\r\n");
  EXPECT_EQ(lab.Ask(set + "get a\r\n"), too_large + "VALUE a 0 1\r\nx\r\nEND\r\n");
}

TEST(MemcachedAscii, RefusesDatagramsWithoutALine) {
  MemcachedLab lab;
  for (const std::string& datagram : {""s, "get a"s, "\0\0\0"s, std::string(1400, 'x')}) {
    EXPECT_EQ(lab.Ask(datagram), "");
    EXPECT_EQ(lab.progress, Progress::kRefused);
  }
  EXPECT_EQ(lab.Ask("get a\r\nget b"), "END\r\n");
  EXPECT_EQ(lab.progress, Progress::kDone);
}

}  // namespace
}  // namespace sluice::engine::kv
