// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the parsing of syslog messages. The expected values are those of the examples in RFC 5424
// section 6.5 and RFC 3164 section 5.4, and of datagrams in the formats of util-linux logger 2.38
// and rsyslog 8's forwarding.
#include "engine/logmon/source/syslog.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::engine::logmon {
namespace {

using namespace std::string_literals;

/// The result of ReadSyslog for a text in an allocation of its exact size, so that sanitizers
/// detect overruns.
struct Read {
  explicit Read(std::string_view text)
      : bytes(new char[text.size()]),
        message((text.copy(bytes.get(), text.size()), ReadSyslog({bytes.get(), text.size()}))) {}
  std::unique_ptr<char[]> bytes;
  SyslogMessage message;
};

struct Expected {
  int facility, severity;
  std::string hostname, app, text;
};

void ExpectRead(std::string_view datagram, const Expected& expected) {
  const Read read(datagram);
  EXPECT_EQ(read.message.header.facility, expected.facility) << datagram;
  EXPECT_EQ(read.message.header.severity, expected.severity) << datagram;
  EXPECT_EQ(read.message.header.hostname, expected.hostname) << datagram;
  EXPECT_EQ(read.message.header.app, expected.app) << datagram;
  EXPECT_EQ(read.message.text, expected.text) << datagram;
}

TEST(Syslog, ReadsTheExamplesOfRfc5424) {
  ExpectRead(
      "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - "
      "\xef\xbb\xbf'su root' failed for lonvick on /dev/pts/8",
      {4, 2, "mymachine.example.com", "su", "'su root' failed for lonvick on /dev/pts/8"});
  ExpectRead(
      "<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - "
      "%% It's time to make the do-nuts.",
      {20, 5, "192.0.2.1", "myproc", "%% It's time to make the do-nuts."});
  const std::string data =
      "[exampleSDID@32473 iut=\"3\" eventSource=\"Application\" "
      "eventID=\"1011\"]";
  ExpectRead("<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 " + data +
                 " \xef\xbb\xbf"
                 "An application event log entry...",
             {20, 5, "mymachine.example.com", "evntslog", "An application event log entry..."});
  ExpectRead("<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 " + data +
                 "[examplePriority@32473 class=\"high\"]",
             {20, 5, "mymachine.example.com", "evntslog", ""});
}

TEST(Syslog, ReadsTheExamplesOfRfc3164) {
  ExpectRead("<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
             {4, 2, "mymachine", "su", "'su root' failed for lonvick on /dev/pts/8"});
  // "It has no PRI": the priority is 13, and all bytes are content.
  ExpectRead("Use the BFG!", {1, 5, "", "", "Use the BFG!"});
  // The date is valid, and "CST" is where the host name should be.
  ExpectRead(
      "<165>Aug 24 05:34:00 CST 1987 mymachine myproc[10]: %% It's time to make the "
      "do-nuts.  %%  Ingredients: Mix=OK, Jelly=OK #",
      {20, 5, "CST", "",
       "1987 mymachine myproc[10]: %% It's time to make the do-nuts.  %%"
       "  Ingredients: Mix=OK, Jelly=OK #"});
  // The date does not follow RFC 3164, so everything after the priority is content.
  ExpectRead(
      "<0>1990 Oct 22 10:52:01 TZ-6 scapegoat.dmz.example.org 10.1.2.3 sched[0]: That's "
      "All Folks!",
      {0, 0, "", "",
       "1990 Oct 22 10:52:01 TZ-6 scapegoat.dmz.example.org 10.1.2.3 "
       "sched[0]: That's All Folks!"});
  // The previous message as forwarded by a relay.
  ExpectRead(
      "<0>Oct 22 10:52:12 scapegoat 1990 Oct 22 10:52:01 TZ-6 scapegoat.dmz.example.org "
      "10.1.2.3 sched[0]: That's All Folks!",
      {0, 0, "scapegoat", "",
       "1990 Oct 22 10:52:01 TZ-6 scapegoat.dmz.example.org "
       "10.1.2.3 sched[0]: That's All Folks!"});
}

TEST(Syslog, ReadsWhatLoggerAndRsyslogSend) {
  ExpectRead(
      "<13>1 2024-05-02T10:11:12.123456+02:00 web1 root - - [timeQuality tzKnown=\"1\" "
      "isSynced=\"1\" syncAccuracy=\"500000\"] 10.0.0.1 GET /index: 200",
      {1, 5, "web1", "root", "10.0.0.1 GET /index: 200"});
  ExpectRead("<13>May  2 10:11:12 web1 root: 10.0.0.1 GET /index: 200",
             {1, 5, "web1", "root", "10.0.0.1 GET /index: 200"});
  ExpectRead("<86>May 12 10:11:12 web1 sshd[4711]: Failed password for root",
             {10, 6, "web1", "sshd", "Failed password for root"});
  ExpectRead("<86>2024-05-12T10:11:12.123456+00:00 web1 sshd[4711]: Failed password for root",
             {10, 6, "web1", "sshd", "Failed password for root"});
  ExpectRead("<4>May 12 10:11:12 web1 kernel: [   12.5] eth0: link up",
             {0, 4, "web1", "kernel", "[   12.5] eth0: link up"});
  // Messages to a local socket have no host name.
  ExpectRead("<13>May  2 10:11:12 root[12]: started", {1, 5, "", "root", "started"});
}

TEST(Syslog, TakesWordsInFrontOfAColonForATagOnlyWhereOneCanBe) {
  const std::string front = "<13>May 12 10:11:12 web1 ";
  ExpectRead(front + "10.0.0.1:80 refused", {1, 5, "web1", "", "10.0.0.1:80 refused"});
  ExpectRead(front + "no tag here: really", {1, 5, "web1", "", "no tag here: really"});
  ExpectRead(front + ": c", {1, 5, "web1", "", ": c"});
  ExpectRead(front + "[1]: c", {1, 5, "web1", "", "[1]: c"});
  ExpectRead(front + "tag:", {1, 5, "web1", "tag", ""});
  ExpectRead(front + "tag:  indented", {1, 5, "web1", "tag", " indented"});
  ExpectRead(front, {1, 5, "web1", "", ""});
}

// RFC 3164 section 4.1.3: a character that is not alphanumeric ends the tag, typically a bracket or
// a colon. Nevertheless, program names can contain some other characters.
TEST(Syslog, EndsATagAtItsColonOrBracketWhateverFollows) {
  const std::string front = "<13>May 12 10:11:12 web1 ";
  const struct {
    const char* text;
    const char* app;
    const char* process;
    const char* content;
  } kCases[] = {{"a:b: c", "a", "", "b: c"},
                {"sshd[12]:Failed", "sshd", "12", "Failed"},
                {"sshd[12] Failed", "sshd", "12", "Failed"},
                {"sshd[12]Failed", "sshd", "12", "Failed"},
                {"kernel:[12.5] up", "kernel", "", "[12.5] up"},
                {"postfix/smtpd[1]:x", "postfix/smtpd", "1", "x"},
                {"systemd-logind[7]: New", "systemd-logind", "7", "New"},
                {"su[]:x", "su", "", "x"},
                {"su[1:x", "", "", "su[1:x"},
                {"su [1]:x", "", "", "su [1]:x"},
                {"pam_unix(sshd:session): x", "", "", "pam_unix(sshd:session): x"},
                {"sshd(pam_unix)[12]: x", "sshd(pam_unix)", "12", "x"},
                {"22:14:15 x", "", "", "22:14:15 x"}};
  for (const auto& c : kCases) {
    ExpectRead(front + c.text, {1, 5, "web1", c.app, c.content});
    EXPECT_EQ(Read(front + c.text).message.process, c.process) << c.text;
  }
  // An address in the host name's position can contain colons.
  ExpectRead("<13>May 12 10:11:12 fe80::1 su: x", {1, 5, "fe80::1", "su", "x"});
}

/// RFC 6587 section 3.4.1: the count includes all bytes after its space.
TEST(Syslog, ReadsADatagramWithItsCount) {
  ExpectRead("41 <13>May  2 10:11:12 web1 root: ERROR 1234", {1, 5, "web1", "root", "ERROR 1234"});
  ExpectRead("15 <13>1 - - - - \n", {1, 5, "", "", "1 - - - - \n"});
  ExpectRead("6 <13>x.", {1, 5, "", "", "x."});
  for (const std::string text :
       {"5 <13>x.", "7 <13>x.", "06 <13>x.", "6  <13>x.", "6<13>x.", "1 x", "0 ", " ",
        "99999999999999999999 <13>x.", "4 <4 <", "5 <192>", "6 <013>x"}) {
    ExpectRead(text, {1, 5, "", "", text});
    EXPECT_FALSE(Read(text).message.has_priority) << text;
  }
}

/// The expected header has the format of rsyslogd 8.2302 with RSYSLOG_TraditionalFileFormat.
TEST(Syslog, HasTheHeaderOfALineOfAFile) {
  packet::FlowKey flow;
  flow.ip_version = 4;
  flow.source = {192, 0, 2, 7};
  const auto header_of = [&](std::string_view datagram) {
    std::string header = "old";
    FileHeader(ReadSyslog(datagram), flow, &header);
    return header;
  };
  EXPECT_EQ(header_of("<86>Nov 26 22:14:00 web1 sshd[4711]: Failed"),
            "Nov 26 22:14:00 web1 sshd[4711]: ");
  EXPECT_EQ(header_of("<86>Nov  6 22:14:00 sshd: Failed"), "Nov  6 22:14:00 192.0.2.7 sshd: ");
  EXPECT_EQ(header_of("<86>Nov 26 22:14:00 web1 sshd[4711]:Failed"),
            "Nov 26 22:14:00 web1 sshd[4711]: ");
  EXPECT_EQ(header_of("<86>2003-10-01T22:14:15.003Z web1 sshd[1]: Failed"),
            "Oct  1 22:14:15 web1 sshd[1]: ");
  EXPECT_EQ(header_of("<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - failed"),
            "Oct 11 22:14:15 mymachine.example.com su ");
  EXPECT_EQ(header_of("<34>1 2003-10-11T22:14:15.003Z web1 su 12 - [a b=\"c\"] failed"),
            "Oct 11 22:14:15 web1 su[12] ");
  EXPECT_EQ(header_of("<34>1 - - su 12 - - failed"), "Jan  1 00:00:00 192.0.2.7 su[12] ");
  EXPECT_EQ(header_of("<34>1 2003-99-00T99:99:99Z h\nh s\r - - - x"), "Dec  0 99:99:99 h h s  ");
  EXPECT_EQ(header_of("<86>failed"), "Jan  1 00:00:00 192.0.2.7 ");
  EXPECT_EQ(header_of(""), "Jan  1 00:00:00 192.0.2.7 ");
}

TEST(Syslog, HasPrioritiesFrom0To191AndTakesAllElseForText) {
  for (int priority = 0; priority <= 191; ++priority) {
    const Read read("<" + std::to_string(priority) + ">x");
    EXPECT_TRUE(read.message.has_priority);
    EXPECT_EQ(read.message.header.facility, priority / 8);
    EXPECT_EQ(read.message.header.severity, priority % 8);
    EXPECT_EQ(read.message.text, "x");
  }
  for (const std::string text : {"<192>x", "<999>x", "<1910>x", "<00>x", "<01>x", "<>x", "<-1>x",
                                 "< 1>x", "<1x", "<1", "<", "", "x<1>", " <1>x", "<1a>x"}) {
    const Read read(text);
    EXPECT_FALSE(read.message.has_priority) << text;
    ExpectRead(text, {1, 5, "", "", text});
  }
}

TEST(Syslog, ReadsStructuredDataWithItsEscapes) {
  const std::string front = "<13>1 - h a - - ";
  const auto text_behind = [&](const std::string& data) {
    return std::string(Read(front + data + " text").message.text);
  };
  for (const char* data :
       {"-", "[a]", "[a b=\"\"]", R"([a b="\"\]"])", R"([a b="\\"])", R"([a b="\n \x"][c d=" "])",
        R"([a b="[" c="="])", "[a b=\"\xc3\xa4\"]"}) {
    EXPECT_EQ(text_behind(data), "text") << data;
  }
  // A malformed header is treated as text, so that the filters see all of it.
  for (const char* data :
       {"", "--", "[]", "[ a]", "[a", "[a b]", "[a b=]", "[a b=c]", "[a b=\"c]", "[a b=\"c\"",
        "[a b=\"c\" ]", R"([a b="\"])", R"([a b="\"]\]"])", "[a=b]", "[a]x", "[a\x01]"}) {
    const Read read(front + data + " text");
    EXPECT_EQ(read.message.text, "1 - h a - - "s + data + " text") << data;
    EXPECT_EQ(read.message.header.hostname, "");
  }
}

