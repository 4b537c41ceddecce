// SPDX-License-Identifier: BSD-3-Clause
//
// Expressions of fail2ban's, and files of them. The files are written here in the format's words;
// Debian's own are read where fail2ban is installed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/filter/regex_file.h"

namespace sluice::engine::logmon {
namespace {

bool Matches(std::string_view expression, std::string_view line) {
  std::string error;
  const auto filter = Filter::Regex(expression, &error);
  EXPECT_TRUE(filter) << expression << ": " << error;
  Scratch scratch;
  return filter && filter->Matches(line, scratch);
}

std::string ErrorOf(std::string_view expression) {
  std::string error;
  return Filter::Regex(expression, &error) ? "accepted" : error;
}

TEST(Expressions, FindHostsWhereTagsStand) {
  const char* failed = "^Failed password for <F-USER>\\S+</F-USER> from <HOST>( port \\d+)?$";
  EXPECT_TRUE(Matches(failed, "Failed password for root from 192.0.2.1 port 22"));
  EXPECT_TRUE(Matches(failed, "Failed password for root from 2001:db8::1"));
  EXPECT_TRUE(Matches(failed, "Failed password for root from [2001:db8::1]"));
  EXPECT_TRUE(Matches(failed, "Failed password for root from mail.example.org"));
  EXPECT_FALSE(Matches(failed, "Failed password for root from ???"));
  EXPECT_FALSE(Matches(failed, "x Failed password for root from 192.0.2.1"));
  EXPECT_TRUE(Matches("from <ADDR>$", "from 192.0.2.1"));
  EXPECT_FALSE(Matches("from <ADDR>$", "from mail.example.org"));
  EXPECT_TRUE(Matches("net <SUBNET>$", "net 192.0.2.0/24"));
  EXPECT_TRUE(Matches("(?P<host>a)b\\Z", "ab"));
  EXPECT_TRUE(Matches("<HOST> and <HOST>", "a and b"));
}

TEST(Expressions, OutsideRe2AreRefusedWithAReason) {
  for (const char* foreign : {"a(?=b)", "a(?!b)", "(?<=a)b", "(a)\\1", "(?(x)a|b)", "(a", "a{1001}",
                              "<F-USER>a", "a</F-USER>", "<SKIPLINES>"}) {
    const std::string error = ErrorOf(foreign);
    EXPECT_NE(error, "accepted") << foreign;
    EXPECT_FALSE(error.empty()) << foreign;
    EXPECT_EQ(error.find('\n'), std::string::npos) << foreign;
  }
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
  std::vector<std::string> Read(const std::filesystem::path& file) {
    std::string error;
    const auto expressions = ReadRegexFile(file, &error);
    EXPECT_TRUE(expressions) << error;
    return expressions.value_or(std::vector<std::string>());
  }
  std::string ErrorOf(const std::filesystem::path& file) {
    std::string error;
    return ReadRegexFile(file, &error) ? "accepted" : error.substr(error.rfind(": ") + 2);
  }
  std::filesystem::path folder_;
};

TEST_F(RegexFiles, HaveOneExpressionALine) {
  EXPECT_EQ(Read(Write("plain", "# a comment\n\n  ^a b$  \r\nc = d\n[x]\n")),
            (std::vector<std::string>{"^a b$", "c = d", "[x]"}));
}

TEST_F(RegexFiles, OfFail2banHaveContinuedLinesAndNames) {
  Write("common.conf", "[DEFAULT]\n_daemon = \\S*\nlogtype = file\n"
                       "__prefix = <lt_<logtype>/__prefix>\n"
                       "[lt_file]\n__prefix = \\s*\\S+ %(_daemon)s(?:\\[\\d+\\])?:\\s\n"
                       "[lt_short]\n__prefix = short\n");
  const auto file = Write("x.conf",
                          "# comment\n[INCLUDES]\nbefore = common.conf\nafter = x.local\n\n"
                          "[Definition]\n_daemon = x(?:d|e) ; note\n"
                          "failregex = %(__prefix)sbad <HOST>$\n"
                          "            # comment\n\n"
                          "   worse 100%% of <F-USER>\\w+</F-USER> <mode-<mode>>\n"
                          "ignoreregex =\nmode-hard = hard\nmode-soft = soft\n"
                          "[Init]\nmode = hard\n");
  EXPECT_EQ(Read(file), (std::vector<std::string>{
                            "\\s*\\S+ x(?:d|e)(?:\\[\\d+\\])?:\\sbad <HOST>$",
                            "worse 100% of <F-USER>\\w+</F-USER> hard"}));
  Write("x.local", "[Init]\nmode = soft\n");
  EXPECT_EQ(Read(file)[1], "worse 100% of <F-USER>\\w+</F-USER> soft");
}

TEST_F(RegexFiles, OfFail2banAllowForTheTimeStampAndThePrefix) {
  const auto expressions = Read(Write("y.conf",
      "[Definition]\n"
      "prefregex = ^\\s*\\S+ sshd(?:\\[\\d+\\])?: <F-CONTENT>.+</F-CONTENT>$\n"
      "failregex = ^Invalid user \\S* from <HOST>(?: port \\d+)?$\n"
      "            not allowed|^Bad\n"));
  ASSERT_EQ(expressions.size(), 2u);
  EXPECT_TRUE(Matches(expressions[0],
                      "Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster from 173.234.31.186"));
  EXPECT_TRUE(Matches(expressions[0], "2005-12-04T04:47:44.123+01:00 a sshd: Invalid user  from b"));
  EXPECT_TRUE(Matches(expressions[0], "a sshd: Invalid user x from 192.0.2.1 port 5"));
  EXPECT_FALSE(Matches(expressions[0], "a sshd: x Invalid user x from 192.0.2.1"));
  EXPECT_FALSE(Matches(expressions[0], "a sshd: Invalid user x from 192.0.2.1 extra"));
  EXPECT_TRUE(Matches(expressions[1], "a sshd: x not allowed y"));
  EXPECT_TRUE(Matches(expressions[1], "a sshd: Bad thing"));
  EXPECT_FALSE(Matches(expressions[1], "a sshd: a Bad thing"));
}

TEST_F(RegexFiles, OfFail2banHaveBracketsForTimeStampsAndKnownOptions) {
  Write("common.conf", "[DEFAULT]\n__prefix = a\n");
  const auto expressions = Read(Write("z.conf",
      "[INCLUDES]\nbefore = common.conf\n[Definition]\n__prefix = %(known/__prefix)sb\n"
      "failregex = ^%(__prefix)s$\n   ^<HOST> - - \\[\\] \"GET\n   ^\\[\\] x$\n"));
  ASSERT_EQ(expressions.size(), 3u);
  EXPECT_TRUE(Matches(expressions[0], "ab"));
  EXPECT_TRUE(Matches(expressions[1],
                      "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 5"));
  EXPECT_TRUE(Matches(expressions[2], "[Sun Dec 04 04:47:44 2005] x"));
  EXPECT_TRUE(Matches(expressions[2], "[] x"));
}

TEST_F(RegexFiles, ThatRefuseSayWhy) {
  const std::string definition = "[Definition]\nfailregex = ";
  EXPECT_EQ(ErrorOf(folder_ / "none"), "cannot be read as a file");
  EXPECT_EQ(ErrorOf(folder_), "cannot be read as a file");
  EXPECT_EQ(ErrorOf(Write("a", definition + "%(none)s\n")), "no option none");
  EXPECT_EQ(ErrorOf(Write("b", definition + "%(b)s\nb = %(c)s\nc = %(b)s\n")),
            "options refer to each other in a circle");
  EXPECT_EQ(ErrorOf(Write("c", definition + "<b>\nb = x<c>\nc = <b>\n")),
            "tags refer to each other in a circle");
  EXPECT_EQ(ErrorOf(Write("d", definition + "x\n[INCLUDES]\nbefore = d\n")),
            "includes too many files");
  EXPECT_EQ(ErrorOf(Write("e", definition + "x\n[INCLUDES]\nbefore = none\n")), "cannot be read as a file");
  EXPECT_EQ(ErrorOf(Write("f", std::string((1 << 20) + 1, 'a'))), "more than a MiB");
  std::string doubling = definition + "%(x30)s\nx0 = aaaaaaaa\n";
  for (int i = 1; i <= 12; ++i) {
    doubling += "x" + std::to_string(i) + " = ";
    for (int j = 0; j < 8; ++j) doubling += "%(x" + std::to_string(i - 1) + ")s";
    doubling += "\n";
  }
  doubling.replace(doubling.find("x30"), 3, "x12");
  EXPECT_EQ(ErrorOf(Write("g", doubling)), "an option that is too long");
}

TEST_F(RegexFiles, BearAnyText) {
  const std::string text = "[INCLUDES]\nbefore = \n[Definition]\nprefregex = ^a <F-CONTENT>.+"
                           "</F-CONTENT>$\nfailregex = ^b<x>%(y)s|[^]c]\\$\n  d$\nx = <y>\ny = 1%%\n";
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'<', '%', ']', '\n', '\0', '\xff'}) {
      std::string bent = text;
      bent[i] = c;
      std::string error;
      const auto expressions = ReadRegexFile(Write("bent", bent), &error);
      EXPECT_EQ(expressions.has_value(), error.empty());
    }
  }
}

TEST(Fail2ban, OfDebianHasFiltersThatAreRead) {
  const std::filesystem::path folder = "/etc/fail2ban/filter.d";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "fail2ban is not installed";
  int expressions = 0, compiled = 0;
  for (const char* name : {"sshd", "apache-auth", "dovecot", "exim", "postfix", "nginx-http-auth",
                           "pam-generic", "mysqld-auth", "sieve", "selinux-ssh"}) {
    std::string error;
    const auto read = ReadRegexFile(folder / (std::string(name) + ".conf"), &error);
    ASSERT_TRUE(read) << error;
    EXPECT_FALSE(read->empty()) << name;
    for (const std::string& expression : *read) {
      ++expressions;
      std::string why;
      compiled += Filter::Regex(expression, &why).has_value();
    }
  }
  // Some look ahead.
  EXPECT_GE(compiled, expressions * 3 / 4);
}

}  // namespace
}  // namespace sluice::engine::logmon
