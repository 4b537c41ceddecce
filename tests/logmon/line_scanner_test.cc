// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the scanner with an oracle that splits the text independently and evaluates every filter
// on every line.
#include "engine/logmon/scan/line_scanner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "line_oracle.h"
#include "log_text.h"
#include "rules_lab.h"

namespace sluice::engine::logmon {
namespace {

using namespace std::string_literals;
using test::LineRecorder;
using test::Match;
using test::Rules;

using Matches = std::vector<Match>;
/// A function that returns the size of the next chunk.
using Cut = std::function<size_t()>;

Cut Always(size_t bytes) {
  return [bytes] { return bytes; };
}

/// Returns a Cut of usually small sizes. Some sizes exceed the text that is scanned at once.
Cut AtRandom(uint64_t seed) {
  return [random = std::mt19937_64(seed)]() mutable {
    return 1 + random() % (random() % 4 ? 200 : random() % 8 ? 5000 : 60000);
  };
}

void Feed(LineScanner& scanner, LineState& state, std::string_view bytes, Matches* matches) {
  scanner.Feed(state, bytes, LineRecorder(matches));
  scanner.Flush(LineRecorder(matches));
}

/// Feeds the text in chunks. Each chunk is in a separate allocation of exactly its size, so that a
/// sanitizer detects overruns. Some chunks are flushed one by one, others together.
void FeedInChunks(LineScanner& scanner, LineState& state, std::string_view text, const Cut& cut,
                  Matches* matches) {
  std::mt19937_64 random(text.size());
  const uint64_t rarely = random() % 3 * 7;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, cut());
    const std::vector<char> chunk(piece.begin(), piece.end());
    scanner.Feed(state, {chunk.data(), chunk.size()}, LineRecorder(matches));
    if (random() % (1 + rarely) == 0) scanner.Flush(LineRecorder(matches));
    text.remove_prefix(piece.size());
  }
}

Matches Scan(LineScanner& scanner, std::string_view text, const Cut& cut) {
  Matches matches;
  LineState state;
  FeedInChunks(scanner, state, text, cut, &matches);
  scanner.Finish(state, LineRecorder(&matches));
  scanner.Flush(LineRecorder(&matches));
  EXPECT_EQ(scanner.unfinished_bytes(), 0u);
  return matches;
}

void ExpectAsTheOracle(const RuleSet& rules, std::string_view text, uint32_t line_bytes) {
  const Matches expected = test::AskAll(rules.filters(), text, line_bytes);
  const size_t lines = test::SplitLines(text).size();
  size_t truncated = 0;
  for (const std::string& line : test::SplitLines(text)) truncated += line.size() > line_bytes;

  const std::pair<const char*, Cut> cuts[] = {
      {"1", Always(1)},        {"7", Always(7)},        {"64", Always(64)},
      {"1472", Always(1472)},  {"9000", Always(9000)},  {"all", Always(text.size() + 1)},
      {"random", AtRandom(1)}, {"random", AtRandom(2)}, {"random", AtRandom(3)}};
  for (const auto& [name, cut] : cuts) {
    SCOPED_TRACE(name);
    LineScanner scanner(rules, {.line_bytes = line_bytes});
    const Matches found = Scan(scanner, text, cut);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].line, expected[i].line) << i;
      ASSERT_EQ(found[i].filters, expected[i].filters) << expected[i].line;
      ASSERT_EQ(found[i].truncated, expected[i].truncated) << i;
    }
    const ScanCounters counters = scanner.counters();
    ASSERT_EQ(counters.lines, lines);
    ASSERT_EQ(counters.matched_lines, expected.size());
    ASSERT_EQ(counters.truncated_lines, truncated);
    ASSERT_EQ(counters.torn_lines, 0u);
    ASSERT_EQ(counters.no_memory_lines, 0u);
  }
  LineScanner scanner(rules, {.line_bytes = line_bytes});
  Matches found;
  const std::vector<char> whole(text.begin(), text.end());
  scanner.Lines({whole.data(), whole.size()}, LineRecorder(&found));
  scanner.Flush(LineRecorder(&found));
  ASSERT_EQ(found, expected);
  ASSERT_EQ(scanner.counters().lines, lines);
}

