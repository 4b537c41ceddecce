// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that needles are necessary: a line that a filter matches contains the filter's needles,
// both alone and among other lines. Where needles decide, every line that contains them matches.
// RE2 searches for the needles, with `^` and `$` at line ends. Hyperscan must accept all needles.
#include <gtest/gtest.h>
#include <hs/hs.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/logmon/filter/filter.h"

namespace sluice::engine::logmon {
namespace {

class Seeker {
 public:
  explicit Seeker(const Needle& needle) {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    regex_ = std::make_unique<RE2>("(?m)" + needle.expression, options);
    EXPECT_TRUE(regex_->ok()) << needle.expression;
  }
  bool IsIn(const std::string& text) const { return RE2::PartialMatch(text, *regex_); }

 private:
  std::unique_ptr<RE2> regex_;
};

struct Seekers {
  explicit Seekers(const Needles& needles) {
    for (const Needle& needle : needles.all) all.emplace_back(needle);
    for (const Needle& needle : needles.any) any.emplace_back(needle);
    for (const Needle& needle : needles.none) none.emplace_back(needle);
  }
  bool Accept(const std::string& text) const {
    const auto is_in = [&](const Seeker& seeker) { return seeker.IsIn(text); };
    return std::all_of(all.begin(), all.end(), is_in) &&
           std::none_of(none.begin(), none.end(), is_in) &&
           (any.empty() || std::any_of(any.begin(), any.end(), is_in));
  }
  std::vector<Seeker> all, any, none;
};

void ExpectHyperscanTakes(const Needles& needles) {
  for (const auto* list : {&needles.all, &needles.any, &needles.none}) {
    for (const Needle& needle : *list) {
      hs_database_t* database = nullptr;
      hs_compile_error_t* error = nullptr;
      const auto result = hs_compile(needle.expression.c_str(), HS_FLAG_MULTILINE, HS_MODE_BLOCK,
                                     nullptr, &database, &error);
      EXPECT_EQ(result, HS_SUCCESS) << needle.expression << ": " << (error ? error->message : "");
      EXPECT_LE(needle.expression.size(), 8192u);
      hs_free_database(database);
      hs_free_compile_error(error);
    }
  }
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  std::string OneOf(std::initializer_list<const char*> list) {
    return list.begin()[Below(list.size())];
  }
  /// Returns a line of letters that occur in patterns, of UTF-8 characters, and of bytes that are
  /// not UTF-8.
  std::string Line() {
    std::string line;
    for (size_t n = Below(12); n > 0; --n) {
      line += OneOf({"a", "b", "a", "b", "A", "B", "0", " ", "_", "\xc3\xa9", "\xe2\x82\xac",
                     "\xff", "\"", "[", "]", "{", "\t", "\xc3"});
    }
    return line;
  }
  std::string AwsRegex() {
    std::string regex = OneOf({"", "", "", "^"});
    for (size_t n = 1 + Below(5); n > 0; --n) {
      regex += OneOf({"a", "b", "a", "b", ".", "[ab]", "[^a]", "\\d", "\\S", "\\W", "\\s", "\\D",
                      "\\x20", "_", "[^b0-9]", "$", "^", "|"});
      if (const char c = regex.back(); c != '^' && c != '$' && c != '|') {
        regex += OneOf({"", "", "", "", "?", "*", "+", "{2}", "{1,3}", "{2,}"});
      }
    }
    return regex + OneOf({"", "", "", "$"});
  }
  std::string HostRegex(int depth = 0) {
    std::string regex = depth == 0 ? OneOf({"", "", "^", "(?i)", "(?i)^"}) : "";
    for (size_t n = 1 + Below(4); n > 0; --n) {
      if (depth < 3 && Below(4) == 0) {
        regex += OneOf({"(", "(?:", "(?i:", "(?P<x"}).c_str();
        if (regex.ends_with("<x")) regex += std::to_string(++names_) + ">";
        regex += HostRegex(depth + 1) + ")";
      } else {
        regex +=
            OneOf({"a",   "B", "b", ".", "[ab]",     "[^a]",    "\\d",      "\\S", "\\W", "\\s",
                   "\\b", "$", "^", "|", "\xc3\xa9", "[^\xc3]", "[a-b\\d]", "\\A", "\\Z", "\\n"});
      }
      const char c = regex.back();
      if (c != '^' && c != '$' && c != '|' && !regex.ends_with("(?i)")) {
        regex += OneOf({"", "", "", "", "?", "*", "+?", "{2}", "{1,3}", "{0,2}", "{,2}"});
      }
    }
    return regex;
  }
  std::string Term() {
    return OneOf({"", "", "-", "?"}) +
           (Below(2) ? OneOf({"a", "b", "ab", "A", "\"a b\"", "\"\xc3\xa9\"", "\"\"", "\"[\""})
                     : "%" + AwsRegex() + "%");
  }
  std::string Terms() {
    std::string pattern = Term();
    for (size_t n = Below(3); n > 0; --n) pattern += " " + Term();
    return pattern;
  }
  std::string Fields() {
    std::string pattern = "[" + OneOf({"", "..., ", "w0, "});
    for (size_t n = 1 + Below(3); n > 0; --n) {
      pattern += OneOf({"w1", "w1 = a*", "w1 = \"*b*\" || w1 = 0", "w1 != b", "w1 = %^a.b?$%",
                        "w1 = *a*b && (w1 != ab || w1 = A)", "w1 < 5"});
      if (n > 1) pattern += ", ";
    }
    return pattern + "]";
  }

 private:
  std::mt19937_64 random_;
  int names_ = 0;
};

std::vector<std::string> Lines(Dice& dice, int count) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) lines.push_back(dice.Line());
  return lines;
}

