// SPDX-License-Identifier: BSD-3-Clause
//
// Tests memcached's protocols over byte streams: that neither the division of the bytes nor the
// room changes the answers, and the limits. memcached_oracle_test.py compares the answers with
// memcached's.
#include <gtest/gtest.h>

#include "stream_lab.h"

namespace sluice::engine::kv {
namespace {

std::string Value(size_t bytes) {
  std::string value(bytes, 'v');
  for (size_t i = 0; i < bytes; i += 97) value[i] = static_cast<char>('a' + i % 23);
  return value;
}

std::string Set(std::string_view key, std::string_view value) {
  return "set " + std::string(key) + " 0 0 " + std::to_string(value.size()) + "\r\n" +
         std::string(value) + "\r\n";
}

std::string Item(std::string_view key, std::string_view value) {
  return "VALUE " + std::string(key) + " 0 " + std::to_string(value.size()) + "\r\n" +
         std::string(value) + "\r\n";
}

// Returns a request of the binary protocol, whose header states a body of `body` bytes.
std::string Binary(char opcode, std::string_view key, std::string_view extras,
                   std::string_view value, uint32_t body) {
  std::string text{'\x80', opcode};
  text += {static_cast<char>(key.size() >> 8),
           static_cast<char>(key.size()),
           static_cast<char>(extras.size()),
           0,
           0,
           0};
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(body >> shift);
  return text.append(12, '\0').append(extras).append(key).append(value);
}
std::string Binary(char opcode, std::string_view key = "", std::string_view extras = "",
                   std::string_view value = "") {
  return Binary(opcode, key, extras, value,
                static_cast<uint32_t>(key.size() + extras.size() + value.size()));
}

const std::string kNoExtras(8, '\0');

const std::string kTextSession =
    "set a 5 0 3\r\nabc\r\nget a b\r\ngets a\nadd a 0 0 1\r\nx\r\nset n 0 0 2 noreply\r\n10\r\n"
    "incr n 5\r\nget a n a\r\nset bad 0 0 3\r\nabcd\r\nset a 0 0 x\r\nfoo\r\n\r\nmn\r\n"
    "ms m 2 T0 c\r\nhi\r\nmg m v f t k Oq\r\nms m 3 z\r\nxyz\r\nmg none v q\r\nma n v\r\nmd m q\r\n"
    "md m k\r\ngat 0 a n\r\ntouch a 0\r\nstats settings\r\nflush_all\r\nget "
    "a\r\nversion\r\nquit\r\n"
    "mn\r\n";

const std::string kBinarySession =
    Binary(1, "a", kNoExtras, "value") + Binary(0, "a") + Binary(9, "none") + Binary(0xd, "a") +
    Binary(0x11, "b", kNoExtras, "1") + Binary(5, "n", std::string(20, '\0')) + Binary(4, "b") +
    Binary(0x50, "", "", "unknown") + Binary(0x10) + Binary(0xb) + Binary(0xa) +
    Binary(0, "a", "bad") + Binary(0xa);

struct Session {
  std::string name;
  std::string bytes;
};

class StreamSessions : public testing::TestWithParam<Session> {
 protected:
  // Returns the answers of a new store to a session that arrives in pieces of `piece` bytes after a
  // first piece of `first` bytes.
  static std::string Answers(const std::string& session, size_t first, size_t piece,
                             uint32_t room = 256 * 1024) {
    StreamLab lab;
    StreamLabConnection connection(lab, room);
    std::string answers = connection.Send(session.substr(0, first));
    for (size_t at = first; at < session.size(); at += piece) {
      answers += connection.Send(std::string_view(session).substr(at, piece));
    }
    EXPECT_TRUE(connection.closed());
    return answers;
  }
};

TEST_P(StreamSessions, AreAnsweredEquallyInAnyDivision) {
  const std::string& session = GetParam().bytes;
  const std::string whole = Answers(session, session.size(), 1);
  EXPECT_GT(whole.size(), 100u);
  EXPECT_EQ(Answers(session, 0, 1), whole);
  for (size_t first = 1; first < session.size(); ++first) {
    ASSERT_EQ(Answers(session, first, session.size()), whole) << first;
  }
}

TEST_P(StreamSessions, AreAnsweredEquallyWithAnyRoom) {
  const std::string& session = GetParam().bytes;
  const std::string whole = Answers(session, session.size(), 1);
  for (uint32_t room = 0; room < 700; ++room) {
    ASSERT_EQ(Answers(session, session.size(), 1, room), whole) << room;
    ASSERT_EQ(Answers(session, room, 7, room), whole) << room;
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, StreamSessions,
                         testing::Values(Session{"Text", kTextSession},
                                         Session{"Binary", kBinarySession}),
                         [](const auto& info) { return info.param.name; });

TEST(StreamServer, AnswersPipelinedRequestsInOneTurn) {
  StreamLab lab;
  std::string requests, answers;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "key" + std::to_string(i % 7);
    requests += Set(key, std::to_string(i)) + "get " + key + "\r\n";
    answers += "STORED\r\n" + Item(key, std::to_string(i)) + "END\r\n";
  }
  packet::StreamTurn turn{reinterpret_cast<const uint8_t*>(requests.data()),
                          static_cast<uint32_t>(requests.size()), false, nullptr, 256 * 1024};
  const auto room = std::make_unique<uint8_t[]>(turn.room_bytes);
  turn.room = room.get();
  StreamServer::Connection connection;
  lab.server.Process(connection, turn, 0);
  EXPECT_EQ(turn.consumed, requests.size());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(room.get()), turn.written), answers);
  EXPECT_EQ(lab.counters().requests, 2000u);
}