/// Returns text that filters match, mixed randomly with difficult bytes.
std::string RandomText(uint64_t seed, size_t bytes) {
  static const std::string kPieces[] = {"ERROR",    "ERR",        "WARN",       "foo",
                                        "bar",      " ",          "  ",         "\t",
                                        "x",        "y",          "alpha",      "omega",
                                        "\0"s,      "\xff\xfe"s,  "\xc3\xa9"s,  "from 192.0.2.1",
                                        " port 22", "status=404", "{\"a\":1}",  "10.0.0.1 bob 404",
                                        "\"",       "[",          "0123456789", "\v",
                                        "\f"};
  static const std::string kEnds[] = {"\n", "\n",   "\n",     "\r\n", "\r\n",
                                      "\r", "\n\n", "\r\r\n", "\n\r", "\r\n\r\n"};
  std::mt19937_64 random(seed);
  std::string text;
  while (text.size() < bytes) {
    for (uint64_t pieces = random() % 6; pieces > 0; --pieces) {
      text += kPieces[random() % std::size(kPieces)];
    }
    if (random() % 50 == 0) text += std::string(random() % 700, '-') + "ERROR";
    if (random() % 200 == 0) text += std::string(random() % 40000, '=') + "foo";
    text += kEnds[random() % std::size(kEnds)];
  }
  if (random() % 2) text += "bar";
  return text;
}

const std::vector<std::string>& MixedFilters() {
  static const std::vector<std::string> filters = {"ERROR",
                                                   "\"foo bar\"",
                                                   "?alpha ?omega",
                                                   "ERROR -foo",
                                                   "foo bar x",
                                                   "ERROR foo -WARN",
                                                   "%status=[0-9]+%",
                                                   "%^foo%",
                                                   "%bar$%",
                                                   "/^foo",
                                                   "/bar$",
                                                   "/foo\\s*$",
                                                   "/\\bfoo\\b",
                                                   "/^foo.*bar$",
                                                   "/from <HOST>( port \\d+)?$",
                                                   "/x$|^y",
                                                   "/(foo|bar)x",
                                                   "\"\xc3\xa9\"",
                                                   "{ $.a = 1 }",
                                                   "[ip, user, status = 4*]",
                                                   "?foo ?ERROR",
                                                   "ERROR"};
  return filters;
}

TEST(LineScanner, SaysTheSameOfEveryTextHoweverItIsCut) {
  const auto rules = Rules(MixedFilters());
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    ExpectAsTheOracle(*rules, RandomText(seed, seed * 9000), 65536);
    if (HasFatalFailure()) return;
  }
}

TEST(LineScanner, SaysTheSameOfLinesThatAreLongerThanTheLimit) {
  const auto rules = Rules(MixedFilters());
  for (const uint32_t line_bytes : {256u, 300u, 5000u, 20000u}) {
    SCOPED_TRACE(line_bytes);
    ExpectAsTheOracle(*rules, RandomText(line_bytes, 60000), line_bytes);
    if (HasFatalFailure()) return;
  }
}

TEST(LineScanner, AsksFiltersWithoutNeedlesAboutEveryLineEmptyOnesToo) {
  const auto rules = Rules({"\"\"", "-foo", "/^$", "/x*", "ERROR"});
  for (uint64_t seed = 20; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    ExpectAsTheOracle(*rules, RandomText(seed, 20000), 1000);
    if (HasFatalFailure()) return;
  }
}

TEST(LineScanner, SaysTheSameOfAServersLogs) {
  test::LogText log(7);
  ExpectAsTheOracle(*Rules(test::LightPatterns()), log.Service(200000), 65536);
  std::vector<std::string> heavy;
  for (const std::string& expression : test::HeavyExpressions()) heavy.push_back("/" + expression);
  const auto rules = Rules(heavy);
  const std::string auth = log.Auth(200000);
  ExpectAsTheOracle(*rules, auth, 65536);
  // The generated text must contain many matching lines.
  EXPECT_GT(test::AskAll(rules->filters(), auth, 65536).size(), auth.size() / 250);
}

TEST(LineScanner, SaysTheSameOfThisSystemsLog) {
  std::ifstream file("/var/log/dpkg.log", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.empty()) GTEST_SKIP() << "no log of installed packages";
  text.resize(std::min<size_t>(text.size(), 300000));
  ExpectAsTheOracle(
      *Rules({"installed", "status -triggers", "?remove ?purge", "/ (\\S+):amd64 \\S+$",
              "\"status half-configured\"", "[date, time, verb = status, ...]"}),
      text, 65536);
}