TEST(Syslog, TakesNilAndUnknownVersionsAsTheRfcSays) {
  ExpectRead("<13>1 - - - - - - text", {1, 5, "", "", "text"});
  ExpectRead("<13>1 - - - - - -", {1, 5, "", "", ""});
  ExpectRead("<13>2 - - - - - - text", {1, 5, "", "", "2 - - - - - - text"});
  // "T" and "Z" must be upper case, and an offset is required (RFC 5424 section 6.2.3).
  for (const std::string date :
       {"2003-10-11t22:14:15Z", "2003-10-11T22:14:15z", "2003-10-11T22:14:15",
        "2003-10-11T22:14:15.Z", "2003-10-11 22:14:15Z", "03-10-11T22:14:15Z", "yesterday"}) {
    const Read read("<13>1 " + date + " h a - - - text");
    EXPECT_EQ(read.message.text, "1 " + date + " h a - - - text");
  }
}

TEST(Syslog, DropsNulsAtTheEndOnly) {
  ExpectRead("<13>May  2 10:11:12 web1 root: text\0\0"s, {1, 5, "web1", "root", "text"});
  ExpectRead("te\0xt\n\0"s, {1, 5, "", "", "te\0xt\n"s});
}

TEST(Syslog, ReadsEveryTruncationWithoutLosingBytesBehindThePriority) {
  for (const std::string whole :
       {"<165>1 2003-10-11T22:14:15.003Z my.example.com evntslog 12 ID47 "
        "[ex@32473 iut=\"3\\\"\" a=\"b\"][p@32473 class=\"high\"] \xef\xbb\xbfThe text",
        "<34>Oct 11 22:14:15 mymachine su[12]: 'su root' failed", "<34>Oct  1 22:14:15 su: x"}) {
    for (size_t size = 0; size <= whole.size(); ++size) {
      const std::string cut = whole.substr(0, size);
      const Read read(cut);
      const SyslogMessage& message = read.message;
      const size_t priority = cut.find('>');
      ASSERT_EQ(message.has_priority, priority != cut.npos);
      // The text must be the end of the datagram, and only a valid header may precede it.
      ASSERT_TRUE(cut.ends_with(message.text));
      if (!message.has_priority) {
        EXPECT_EQ(message.text, cut);
      } else if (cut.ends_with(" 22:14:15 ")) {
        EXPECT_EQ(message.text, "");  // A date without text.
      } else if (message.header.hostname.empty() && message.header.app.empty()) {
        EXPECT_EQ(message.text, cut.substr(priority + 1));
      }
    }
  }
}

TEST(Syslog, GivesLinesTheTextThatTheyHaveInAFile) {
  const std::vector<std::string> lines = {
      "",           " ",
      "ERROR 42",   "127.0.0.1 - - [10/Oct/2000:13:55:36] \"GET /: HTTP/1.0\" 200 1",
      "{\"a\": 1}", "error: disk full",
      "<34>nested", "trailing space ",
      "\ttab",      "-",
      "[x]"};
  for (const std::string& line : lines) {
    EXPECT_EQ(Read("<13>1 2024-05-02T10:11:12.1+02:00 h root - - - " + line).message.text, line);
    EXPECT_EQ(Read("<13>1 2024-05-02T10:11:12.1+02:00 h root - - [t a=\"1\"] " + line).message.text,
              line);
    EXPECT_EQ(Read("<13>May  2 10:11:12 h root: " + line).message.text, line);
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