TEST(StreamServer, ChoosesTheProtocolByTheFirstByte) {
  StreamLab lab;
  StreamLabConnection text(lab);
  EXPECT_EQ(text.Send("mn\r\n" + Binary(0xa) + "\r\nmn\r\n"), "MN\r\nERROR\r\nERROR\r\nMN\r\n");
  StreamLabConnection binary(lab);
  EXPECT_EQ(binary.Send(Binary(0xa)).size(), 24u);
  EXPECT_EQ(binary.Send("mn\r\n"), "");
  EXPECT_FALSE(binary.closed());
  EXPECT_EQ(binary.Send(std::string(20, '\n')), "");
  EXPECT_TRUE(binary.closed());
}

TEST(StreamServer, AnswersRequestsThatBeginLikeAnswers) {
  StreamLab lab;
  StreamLabConnection connection(lab);
  EXPECT_EQ(connection.Send("VALUE a\r\n1\r\n\x81\r\n"), "ERROR\r\nERROR\r\nERROR\r\n");
}

TEST(StreamServer, StoresValuesOfUpToOneMebibyte) {
  for (const size_t bytes : {131'000, 131'072, 200'000, 1'000'000, 1 << 20}) {
    StreamLab lab;
    const std::string value = Value(bytes);
    for (const size_t piece : {size_t{1460}, size_t{65536}, 2 * bytes}) {
      StreamLabConnection connection(lab, 10'000);
      const std::string session = "mn\r\n" + Set("k", value) + "get k\r\nmg k v\r\nmn\r\n";
      std::string answers;
      for (size_t at = 0; at < session.size(); at += piece) {
        answers += connection.Send(std::string_view(session).substr(at, piece));
      }
      ASSERT_EQ(answers, "MN\r\nSTORED\r\n" + Item("k", value) + "END\r\nVA " +
                             std::to_string(bytes) + "\r\n" + value + "\r\nMN\r\n")
          << bytes << ' ' << piece;
      EXPECT_EQ(connection.unread(), 0u);
    }
    StreamLabConnection binary(lab, 1);
    ASSERT_EQ(binary.Send(Binary(1, "b", kNoExtras, value)).size(), 24u);
    ASSERT_EQ(binary.Send(Binary(0, "b")).substr(28), value);
  }
}

TEST(StreamServer, ChecksTheEndOfALongValue) {
  StreamLab lab;
  StreamLabConnection connection(lab);
  std::string session = Set("k", Value(300'000));
  session[session.size() - 2] = 'x';
  EXPECT_EQ(connection.Send(session + "get k\r\n"), "CLIENT_ERROR bad data chunk\r\nEND\r\n");
}

TEST(StreamServer, SendsAMultiGetInParts) {
  StreamLab lab;
  const std::string value = Value(700'000);
  std::string expected, gets = "get";
  StreamLabConnection connection(lab, 100'000);
  for (int i = 0; i < 5; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_EQ(connection.Send(Set(key, value)), "STORED\r\n");
    ASSERT_EQ(connection.Send(Set("small" + key, "s")), "STORED\r\n");
    gets += " none small" + key + " " + key;
    expected += Item("small" + key, "s") + Item(key, value);
  }
  EXPECT_EQ(connection.Send("mn\r\n" + gets + "\r\nmn\r\n"), "MN\r\n" + expected + "END\r\nMN\r\n");
  EXPECT_EQ(lab.counters().get_hits, 10u);
  EXPECT_EQ(lab.counters().get_misses, 5u);
  EXPECT_EQ(lab.counters().cut_replies, 0u);
  // An error replaces all items.
  EXPECT_EQ(connection.Send(gets + " " + std::string(251, 'k') + "\r\n"),
            "CLIENT_ERROR bad command line format\r\n");
}

TEST(StreamServer, ServesALineOfManyKeys) {
  StreamLab lab;
  StreamLabConnection connection(lab);
  EXPECT_EQ(connection.Send(Set("a", "1")), "STORED\r\n");
  std::string line = "gets";
  while (line.size() < StreamServer::kMaxRequestBytes - 10) line += " none";
  std::string answers;
  line += " a\r\n";
  for (size_t at = 0; at < line.size(); at += 1460) {
    answers += connection.Send(std::string_view(line).substr(at, 1460));
  }
  EXPECT_TRUE(answers.starts_with("VALUE a 0 1 ") && answers.ends_with("\r\n1\r\nEND\r\n"))
      << answers;
}

// memcached's limits: see kMaxLineBytes.
TEST(StreamServer, ClosesAfterTooManyBytesOfALine) {
  StreamLab lab;
  for (const std::string begin : {"x", "gat 0 ", "mg ", "getx", "get\r"}) {
    StreamLabConnection connection(lab);
    EXPECT_EQ(connection.Send("mn\r\n" + begin + std::string(2048 - begin.size(), 'x')), "MN\r\n");
    EXPECT_FALSE(connection.closed());
    EXPECT_EQ(connection.Send("x"), "");
    EXPECT_TRUE(connection.closed()) << begin;
  }
  for (const size_t spaces : {100, 101}) {
    StreamLabConnection connection(lab);
    connection.Send(std::string(spaces, ' ') + "get " + std::string(3000, ' '));
    EXPECT_EQ(connection.closed(), spaces == 101);
  }
  StreamLabConnection endless(lab);
  const std::string keys(1000, 'k');
  EXPECT_EQ(endless.Send("get "), "");
  size_t sent = 4;
  for (; !endless.closed() && sent < 1'000'000; sent += keys.size()) endless.Send(keys);
  EXPECT_LT(sent, StreamServer::kMaxRequestBytes + 2 * keys.size());
  EXPECT_EQ(endless.state().held.size(), 0u);
}

TEST(StreamServer, SkipsAValueThatIsTooLarge) {
  const std::string value = Value((1 << 20) + 1);
  for (const Mode mode : {Mode::kCache, Mode::kStore}) {
    for (const size_t piece : {1460, 2'000'000}) {
      StreamLab lab(mode);
      StreamLabConnection connection(lab);
      const std::string session = Set("k", "old") + "mn\r\n" + Set("k", value) + "get k\r\n";
      const std::string kept = mode == Mode::kStore ? Item("k", "old") : "";
      std::string answers;
      for (size_t at = 0; at < session.size(); at += piece) {
        answers += connection.Send(std::string_view(session).substr(at, piece));
      }
      EXPECT_EQ(answers,
                "STORED\r\nMN\r\nSERVER_ERROR object too large for cache\r\n" + kept + "END\r\n");
      EXPECT_EQ(lab.counters().too_large, 1u);
    }
  }
}

TEST(StreamServer, HoldsNothingOfAHugeValue) {
  StreamLab lab;
  StreamLabConnection text(lab);
  EXPECT_EQ(text.Send(Set("k", "old") + "set k 0 0 2147483645 noreply\r\n"), "STORED\r\n");
  StreamLabConnection binary(lab);
  EXPECT_EQ(binary.Send(Binary(1, "k", kNoExtras, "", 0xffffffff)), "");
  const std::string bytes(1 << 20, 'v');
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(text.Send(bytes), "");
    EXPECT_EQ(binary.Send(bytes), "");
  }
  EXPECT_EQ(text.unread() + text.state().held.size(), 0u);
  EXPECT_EQ(binary.unread(), 0u);
  EXPECT_LT(binary.state().held.size(), 100u);  // The answer, which follows the value.
  EXPECT_FALSE(text.closed() || binary.closed());
}

TEST(StreamServer, AnswersAfterASkippedValue) {
  StreamLab lab;
  StreamLabConnection connection(lab);
  EXPECT_EQ(connection.Send("mn\r\nset k 0 0 2000000\r\n" + std::string(2'000'001, 'v')), "MN\r\n");
  EXPECT_EQ(connection.Send("vmn\r\n"), "SERVER_ERROR object too large for cache\r\nMN\r\n");
  EXPECT_EQ(connection.Send("ms k 5 z\r\n123"), "");
  EXPECT_EQ(connection.Send("4567mn\r\n"), "CLIENT_ERROR invalid flag\r\nMN\r\n");
}

// As in memcached, the value is not awaited if the request is invalid without it.
TEST(StreamServer, RefusesBinaryRequestsBeforeTheirValue) {
  for (const std::string& request :
       {Binary(0, "k", "", "", 1000), Binary(1, std::string(251, 'k'), kNoExtras, "", 1000),
        Binary(1, "k", "", "", 0x7fffffff), Binary(0x0e, "k", "1234", "", 1000),
        Binary(0x0a, "", "", "", 0xffffffff), Binary(0, "abc", "", "", 2)}) {
    StreamLab lab;
    StreamLabConnection connection(lab);
    const std::string answer = connection.Send(request);
    EXPECT_EQ(answer.substr(0, 1), "\x81");
    EXPECT_TRUE(connection.closed());
  }
}

TEST(StreamServer, SendsALongAnswerBeforeItCloses) {
  StreamLab lab;
  const std::string value = Value(400'000);
  StreamLabConnection connection(lab, 1000);
  EXPECT_EQ(connection.Send(Set("k", value)), "STORED\r\n");
  EXPECT_EQ(connection.Send("get k\r\nquit\r\n"), Item("k", value) + "END\r\n");
  EXPECT_TRUE(connection.closed());
}

TEST(StreamServer, ReturnsTheMemoryOfAConnection) {
  StreamLab lab;
  // The limit suffices for a fraction of these connections at a time.
  for (int i = 0; i < 1000; ++i) {
    StreamLabConnection connection(lab);
    connection.Send("set k 0 0 1000000\r\n" + std::string(900'000, 'v'));
    ASSERT_EQ(connection.state().held.size() != 0, true) << i;
    ASSERT_FALSE(connection.closed()) << i;
  }
}

TEST(StreamServer, ReportsItsPort) {
  StreamLab lab;
  StreamLabConnection connection(lab);
  const std::string settings = connection.Send("stats settings\r\n");
  EXPECT_NE(settings.find("STAT tcpport 11211\r\nSTAT udpport 0\r\n"), std::string::npos);
  EXPECT_EQ(connection.Send("stats\r\n").find("udp_requests"), std::string::npos);
}

}  // namespace
}  // namespace sluice::engine::kv