TEST(LineScanner, EndsALineWithLfCrLfOrCr) {
  const auto rules = Rules({"foo"});
  LineScanner scanner(*rules, {});
  EXPECT_EQ(Scan(scanner, "foo 1\nfoo 2\r\nfoo 3\rfoo 4", Always(100)),
            (Matches{{"foo 1", "0 "}, {"foo 2", "0 "}, {"foo 3", "0 "}, {"foo 4", "0 "}}));
  EXPECT_EQ(scanner.counters().lines, 4u);
}

TEST(LineScanner, TakesCrLfForOneEndWhenAChunkEndsBetween) {
  const auto rules = Rules({"\"\""});
  LineScanner scanner(*rules, {});
  Matches matches;
  LineState state;
  Feed(scanner, state, "a\r", &matches);
  EXPECT_EQ(matches, (Matches{{"a", "0 "}})) << "a CR ends a line whatever comes next";
  Feed(scanner, state, "\n", &matches);
  Feed(scanner, state, "b\r", &matches);
  Feed(scanner, state, "\r", &matches);
  Feed(scanner, state, "\nc\n", &matches);
  EXPECT_EQ(matches, (Matches{{"a", "0 "}, {"b", "0 "}, {"", "0 "}, {"c", "0 "}}));
  EXPECT_EQ(scanner.counters().lines, 4u);
}

TEST(LineScanner, DoesNotMatchAcrossLines) {
  const auto rules = Rules({"\"foo bar\"", "foo bar", "/foo.*bar", "/foo\\s+bar"});
  LineScanner scanner(*rules, {});
  for (const char* text : {"foo\nbar", "foo \nbar", "foo\rbar", "foo \r\n bar", "foo \r bar"}) {
    EXPECT_EQ(Scan(scanner, text, Always(100)), Matches{}) << text;
    EXPECT_EQ(Scan(scanner, text, Always(1)), Matches{}) << text;
  }
}

TEST(LineScanner, MatchesTheFirstBytesOfALongLineOnceAndSkipsTheOthers) {
  const auto rules = Rules({"head", "tail", "/x$"});
  const std::string text =
      "head" + std::string(252, 'x') + "tail\nhead" + std::string(252, 'x') + "\ntail\n";
  for (const size_t bytes : {1, 7, 64, 256, 257, 1000}) {
    LineScanner scanner(*rules, {.line_bytes = 256});
    const std::string head = "head" + std::string(252, 'x');
    EXPECT_EQ(Scan(scanner, text, Always(bytes)),
              (Matches{{head, "0 2 ", true}, {head, "0 2 ", false}, {"tail", "1 ", false}}));
    EXPECT_EQ(scanner.counters().truncated_lines, 1u);
    EXPECT_EQ(scanner.counters().lines, 3u);
  }
}

TEST(LineScanner, MatchesNothingAcrossAGap) {
  const auto rules = Rules({"foo"});
  LineScanner scanner(*rules, {});
  Matches matches;
  LineState state;
  Feed(scanner, state, "foo 1\nfoo 2 f", &matches);
  scanner.Gap(state);
  Feed(scanner, state, "oo\nfoo 3\nfoo", &matches);
  EXPECT_EQ(matches, (Matches{{"foo 1", "0 "}, {"foo 3", "0 "}}));
  EXPECT_EQ(scanner.counters().torn_lines, 2u) << "the previous piece and the next one";
  EXPECT_EQ(scanner.counters().lines, 2u);
  scanner.Forget(state);
}

TEST(LineScanner, SkipsWhatFollowsAGapBetweenLinesToo) {
  const auto rules = Rules({"foo"});
  for (const char* before : {"", "foo\n", "foo\r"}) {
    LineScanner scanner(*rules, {});
    Matches matches;
    LineState state;
    Feed(scanner, state, before, &matches);
    matches.clear();
    scanner.Gap(state);
    Feed(scanner, state, "foo 1", &matches);
    Feed(scanner, state, " more", &matches);
    Feed(scanner, state, "\r", &matches);
    Feed(scanner, state, "\nfoo 2\n", &matches);
    EXPECT_EQ(matches, (Matches{{"foo 2", "0 "}})) << before;
    EXPECT_EQ(scanner.counters().torn_lines, 1u);
  }
}