struct Totals {
  int filters = 0, matches = 0, deciding = 0;
};

void CheckFilter(const Filter& filter, const std::string& pattern, Dice& dice, Totals* totals) {
  const Needles& needles = filter.needles();
  const Seekers seekers(needles);
  if (totals->filters++ % 8 == 0) ExpectHyperscanTakes(needles);
  totals->deciding += needles.decide;
  Scratch scratch;
  std::string before = dice.Line();
  for (const std::string& line : Lines(dice, 40)) {
    const bool matches = filter.Matches(line, scratch);
    totals->matches += matches;
    if (matches || needles.decide) {
      EXPECT_EQ(seekers.Accept(line), matches) << pattern << "  on  " << line;
    }
    // A needle is found among several lines if and only if one of the lines contains it.
    for (const char* end : {"\n", "\r\n", "\r"}) {
      const std::string text = before + end + line + end;
      for (const auto* list : {&seekers.all, &seekers.any, &seekers.none}) {
        for (const Seeker& seeker : *list) {
          EXPECT_EQ(seeker.IsIn(text), seeker.IsIn(before) || seeker.IsIn(line))
              << pattern << "  on  " << text;
        }
      }
    }
    before = line;
  }
}

TEST(Needles, OfTermsAreInLinesThatMatch) {
  Dice dice(1);
  Totals totals;
  for (int i = 0; i < 3000; ++i) {
    const std::string pattern = dice.Terms();
    std::string error;
    // Some patterns, such as %a|*%, are invalid.
    if (const auto filter = Filter::CloudWatch(pattern, &error)) {
      CheckFilter(*filter, pattern, dice, &totals);
    }
  }
  EXPECT_GT(totals.filters, 2000);
  EXPECT_GT(totals.matches, 10'000);
  EXPECT_GT(totals.deciding, 500);
}

TEST(Needles, OfExpressionsAreInLinesThatMatch) {
  Dice dice(2);
  Totals totals;
  for (int i = 0; i < 4000; ++i) {
    const std::string pattern = dice.HostRegex();
    std::string error;
    if (const auto filter = Filter::Regex(pattern, &error)) {
      CheckFilter(*filter, pattern, dice, &totals);
    }
  }
  EXPECT_GT(totals.filters, 1500);
  EXPECT_GT(totals.matches, 10'000);
  EXPECT_GT(totals.deciding, 300);
}

TEST(Needles, OfFieldsAreInLinesThatMatch) {
  Dice dice(3);
  Totals totals;
  for (int i = 0; i < 1500; ++i) {
    const std::string pattern = dice.Fields();
    std::string error;
    const auto filter = Filter::CloudWatch(pattern, &error);
    if (filter) {
      CheckFilter(*filter, pattern, dice, &totals);
    } else {
      EXPECT_TRUE(error.ends_with("at most two regular expressions")) << pattern << ": " << error;
    }
  }
  EXPECT_GT(totals.filters, 1000);
  EXPECT_GT(totals.matches, 1000);
}

Needles Of(std::string_view pattern) {
  std::string error;
  const auto filter = Filter::CloudWatch(pattern, &error);
  EXPECT_TRUE(filter) << pattern << ": " << error;
  return filter ? filter->needles() : Needles();
}

TEST(Needles, DecideWhereTheyAreExact) {
  for (const char* exact : {"ERROR", "a \"b c\" -d", "?a ?b", "-a", "%^ab+%", "%a$%", "%x|y%", "",
                            "%a.*b%", "%user=[^;]+;%"}) {
    EXPECT_TRUE(Of(exact).decide) << exact;
  }
  for (const char* asked : {"%a.b%", "%a^b%", "%a*%", "{ $.a = 1 }", "[a = b, c]"}) {
    EXPECT_FALSE(Of(asked).decide) << asked;
  }
}

// Hyperscan does not support references, conditions and atomic groups, so the needles match more
// lines than the expression does.
TEST(Needles, DoNotDecideWhereTheyAreFoundInLinesThatDoNotMatch) {
  for (const auto& [expression, line] : {std::pair{"(a|b)x\\1", "axb"},
                                         {"(?P<q>a|b)x(?P=q)", "axb"},
                                         {"^(a)?x(?(1)b|c)$", "axc"},
                                         {"(?>a+)ab", "aaab"},
                                         {"a(?=b)", "ac"}}) {
    std::string error;
    const auto filter = Filter::Regex(expression, &error);
    ASSERT_TRUE(filter) << expression << ": " << error;
    Scratch scratch;
    EXPECT_FALSE(filter->Matches(line, scratch)) << expression;
    EXPECT_TRUE(Seekers(filter->needles()).Accept(line)) << expression;
    EXPECT_FALSE(filter->needles().decide) << expression;
  }
}

TEST(Needles, OfExpressionsDecideWithGroupsAndFlagsToo) {
  for (const char* exact : {"(?i)ab", "a(?i:b)c", "(?:ab|cd)e", "(?s)a.b", "ab$"}) {
    std::string error;
    const auto filter = Filter::Regex(exact, &error);
    ASSERT_TRUE(filter) << exact << ": " << error;
    EXPECT_TRUE(filter->needles().decide) << exact;
  }
}

TEST(Needles, AreNoneWhereALineNeedsNothing) {
  for (const char* pattern : {"", "-a", "%a*%", "[a, b]", "[a > 5, b]", "[a != x]"}) {
    EXPECT_TRUE(Of(pattern).all.empty() && Of(pattern).any.empty()) << pattern;
  }
  EXPECT_EQ(Of("-a").none.size(), 1u);
}

TEST(Needles, OfJsonAllowForEscapes) {
  const Needles name = Of("{ $.latency > 5 }");
  ASSERT_EQ(name.any.size(), 2u);
  EXPECT_EQ(name.any[0].expression, "\\x22latency\\x22");
  EXPECT_EQ(name.any[1].expression, "\\x5c");
  // The longest literal is the most selective.
  EXPECT_EQ(Of("{ $.id = \"abcdefgh\" && $.x = 1 }").any[0].expression, "\\x22abcdefgh\\x22");
  // A matching line contains one of the two literals, or a backslash.
  EXPECT_EQ(Of("{ $.a = \"xx\" || $.b = \"yy\" }").any.size(), 3u);
  EXPECT_EQ(Of("{ $.a NOT EXISTS }").all.size(), 1u);
}

TEST(Needles, OfHostilePatternsAreTakenByHyperscan) {
  std::string dots, classes, counted, nested = "a";
  for (int i = 0; i < 1000; ++i) dots += ".";
  for (int i = 0; i < 200; ++i) classes += "[^a]?b";
  for (int i = 0; i < 10; ++i) counted += "a{1,999}b";
  for (int i = 0; i < 60; ++i) nested = "(?:" + nested + "b?){1,2}";
  for (const std::string& pattern :
       {"%" + dots + "%", "%" + classes.substr(0, 1000) + "%", "%" + counted + "%",
        std::string("%a.{900}b.{900}%"), std::string("%[ab]{500}[bc]{500}%")}) {
    ExpectHyperscanTakes(Of(pattern));
  }
  for (const std::string& expression : {nested, std::string("(?:ab|cd|ef?){300}x"),
                                        std::string("(?:(?:a.{1,30}b){1,30}c){1,30}")}) {
    std::string error;
    if (const auto filter = Filter::Regex(expression, &error)) {
      ExpectHyperscanTakes(filter->needles());
    }
  }
}

}  // namespace
}  // namespace sluice::engine::logmon
