// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the syslog server, from reads on its connections to matches.
#include "engine/logmon/syslog_server.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/logmon/source/source_name.h"
#include "packet/byte_stream.h"

namespace sluice::engine::logmon {
namespace {

using Texts = std::vector<std::string>;

/// Records the text "source text" for each message.
struct TextSink {
  Texts* texts;

  void OnMatch(const Source& source, const SyslogHeader* header, const MatchedLine& line,
               uint64_t) {
    ASSERT_NE(header, nullptr);
    texts->push_back(std::string(AddressText(source.flow).data()) + " " + std::string(line.text));
  }
};

class SyslogServerTest : public testing::Test {
 protected:
  using Server = SyslogServer<TextSink>;

  SyslogServerTest() {
    std::vector<Filter> filters;
    std::string error;
    filters.push_back(Filter::CloudWatch("", &error).value());
    rules_ = RuleSet::Compile(std::move(filters), &error);
    server_ = std::make_unique<Server>(
        *rules_, ScanLimits{.line_bytes = 256, .unfinished_bytes = 1 << 16}, 0, TextSink{&texts_});
  }
  void Open(Server::Connection& connection, uint8_t host) {
    packet::StreamPeer peer;
    peer.address = packet::ToIpv4Mapped({10, 0, 0, host});
    ASSERT_TRUE(server_->Accept(connection, peer, 0));
  }
  /// Passes the bytes in memory that is overwritten afterwards.
  void Receive(Server::Connection& connection, std::string bytes) {
    packet::StreamTurn turn{reinterpret_cast<const uint8_t*>(bytes.data()),
                            static_cast<uint32_t>(bytes.size()), false, nullptr, 0};
    server_->Process(connection, turn, 0);
    EXPECT_EQ(turn.consumed, bytes.size());
    EXPECT_EQ(turn.written, 0u);
    bytes.assign(bytes.size(), '!');
  }

  Texts texts_;
  std::unique_ptr<const RuleSet> rules_;
  std::unique_ptr<Server> server_;
};

// A connection's bytes use both framings of RFC 6587 and are split at every position. A line end
// inside a message counts as a space, and one at the end of a message is removed.
TEST_F(SyslogServerTest, ReadsBothFramingsAtEverySplit) {
  const std::string_view stream = "<13>one\n11 <13>two\nend<13>three\n9 <13>four\n0007 <13>six";
  const Texts expected{"10.0.0.1 one", "10.0.0.1 two end", "10.0.0.1 three", "10.0.0.1 four",
                       "10.0.0.1 six"};
  for (size_t split = 0; split <= stream.size(); ++split) {
    texts_.clear();
    Server::Connection connection;
    Open(connection, 1);
    Receive(connection, std::string(stream.substr(0, split)));
    Receive(connection, std::string(stream.substr(split)));
    EXPECT_EQ(texts_, expected) << split;
    server_->Closed(connection, true, 0);
    EXPECT_EQ(texts_, expected) << split;
  }
}

TEST_F(SyslogServerTest, KeepsConnectionsApart) {
  Server::Connection one, other;
  Open(one, 1);
  Open(other, 2);
  EXPECT_EQ(server_->sources(), 2u);
  Receive(one, "<13>a");
  Receive(other, "<13>x");
  Receive(one, "b\n");
  Receive(other, "y\n");
  EXPECT_EQ(texts_, (Texts{"10.0.0.1 ab", "10.0.0.2 xy"}));
}

// The last message of a complete connection does not need an LF. The last message of a broken
// connection is torn, and so is a counted message with missing bytes.
TEST_F(SyslogServerTest, EndsTheLastMessage) {
  Server::Connection complete, broken, counted;
  Open(complete, 1);
  Open(broken, 2);
  Open(counted, 3);
  for (Server::Connection* connection : {&complete, &broken}) Receive(*connection, "<13>last");
  Receive(counted, "99 <13>part");
  server_->Closed(complete, true, 0);
  server_->Closed(broken, false, 0);
  server_->Closed(counted, true, 0);
  EXPECT_EQ(texts_, (Texts{"10.0.0.1 last"}));
  EXPECT_EQ(server_->sources(), 0u);
  EXPECT_EQ(server_->scanner().unfinished_bytes(), 0u);
}

}  // namespace
}  // namespace sluice::engine::logmon