TEST(LineScanner, SaysTheSameAroundAGapHoweverTheTextIsCut) {
  const auto rules = Rules(MixedFilters());
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string before = RandomText(seed, 3000), behind = RandomText(seed + 100, 3000);
    // Expects all lines before the gap, and all lines after the first line end that follows the
    // gap.
    std::string head = before.substr(0, before.find_last_of("\r\n") + 1);
    size_t torn = behind.find_first_of("\r\n");
    torn += behind.compare(torn, 2, "\r\n") == 0 ? 2 : 1;
    Matches expected = test::AskAll(rules->filters(), head, 2000);
    const Matches rest = test::AskAll(rules->filters(), behind.substr(torn), 2000);
    expected.insert(expected.end(), rest.begin(), rest.end());
    // The unfinished line must not exceed the limit, because it would then be matched before the
    // gap.
    const std::string unfinished = before.substr(head.size());
    ASSERT_LE(unfinished.size(), 2000u);
    for (const Cut& cut : {Always(1), Always(64), Always(10000), AtRandom(seed)}) {
      LineScanner scanner(*rules, {.line_bytes = 2000});
      Matches found;
      LineState state;
      FeedInChunks(scanner, state, before, cut, &found);
      scanner.Gap(state);
      FeedInChunks(scanner, state, behind, cut, &found);
      scanner.Finish(state, LineRecorder(&found));
      scanner.Flush(LineRecorder(&found));
      ASSERT_EQ(found, expected) << seed;
      ASSERT_EQ(scanner.counters().torn_lines, unfinished.empty() ? 1u : 2u) << seed;
    }
  }
}

TEST(LineScanner, ForgetsAnUnfinishedLineAsTorn) {
  const auto rules = Rules({"foo"});
  LineScanner scanner(*rules, {});
  Matches matches;
  LineState state;
  Feed(scanner, state, "foo", &matches);
  EXPECT_GT(scanner.unfinished_bytes(), 0u);
  scanner.Forget(state);
  EXPECT_EQ(scanner.unfinished_bytes(), 0u);
  EXPECT_EQ(scanner.counters().torn_lines, 1u);
  // The state can be reused for another source.
  Feed(scanner, state, " foo\n", &matches);
  EXPECT_EQ(matches, (Matches{{" foo", "0 "}}));
}

TEST(LineScanner, KeepsSourcesApart) {
  const auto rules = Rules({"foo"});
  LineScanner scanner(*rules, {});
  std::vector<LineState> states(1000);
  Matches matches;
  for (const std::string_view piece : {"f", "o", "o "}) {
    for (LineState& state : states) Feed(scanner, state, piece, &matches);
  }
  for (size_t i = 0; i < states.size(); ++i) {
    Feed(scanner, states[i], std::to_string(i) + "\n", &matches);
  }
  ASSERT_EQ(matches.size(), states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(matches[i].line, "foo " + std::to_string(i));
  }
  EXPECT_EQ(scanner.unfinished_bytes(), 0u);
}

TEST(LineScanner, GivesLinesUpWhenTheirMemoryIsFullAndGoesOnBehindThem) {
  const auto rules = Rules({"foo"});
  LineScanner scanner(*rules, {.unfinished_bytes = 4096});
  std::vector<LineState> states(200);
  Matches matches;
  for (LineState& state : states) Feed(scanner, state, "foo", &matches);
  EXPECT_LE(scanner.unfinished_bytes(), 4096u);
  const uint64_t given_up = scanner.counters().no_memory_lines;
  EXPECT_GT(given_up, 100u);
  EXPECT_LT(given_up, 200u) << "the first ones fit";
  for (LineState& state : states) Feed(scanner, state, " 1\nfoo 2\n", &matches);
  EXPECT_EQ(matches.size(), 200 - given_up + 200);
  EXPECT_EQ(scanner.unfinished_bytes(), 0u);
  EXPECT_EQ(scanner.counters().no_memory_lines, given_up);
}

TEST(LineScanner, GivesLongLinesUpBeforeShortOnes) {
  const auto rules = Rules({"foo"});
  LineScanner scanner(*rules, {.unfinished_bytes = 65536});
  Matches matches;
  // Otherwise, endless lines from many sources would use all memory.
  std::vector<LineState> hostile(100);
  for (int round = 0; round < 60; ++round) {
    for (LineState& state : hostile) {
      Feed(scanner, state, std::string(1000, 'x'), &matches);
    }
  }
  LineState state;
  Feed(scanner, state, "fo", &matches);
  Feed(scanner, state, "o\n", &matches);
  EXPECT_EQ(matches, (Matches{{"foo", "0 "}}));
  EXPECT_GT(scanner.counters().no_memory_lines, 0u);
}

