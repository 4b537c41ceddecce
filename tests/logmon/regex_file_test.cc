// SPDX-License-Identifier: BSD-3-Clause
//
// Tests fail2ban expressions and filter files that were written for this test. The expected results
// come from Python's re and fail2ban's jail.conf(5). fail2ban_test.py uses Debian's files.
#include "engine/logmon/filter/regex_file.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/logmon/filter/fail2ban_config.h"
#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {
namespace {

bool Finds(std::string_view expression, std::string_view line) {
  std::string error;
  const auto filter = Filter::Regex(expression, &error);
  EXPECT_TRUE(filter) << expression << ": " << error;
  Scratch scratch;
  return filter && filter->Matches(line, scratch);
}

std::string FaultOf(std::string_view expression) {
  std::string error;
  return Filter::Regex(expression, &error) ? "accepted" : error;
}

TEST(Expressions, FindHostsWhereTagsStand) {
  const char* failed = "^Failed password for <F-USER>\\S+</F-USER> from <HOST>( port \\d+)?$";
  EXPECT_TRUE(Finds(failed, "Failed password for root from 192.0.2.1 port 22"));
  EXPECT_TRUE(Finds(failed, "Failed password for root from 2001:db8::1"));
  EXPECT_TRUE(Finds(failed, "Failed password for root from [2001:db8::1]"));
  EXPECT_TRUE(Finds(failed, "Failed password for root from mail.example.org"));
  EXPECT_FALSE(Finds(failed, "Failed password for root from ???"));
  EXPECT_FALSE(Finds(failed, "x Failed password for root from 192.0.2.1"));
  EXPECT_TRUE(Finds("from <ADDR>$", "from 192.0.2.1"));
  EXPECT_FALSE(Finds("from <ADDR>$", "from mail.example.org"));
  EXPECT_TRUE(Finds("net <SUBNET>$", "net 192.0.2.0/24"));
  EXPECT_TRUE(Finds("(?P<host>a)b\\Z", "ab"));
  EXPECT_TRUE(Finds("<HOST> and <HOST>", "a and b"));
}

TEST(Expressions, LookAroundRememberAndDecide) {
  struct Case {
    const char *expression, *line;
    bool matches;
  };
  for (const Case& one : {
           Case{"a(?=b)", "xab", true},
           Case{"a(?=b)", "xac", false},
           Case{"\\[(?!recidive\\])\\S+\\] Ban <HOST>$", "[sshd] Ban 192.0.2.1", true},
           Case{"\\[(?!recidive\\])\\S+\\] Ban <HOST>$", "[recidive] Ban 192.0.2.1", false},
           Case{"(?<=x)b", "xb", true},
           Case{"(?<=x)b", "ab", false},
           Case{"(?<!x)b", "b", true},
           Case{"(?<!x)b", "xb", false},
           Case{"^(\\w+) \\1$", "a a", true},
           Case{"^(\\w+) \\1$", "a b", false},
           Case{"^(?P<q>['\"])x(?P=q)$", "'x'", true},
           Case{"^(?P<q>['\"])x(?P=q)$", "'x\"", false},
           Case{"^(?P<q>\")?x(?(q)\"|!)$", "\"x\"", true},
           Case{"^(?P<q>\")?x(?(q)\"|!)$", "x!", true},
           Case{"^(?P<q>\")?x(?(q)\"|!)$", "\"x!", false},
           Case{"^(a)?x(?(1)b)$", "axb", true},
           Case{"^(a)?x(?(1)b)$", "ax", false},
           Case{"^(?>a+)ab", "aaab", false},
       }) {
    EXPECT_EQ(Finds(one.expression, one.line), one.matches) << one.expression << " " << one.line;
  }
}

TEST(Expressions, MeanWhatPythonMeans) {
  struct Case {
    const char *expression, *line;
    bool matches;
  };
  for (const Case& one : {
           Case{"^a{,2}b$", "aab", true},
           Case{"^a{,2}b$", "aaab", false},
           Case{"^a{x}$", "a{x}", true},
           Case{"^[[:a]$", ":", true},
           Case{"^[]a]+$", "a]", true},
           Case{"^a\\sb$", "a\vb", true},
           Case{"^a[\\s]b$",
                "a\x1c"
                "b",
                true},
           Case{"^a\\Sb$",
                "a\x1f"
                "b",
                false},
           Case{"^a\\vb$", "a\vb", true},
           Case{"^a\\vb$", "a\fb", false},
           Case{"a(?#note)b", "ab", true},
           Case{"(?iu)AB", "ab", true},
           Case{"a\\_b", "a_b", true},
           Case{"a\\Z", "ab", false},
           Case{"^[\\b]$", "\b", true},
           Case{"a$b", "ab", false},
           Case{"(?:a|b$)c?", "b", true},
       }) {
    EXPECT_EQ(Finds(one.expression, one.line), one.matches) << one.expression << " " << one.line;
  }
}

TEST(Expressions, TellWhoWasThere) {
  const auto host_of = [](std::string_view expression, std::string_view line) {
    std::string error;
    const auto filter = Filter::Regex(expression, &error);
    EXPECT_TRUE(filter) << error;
    Scratch scratch;
    return std::string(filter->HostOf(line, scratch));
  };
  EXPECT_EQ(host_of("from <HOST>$", "x from 192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(host_of("from <HOST>$", "x from [2001:db8::1]"), "2001:db8::1");
  EXPECT_EQ(host_of("from <HOST>$", "x from ::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(host_of("from <HOST>$", "x from a.example"), "a.example");
  EXPECT_EQ(host_of("(?=x)x by <F-ID>\\w+</F-ID>", "x by anna"), "anna");
  EXPECT_EQ(host_of("from \\S+", "x from 192.0.2.1"), "");
}

TEST(Expressions, ThatNeitherEngineTakesAreRefusedWithAReason) {
  for (const char* wrong :
       {"(?(x)a|b)", "(a", "a)", "[a", "(?<=a+)b", "<F-USER>a", "a</F-USER>", "<SKIPLINES>"}) {
    const std::string error = FaultOf(wrong);
    EXPECT_NE(error, "accepted") << wrong;
    EXPECT_FALSE(error.empty()) << wrong;
    EXPECT_EQ(error.find('\n'), std::string::npos) << wrong;
  }
}

TEST(Expressions, ThatBacktrackForeverAreGivenUpAndCounted) {
  std::string error;
  const auto filter = Filter::Regex("^(?!b)(?:a|aa)+$", &error);
  ASSERT_TRUE(filter) << error;
  Scratch scratch;
  EXPECT_TRUE(filter->Matches(std::string(20, 'a'), scratch));
  EXPECT_EQ(scratch.given_up(), 0u);
  const std::string endless = absl::StrCat(std::string(200, 'a'), "c");
  EXPECT_FALSE(filter->Matches(endless, scratch));
  EXPECT_EQ(scratch.given_up(), 1u);
}

class RegexFiles : public ::testing::Test {
 protected:
  RegexFiles() {
    std::string name = std::filesystem::temp_directory_path() / "regex_files_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~RegexFiles() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  Filter Read(const std::filesystem::path& file) {
    std::string error;
    skipped_rules_.clear();
    auto filter = Filter::Fail2ban(file, &skipped_rules_, &error);
    EXPECT_TRUE(filter) << error;
    return *std::move(filter);
  }
  std::string FaultOf(const std::filesystem::path& file) {
    std::string error;
    return Filter::Fail2ban(file, &skipped_rules_, &error) ? "accepted"
                                                           : error.substr(error.find(": ") + 2);
  }
  /// Returns the failing host of each line, or "-".
  static std::string Failures(const Filter& filter, const std::vector<std::string>& lines,
                              Scratch& scratch) {
    std::string hosts;
    for (const std::string& line : lines) {
      hosts += filter.Matches(line, scratch) ? std::string(filter.HostOf(line, scratch)) : "-";
      hosts += ' ';
    }
    return hosts;
  }
  static std::string Failures(const Filter& filter, const std::vector<std::string>& lines) {
    Scratch scratch;
    return Failures(filter, lines, scratch);
  }
  std::filesystem::path folder_;
  std::vector<std::string> skipped_rules_;
};

TEST_F(RegexFiles, HaveOneExpressionALine) {
  std::string error;
  const auto plain =
      ReadRegexFile(Write("plain", "# a comment\n\n  ^a b$  \r\nc = d\n[x]\n"), &error);
  ASSERT_TRUE(plain) << error;
  EXPECT_FALSE(plain->is_fail2ban);
  EXPECT_EQ(plain->expressions, (std::vector<std::string>{"^a b$", "c = d", "[x]"}));
  EXPECT_TRUE(ReadRegexFile(Write("x.conf", "# x\n[Definition]\n"), &error)->is_fail2ban);
}

/// Options are parsed as in fail2ban's extractOptions, described in jail.conf(5).
TEST_F(RegexFiles, OfFail2banHaveOptionsBehindTheirName) {
  const std::string file = Write("x.conf",
                                 "[Definition]\nfailregex = ^<mode> <HOST>$\n"
                                 "[Init]\nmode = normal\n");
  const std::vector<std::string> lines{"normal a", "hard b", "x, y c"};
  EXPECT_EQ(Failures(Read(file), lines), "a - - ");
  EXPECT_EQ(Failures(Read(file + "[mode=hard]"), lines), "- b - ");
  EXPECT_EQ(Failures(Read(file + "[ mode=hard , none=/a]"), lines), "- b - ");
  EXPECT_EQ(Failures(Read(file + "[Mode=\"x, y\", none='']"), lines), "- - c ");
  EXPECT_EQ(Failures(Read(file + "[none='\"',mode='hard']"), lines), "- b - ");
  EXPECT_EQ(Failures(Read(file + "[]"), lines), "a - - ");
  for (const std::string wrong :
       {"[mode]", "[=hard]", "[mode=\"hard]", "[mode=hard x='y']", "[a=b]]"}) {
    EXPECT_TRUE(FaultOf(file + wrong).ends_with("give options as in [mode=aggressive]")) << wrong;
  }
  std::string error;
  EXPECT_TRUE(ReadRegexFile(file + "[mode=hard]", &error)->is_fail2ban) << error;
  EXPECT_FALSE(ReadRegexFile(Write("plain", "a\n").string() + "[mode=hard]", &error));
}

TEST_F(RegexFiles, OfFail2banHaveContinuedLinesAndNames) {
  Write("common.conf",
        "[DEFAULT]\n_daemon = \\S*\nlogtype = file\n"
        "__prefix = <lt_<logtype>/__prefix>\n"
        "[lt_file]\n__prefix = \\s*\\S+ %(_daemon)s(?:\\[\\d+\\])?:\\s\n"
        "[lt_short]\n__prefix = short\n");
  const std::string text =
      "# comment\n[INCLUDES]\nbefore = common.conf\nafter = y.conf\n\n"
      "[Definition]\n_daemon = x(?:d|e) ; note\n"
      "failregex = %(known/__prefix)sbad <HOST>$\n"
      "            # comment\n\n"
      "   worse 100%% of <F-USER>\\w+</F-USER> <mode-<mode>>\n"
      "ignoreregex =\nmode-hard = hard\nmode-soft = soft\n"
      "[Init]\nmode = hard\n";
  const auto rules = [&] {
    std::string error;
    const auto config = Fail2banConfig::Parse({folder_ / "x.conf", {}}, text, &error);
    const auto value = config ? config->Get("failregex", &error) : std::nullopt;
    EXPECT_TRUE(value) << error;
    return value.value_or("");
  };
  EXPECT_EQ(rules(),
            "\\s*\\S+ \\S*(?:\\[\\d+\\])?:\\sbad <HOST>$\n"
            "worse 100% of <F-USER>\\w+</F-USER> hard");
  Write("y.conf", "[Init]\nmode = soft\n");
  EXPECT_TRUE(rules().ends_with("soft"));
  Write("y.local", "[Init]\nmode = hard\n");
  EXPECT_TRUE(rules().ends_with("hard"));
  Write("x.local", "[Init]\nmode = soft\n");
  EXPECT_TRUE(rules().ends_with("soft"));
}

TEST_F(RegexFiles, OfFail2banAreSearchedWithoutTimeStampsInWhatThePrefixLeaves) {
  const Filter filter =
      Read(Write("y.conf",
                 "[Definition]\n"
                 "prefregex = ^\\s*\\S+ sshd(?:\\[\\d+\\])?: <F-CONTENT>.+</F-CONTENT>$\n"
                 "failregex = ^Invalid user \\S* from <HOST>(?: port \\d+)?$\n"
                 "            ^<HOST> \\[\\] not allowed\n"
                 "ignoreregex = from 192\\.0\\.2\\.9\n"));
  EXPECT_EQ(
      Failures(
          filter,
          {"Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster from 173.234.31.186",
           "2005-12-04T04:47:44.123+01:00 a sshd: Invalid user  from b",
           "a sshd: Invalid user x from 192.0.2.1 port 5",
           "a sshd: x Invalid user x from 192.0.2.1", "a sshd: Invalid user x from 192.0.2.1 extra",
           "a sshd: 192.0.2.1 [10/Oct/2023:13:55:36 -0700] not allowed",
           "a sshd: Invalid user x from 192.0.2.9"}),
      "173.234.31.186 b 192.0.2.1 - - 192.0.2.1 - ");
}

TEST_F(RegexFiles, OfFail2banHaveDatePatterns) {
  const Filter filter = Read(Write("d.conf",
                                   "[Definition]\nfailregex = ^ bad <HOST>$\n"
                                   "datepattern = ^t=%%Y-%%m-%%d\n   ^<{DATE}>\n   EPOCH\n"));
  EXPECT_EQ(Failures(filter, {"t=2023-10-11 bad a", "t=2023-13-11 bad a", "1718000000 bad b",
                              "<2023-10-11 01:02:03> bad c", "2023-10-11 01:02:03 bad d"}),
            "a - b c - ");
}

const char kSessions[] =
    "[Definition]\nprefregex = ^<F-MLFID>s\\[\\d+\\]</F-MLFID>: <F-CONTENT>.+</F-CONTENT>$\n"
    "failregex = ^failed <F-USER>\\w+</F-USER> from <HOST>$\n"
    "            ^<F-NOFAIL>perhaps</F-NOFAIL> <F-USER>\\w+</F-USER> from <HOST>$\n"
    "            ^too many\n"
    "            ^<F-MLFFORGET>closed</F-MLFFORGET>$\n"
    "            ^<F-MLFFORGET><F-MLFGAINED>accepted</F-MLFGAINED></F-MLFFORGET> "
    "<F-USER>\\w+</F-USER> from <HOST>$\n";

TEST_F(RegexFiles, OfFail2banPutLinesOfASessionTogether) {
  const Filter filter = Read(Write("s.conf", kSessions));
  // The expected results of fail2ban 1.0.2's findFailure and _mergeFailure, evaluated by hand.
  EXPECT_EQ(Failures(filter, {"s[1]: failed a from 192.0.2.1"}), "192.0.2.1 ");
  EXPECT_EQ(Failures(filter, {"s[1]: perhaps a from 192.0.2.1"}), "- ");
  EXPECT_EQ(Failures(filter, {"s[1]: accepted a from 192.0.2.1"}), "- ");
  EXPECT_EQ(Failures(filter, {"s[1]: perhaps a from 192.0.2.1", "s[1]: too many"}), "- 192.0.2.1 ");
  EXPECT_EQ(Failures(filter, {"s[1]: too many", "s[1]: perhaps a from 192.0.2.1"}), "- 192.0.2.1 ");
  EXPECT_EQ(Failures(filter, {"s[1]: too many", "s[1]: accepted a from 192.0.2.1"}), "- - ");
  EXPECT_EQ(Failures(filter, {"s[1]: perhaps a from 192.0.2.1", "s[1]: accepted b from 192.0.2.1"}),
            "- 192.0.2.1 ");
  EXPECT_EQ(Failures(filter, {"s[1]: perhaps a from 192.0.2.1", "s[1]: closed", "s[1]: too many"}),
            "- 192.0.2.1 - ");
  EXPECT_EQ(Failures(filter, {"s[1]: perhaps a from 192.0.2.1", "s[2]: too many"}), "- - ");
}

// All sessions reuse the same memory.
TEST_F(RegexFiles, OfFail2banKeepNothingOfSessionsThatAreOver) {
  const Filter filter = Read(Write("s.conf", kSessions));
  EXPECT_EQ(
      Failures(filter, {"s[1]: accepted a from 192.0.2.1", "s[2]: accepted b from 192.0.2.2"}),
      "- - ")
      << "either of one line";
  Scratch scratch;
  for (size_t i = 0; i < 3000; ++i) {  // There are more sessions than are remembered.
    const std::string line = absl::StrCat("s[", i, "]: perhaps user", i, " from 192.0.2.1");
    ASSERT_EQ(Failures(filter, {line}, scratch), "- ") << line;
  }
}

TEST_F(RegexFiles, OfFail2banPutNoLinesTogetherOfDifferentSpeakersOrTimes) {
  const Filter filter = Read(Write("s.conf", kSessions));
  Scratch scratch;
  const auto at = [&](uint64_t id, uint64_t now, const char* line) {
    scratch.speaker = {.id = id, .now = now, .max_silence = 10};
    return Failures(filter, {line}, scratch);
  };
  EXPECT_EQ(at(1, 0, "s[1]: perhaps a from 192.0.2.1"), "- ");
  EXPECT_EQ(at(2, 0, "s[1]: too many"), "- ");
  EXPECT_EQ(at(1, 10, "s[1]: too many"), "192.0.2.1 ");
  EXPECT_EQ(at(1, 21, "s[1]: too many"), "- ");
}

TEST_F(RegexFiles, OfFail2banSpanLines) {
  const Filter filter = Read(
      Write("m.conf",
            "[Definition]\nfailregex = ^c(?P<n>\\d+) bad<SKIPLINES>c(?P=n) was <HOST>$\n[Init]\n"
            "maxlines = 3\n"));
  EXPECT_EQ(Failures(filter, {"c1 bad", "c2 bad", "c1 was a", "c2 was b", "c1 was a"}),
            "- - a b - ");
  EXPECT_EQ(Failures(filter, {"c1 bad", "x", "x", "c1 was a"}), "- - - - ");
  EXPECT_EQ(Failures(filter, {"c1 bad", "", "c1 was a"}), "- - a ");
  EXPECT_EQ(Failures(filter, {"c1 bad", "", "", "c1 was a"}), "- - - - ");
}

// The expected values are those of fail2ban's Filter: the empty line remains and also begins the
// next failure.
TEST_F(RegexFiles, OfFail2banKeepAnEmptyLineWhoseEndARuleBeginsWith) {
  const Filter filter =
      Read(Write("n.conf", "[Definition]\nfailregex = ^.*\\nbad <HOST>$\n[Init]\nmaxlines = 2\n"));
  EXPECT_EQ(Failures(filter, {"", "bad a", "bad b", "x", "bad c", "bad d"}), "- a b - c - ");
}

TEST_F(RegexFiles, OfFail2banNameRulesThatDoNotRun) {
  const Filter filter =
      Read(Write("r.conf", "[Definition]\nfailregex = from <HOST>\n  (a <HOST>\n  nobody\n"));
  EXPECT_EQ(filter.rules(), 1u);
  ASSERT_EQ(skipped_rules_.size(), 2u);
  EXPECT_TRUE(skipped_rules_[0].starts_with("rule 2: missing closing parenthesis"))
      << skipped_rules_[0];
  EXPECT_EQ(skipped_rules_[1], "rule 3: the expression has no <HOST>");
}

TEST_F(RegexFiles, ThatRefuseSayWhy) {
  const std::string definition = "[Definition]\nfailregex = ";
  EXPECT_EQ(FaultOf(folder_ / "none"), "not a regular file");
  EXPECT_EQ(FaultOf(folder_), "not a regular file");
  EXPECT_EQ(FaultOf(Write("a", definition + "%(none)s\n")), "unknown option none");
  EXPECT_EQ(FaultOf(Write("b", definition + "%(b)s\nb = %(c)s\nc = %(b)s\n")),
            "options form a cycle");
  EXPECT_EQ(FaultOf(Write("c", definition + "<b>\nb = x<c>\nc = <b>\n")), "tags form a cycle");
  EXPECT_TRUE(FaultOf(Write("d", definition + "x\n[INCLUDES]\nbefore = d\n"))
                  .ends_with("includes too many files"));
  EXPECT_TRUE(FaultOf(Write("e", definition + "x\n[INCLUDES]\nbefore = none\n"))
                  .ends_with("not a regular file"));
  EXPECT_EQ(FaultOf(Write("f", std::string((1 << 20) + 1, 'a'))), "longer than 1 MiB");
  EXPECT_EQ(FaultOf(Write("h", "[Definition]\n")), "the filter has no failregex");
  EXPECT_EQ(FaultOf(Write("i", definition + "x\n")),
            "no rule is usable: rule 1: the expression has no <HOST>");
  EXPECT_EQ(FaultOf(Write("j", definition + "<HOST>\nmaxlines = 0\n")), "maxlines: give 1 to 100");
  EXPECT_TRUE(
      FaultOf(Write("k", definition + "<HOST>\nignoreregex = (\n")).starts_with("ignoreregex: "));
  EXPECT_TRUE(
      FaultOf(Write("l", definition + "<HOST>\nprefregex = (\n")).starts_with("prefregex: "));
  EXPECT_TRUE(
      FaultOf(Write("m", definition + "<HOST>\ndatepattern = (\n")).starts_with("datepattern: "));
  std::string doubling = definition + "%(x12)s\nx0 = aaaaaaaa\n";
  for (int i = 1; i <= 12; ++i) {
    doubling += "x" + std::to_string(i) + " = ";
    for (int j = 0; j < 8; ++j) doubling += "%(x" + std::to_string(i - 1) + ")s";
    doubling += "\n";
  }
  EXPECT_EQ(FaultOf(Write("g", doubling)), "an option is too long");
}

TEST_F(RegexFiles, BearAnyText) {
  const std::string_view text =
      "[INCLUDES]\nbefore = \n[Definition]\nprefregex = ^a <F-CONTENT>.+"
      "</F-CONTENT>$\nfailregex = ^b<x>%(y)s|[^]c]\\$<HOST>\n  d$\nx = <y>\n"
      "y = 1%%\ndatepattern = ^%%d {DATE}\n";
  Scratch scratch;
  for (size_t i = 0; i < text.size(); i += 5) {
    for (const char c : {'<', '%', '\n', '('}) {
      std::string bent(text);
      bent[i] = c;
      std::string error;
      const auto filter = Filter::Fail2ban(Write("bent", bent), &skipped_rules_, &error);
      EXPECT_EQ(filter.has_value(), error.empty());
      if (filter) filter->Matches("a b1 $192.0.2.1", scratch);
    }
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
