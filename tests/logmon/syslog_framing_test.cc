// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the framing of syslog streams. The expected values are those of RFC 6587 section 3.4, and
// the output of rsyslogd 8.2302 for the same streams. fail2ban_test.py also compares with rsyslogd.
#include "engine/logmon/source/syslog_framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "logmon/framed_messages.h"

namespace sluice::engine::logmon {
namespace {

using Messages = std::vector<std::string>;
using test::FramedMessages;

/// Expects the same messages for every split of the stream into two parts, and when the stream
/// arrives byte by byte.
void ExpectMessages(const std::string& stream, const Messages& expected) {
  FramedMessages slow;
  for (const char byte : stream) slow.Feed({&byte, 1});
  EXPECT_EQ(slow.messages, expected) << stream;
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    FramedMessages framed;
    framed.Feed(std::string_view(stream).substr(0, cut));
    framed.Feed(std::string_view(stream).substr(cut));
    EXPECT_EQ(framed.messages, expected) << stream << " cut at " << cut;
  }
}

TEST(SyslogFraming, TakesBothFramingsOnOneStream) {
  ExpectMessages("6 <13>ab<13>line\n7 <13>\nab\n<13>x\n<13>cut",
                 {"<13>ab", "<13>line", "<13>\nab", "<13>x"});
  ExpectMessages("\n\n<13>\n", {"<13>"});
  ExpectMessages("", {});
}

TEST(SyslogFraming, ReadsHostileNumbersAsRsyslogdDoes) {
  ExpectMessages("007 <13>abc<13>x\n", {"<13>abc", "<13>x"});
  ExpectMessages("0 <13>abc\n<13>x\n", {"<13>abc", "<13>x"});
  ExpectMessages("5x<13>a<13>x\n", {"<13>a", "<13>x"});
  ExpectMessages("200001 <13>a\n<13>x\n", {"200001<13>a", "<13>x"});
  const std::string huge(100, '9');
  ExpectMessages(huge + " <13>a\n<13>x\n", {huge + "<13>a", "<13>x"});
  ExpectMessages(std::string("200000 ") + std::string(200, 'a') + "\n", {});
}

TEST(SyslogFraming, EveryTruncationHasTheMessagesThatWereWhole) {
  const std::string stream = "6 <13>ab<13>line\n007 <13>\nab";
  for (size_t size = 0; size <= stream.size(); ++size) {
    FramedMessages framed;
    framed.Feed(stream.substr(0, size));
    EXPECT_EQ(framed.messages.size(), size_t{size >= 8} + (size >= 17) + (size >= 28)) << size;
  }
}

TEST(SyslogFraming, FindsTheNextMessageBehindAGap) {
  const auto after_gap = [](const Messages& pieces) {
    FramedMessages framed;
    framed.framing.state = SyslogFraming::State::kLost;
    for (const std::string& piece : pieces) framed.Feed(piece);
    return framed.messages;
  };
  EXPECT_EQ(after_gap({"rest\n<13>x\n"}), Messages{"<13>x"});
  EXPECT_EQ(after_gap({"rest", "5 <13>x"}), Messages{"<13>x"});
  EXPECT_EQ(after_gap({"<13>x\n"}), Messages{"<13>x"});
  for (const char* piece : {"rest<13>x", "5<13>x", "05 <13>x", "5 x", "5  <13>x", "<>x", "<192>x",
                            "<13", "5 <13", "5 ", "5"}) {
    EXPECT_EQ(after_gap({piece, "x\n"}), Messages{}) << piece;
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