TEST(LineScanner, KeepsAHundredThousandBegunLinesInLessThan64MiB) {
  const auto rules = Rules({"foo"});
  LineScanner scanner(*rules, {});
  std::vector<LineState> states(100000);
  Matches matches;
  const std::string begun = "foo" + std::string(97, '.');
  for (LineState& state : states) Feed(scanner, state, begun, &matches);
  EXPECT_EQ(scanner.counters().no_memory_lines, 0u);
  EXPECT_LE(scanner.unfinished_bytes() + states.size() * sizeof(LineState), 64u << 20);
  for (LineState& state : states) Feed(scanner, state, "\n", &matches);
  EXPECT_EQ(matches.size(), states.size());
}

/// Several sources write random lines. Their chunks are interleaved at random.
TEST(LineScanner, TellsWhoWroteEachLineOfATextThatManyWrote) {
  const auto rules = Rules(MixedFilters());
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    constexpr uint32_t kSources = 9;
    std::mt19937_64 random(seed);
    std::vector<std::string> texts;
    std::vector<Matches> expected;
    for (uint32_t source = 0; source < kSources; ++source) {
      texts.push_back(RandomText(seed * 100 + source, 4000 * source));
      expected.push_back(test::AskAll(rules->filters(), texts.back(), 5000));
    }
    LineScanner scanner(*rules, {.line_bytes = 5000});
    std::vector<LineState> states(kSources);
    std::vector<Matches> found(kSources);
    // A source's number keeps the meaning that it had when its text was fed.
    std::vector<uint32_t> sources;
    const auto sink = [&](const MatchedLine& line) {
      LineRecorder{&found[sources.at(line.origin)]}(line);
    };
    const auto from = [&](uint32_t source) {
      scanner.From({.number = static_cast<uint32_t>(sources.size()), .speaker = {}});
      sources.push_back(source);
    };
    std::vector<size_t> at(kSources);
    for (uint32_t left = kSources; left > 0;) {
      const auto source = static_cast<uint32_t>(random() % kSources);
      const std::string& text = texts[source];
      if (at[source] > text.size()) continue;
      const std::string_view piece =
          std::string_view(text).substr(at[source], 1 + random() % (random() % 8 ? 300 : 30000));
      from(source);
      if (piece.empty()) {
        scanner.Finish(states[source], sink);
        at[source] = text.size() + 1;
        --left;
      } else {
        const std::vector<char> chunk(piece.begin(), piece.end());
        scanner.Feed(states[source], {chunk.data(), chunk.size()}, sink);
        at[source] += piece.size();
      }
      if (random() % 30 == 0) {
        scanner.Flush(sink);
        sources.clear();
      }
    }
    scanner.Flush(sink);
    for (uint32_t source = 0; source < kSources; ++source) {
      ASSERT_EQ(found[source], expected[source]) << seed << " " << source;
    }
  }
}

/// A line ends at the end of its source's text, whatever text follows.
TEST(LineScanner, KeepsLinesOfDifferentSourcesApartInOneScan) {
  const auto rules = Rules({"/a$", "/^b", "\"\"", "/a.?.?b", "/^$"});
  LineScanner scanner(*rules, {});
  Matches matches;
  const LineRecorder recorder(&matches);
  for (const char* text : {"a", "b", "a\r", "\nb", "\r", "\n", "a\r\n", "b\n\n"}) {
    scanner.Lines(text, recorder);
  }
  scanner.Flush(recorder);
  const Match a{"a", "0 2 "}, b{"b", "1 2 "}, empty{"", "2 4 "};
  EXPECT_EQ(matches, (Matches{a, b, a, empty, b, empty, empty, a, b, empty}));
  EXPECT_EQ(scanner.counters().lines, 10u);
}

TEST(LineScanner, AsksFiltersAboutALineAsItsOwnSpeakers) {
  std::string error;
  std::vector<std::string> skipped_rules;
  const std::string path = testing::TempDir() + "speakers-" + std::to_string(getpid());
  std::ofstream(path) << "[Definition]\nfailregex = ^one\\ntwo <HOST>$\n[Init]\nmaxlines = 2\n";
  std::vector<Filter> filters;
  filters.push_back(Filter::Fail2ban(path, &skipped_rules, &error).value());
  unlink(path.c_str());
  const auto rules = RuleSet::Compile(std::move(filters), &error);
  ASSERT_TRUE(rules) << error;
  LineScanner scanner(*rules, {});
  std::vector<std::string> failures;
  const auto sink = [&](const MatchedLine& line) {
    failures.push_back(std::to_string(line.origin) + " " + std::string(line.HostOf(0)));
  };
  const auto say = [&](uint32_t number, uint64_t speaker, std::string_view text) {
    scanner.From({.number = number, .speaker = {.id = speaker}});
    scanner.Lines(text, sink);
  };
  say(0, 7, "one\n");
  say(1, 8, "two a\none\n");
  say(2, 7, "two b\n");
  say(3, 8, "two c\n");
  EXPECT_EQ(failures, std::vector<std::string>());
  scanner.Flush(sink);
  EXPECT_EQ(failures, (std::vector<std::string>{"2 b", "3 c"}));
}

