// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/rule_set.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/logmon/scan/line_matcher.h"
#include "rules_lab.h"

namespace sluice::engine::logmon {
namespace {

using test::Rules;

/// Matches `line` alone, with a line end.
void Match(LineMatcher& matcher, std::string line, LineSink sink) {
  line += '\n';
  GatheredText text(static_cast<uint32_t>(line.size()));
  char* const to = text.Place(0, static_cast<uint32_t>(line.size()));
  text.Add(to + line.copy(to, line.size()), false, {});
  matcher.Match(text, sink);
}

/// Returns the filters that match `line`, as letters that start at `a`.
std::string Matching(const RuleSet& rules, std::string_view line) {
  LineMatcher matcher(rules);
  std::string letters;
  Match(matcher, std::string(line), [&](const MatchedLine& match) {
    for (size_t i = 0; i < rules.filters().size(); ++i) {
      if (match.filters[i]) letters += static_cast<char>('a' + i);
    }
  });
  return letters;
}

/// Returns how many filters are evaluated for `line`.
uint64_t Asked(const RuleSet& rules, std::string_view line) {
  LineMatcher matcher(rules);
  Match(matcher, std::string(line), [](const MatchedLine&) {});
  return matcher.asked();
}

TEST(RuleSet, LooksOnceForWhatManyFiltersWant) {
  const auto rules = Rules({"ERROR", "ERROR", "ERROR -foo", "?ERROR ?WARN", "ERROR WARN"});
  EXPECT_EQ(rules->expressions().size(), 3u);
  EXPECT_EQ(Matching(*rules, "ERROR"), "abcd");
  EXPECT_EQ(Matching(*rules, "ERROR foo"), "abd");
  EXPECT_EQ(Matching(*rules, "WARN ERROR"), "abcde");
  EXPECT_EQ(Matching(*rules, "WARN"), "d");
  EXPECT_EQ(Matching(*rules, "foo"), "");
}

TEST(RuleSet, DecidesAboutTermsWithoutAsking) {
  const auto rules = Rules({"ERROR", "ERROR -foo", "?ERROR ?WARN", "ERROR WARN", "\"ERROR WARN\""});
  EXPECT_TRUE(rules->asked_always().none());
  for (const char* line : {"ERROR", "ERROR WARN", "WARN ERROR", "foo ERROR", "foo", ""}) {
    EXPECT_EQ(Asked(*rules, line), 0u) << line;
  }
}

TEST(RuleSet, AsksAlwaysWhereNoNeedleMustBeThere) {
  const auto rules = Rules({"\"\"", "-foo", "ERROR", "/x*"});
  EXPECT_EQ(rules->asked_always().to_string().substr(kMaxFilters - 4), "1011");
  EXPECT_EQ(Matching(*rules, ""), "abd");
  EXPECT_EQ(Matching(*rules, "foo"), "ad");
  EXPECT_EQ(Matching(*rules, "ERROR"), "abcd");
}

TEST(RuleSet, CanBeEmptyOrWithoutAnyNeedle) {
  EXPECT_EQ(Matching(*Rules({}), "foo"), "");
  const auto all = Rules({"\"\""});
  EXPECT_EQ(all->database(), nullptr);
  EXPECT_EQ(all->database_bytes(), 0u);
  EXPECT_EQ(Matching(*all, "foo"), "a");
}

TEST(RuleSet, TakesAsManyFiltersAsItSaysAndNotOneMore) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < kMaxFilters; ++i) texts.push_back("\"term " + std::to_string(i) + ".\"");
  const auto rules = Rules(texts);
  LineMatcher matcher(*rules);
  FilterSet found;
  Match(matcher, "term 0. term 255.", [&](const MatchedLine& match) { found = match.filters; });
  EXPECT_EQ(found.count(), 2u);
  EXPECT_TRUE(found[0] && found[255]);

  std::vector<Filter> filters;
  std::string error;
  for (size_t i = 0; i <= kMaxFilters; ++i) {
    filters.push_back(std::move(*Filter::CloudWatch("foo", &error)));
  }
  EXPECT_EQ(RuleSet::Compile(std::move(filters), &error), nullptr);
  EXPECT_NE(error.find("257 filters"), std::string::npos) << error;
}

}  // namespace
}  // namespace sluice::engine::logmon