/// A message causes one event. A term may match before or after a line end inside the message.
TEST(LineScanner, TakesAMessageForOneLineWhateverItHolds) {
  const auto rules = Rules({"ERROR", "one two", "{ $.a = 1 }", "/^$"});
  LineScanner scanner(*rules, {.line_bytes = 256});
  Matches matches;
  const LineRecorder recorder(&matches);
  const std::string longest = "ERROR " + std::string(300, '\n') + "two";
  for (const std::string text :
       {"ERROR one\n  at ERROR two\r\n", "{\n \"a\": 1\r\n}", "\n", "", longest.c_str()}) {
    scanner.Message("", text, recorder);
    scanner.Flush(recorder);
  }
  EXPECT_EQ(matches, (Matches{{"ERROR one   at ERROR two", "0 1 "},
                              {"{  \"a\": 1  }", "2 "},
                              {"", "3 "},
                              {"", "3 "},
                              {"ERROR " + std::string(250, ' '), "0 ", true}}));
  EXPECT_EQ(scanner.counters().lines, 5u);
  EXPECT_EQ(scanner.counters().truncated_lines, 1u);
}

/// Only fail2ban's filters see the header that a daemon writes before a message.
TEST(LineScanner, ShowsTheHeaderOfAMessageToFiltersOfFilesAlone) {
  std::string error;
  std::vector<std::string> skipped_rules;
  const std::string path = testing::TempDir() + "header-" + std::to_string(getpid());
  std::ofstream(path) << "[Definition]\nfailregex = ^\\s*web1 sshd\\[\\d+\\]: no <HOST>$\n";
  std::vector<Filter> filters;
  filters.push_back(Filter::Fail2ban(path, &skipped_rules, &error).value());
  unlink(path.c_str());
  for (const char* pattern : {"sshd", "no", "-sshd"}) {
    filters.push_back(Filter::CloudWatch(pattern, &error).value());
  }
  const auto rules = RuleSet::Compile(std::move(filters), &error);
  ASSERT_TRUE(rules) << error;
  LineScanner scanner(*rules, {});
  std::vector<std::string> found;
  const auto sink = [&](const MatchedLine& line) {
    found.push_back(std::to_string(line.origin) + " " + line.filters.to_string().substr(252) + " " +
                    std::string(line.text));
  };
  const auto say = [&](uint32_t number, std::string_view header, std::string_view text) {
    scanner.From({.number = number, .speaker = {.id = 1}});
    scanner.Message(header, text, sink);
  };
  say(0, "Nov 26 22:14:00 web1 sshd[7]: ", "no a");
  say(1, "Nov 26 22:14:00 web1 cron[7]: ", "no b");
  say(2, "Nov 26 22:14:00 web1 sshd[7]: ", "yes");
  say(3, "", "Nov 26 22:14:00 web1 sshd[7]: no c");
  say(4, "Nov 26 22:14:00 web1 sshd[7]: ", "no d");
  scanner.Flush(sink);
  EXPECT_EQ(found,
            (std::vector<std::string>{"0 1101 no a", "1 1100 no b", "2 1000 yes",
                                      "3 0111 Nov 26 22:14:00 web1 sshd[7]: no c", "4 1101 no d"}));
}

TEST(LineScanner, CountsWhatItAsked) {
  const auto rules = Rules({"ERROR", "{ $.a = 1 }"});
  LineScanner scanner(*rules, {});
  Matches matches;
  scanner.Lines("ERROR\nnothing\n{\"a\": 1}\n{\"a\": 2}\n", LineRecorder(&matches));
  scanner.Flush(LineRecorder(&matches));
  EXPECT_EQ(matches, (Matches{{"ERROR", "0 "}, {"{\"a\": 1}", "1 "}}));
  EXPECT_GE(scanner.counters().asked, 2u);
  EXPECT_LE(scanner.counters().asked, 3u) << "terms are not asked; nor is JSON about other lines";
}

}  // namespace
}  // namespace sluice::engine::logmon
