// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "engine/logmon/scan/line_scanner.h"
#include "logmon/line_oracle.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using engine::logmon::Filter;
using engine::logmon::LineScanner;
using engine::logmon::LineState;
using engine::logmon::RuleSet;

/// Returns rules with short needles that few bytes match. They cover filters that needles decide,
/// exclude or anchor, and filters that must be evaluated sometimes or always.
std::unique_ptr<const RuleSet> Rules() {
  std::vector<Filter> filters;
  std::string error;
  for (const char* pattern : {"a", "\"a b\"", "?c ?d", "a -c", "a d", "-e", "{ $.a = 1 }"}) {
    filters.push_back(std::move(*Filter::CloudWatch(pattern, &error)));
  }
  for (const char* expression : {"^a", "b$", "^$", "c\\s*$", "\\bd\\b", "^a.*b$"}) {
    filters.push_back(std::move(*Filter::Regex(expression, &error)));
  }
  auto rules = RuleSet::Compile(std::move(filters), &error);
  FUZZ_CHECK(rules != nullptr);
  return rules;
}

}  // namespace

void LogmonScanner(const uint8_t* data, size_t size) {
  static const std::unique_ptr<const RuleSet> rules = Rules();
  if (size == 0) return;
  std::mt19937_64 random(data[0]);
  const bool little_memory = data[0] & 0x80;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr uint32_t kLineBytes = 256;

  LineScanner scanner(
      *rules, {.line_bytes = kLineBytes, .unfinished_bytes = little_memory ? 512u : 1u << 20});
  LineState state;
  std::vector<test::Match> found;
  const test::LineRecorder recorder(&found);
  for (size_t at = 0; at < text.size();) {
    const size_t bytes =
        std::min<size_t>(1 + random() % (random() % 4 ? 16 : 600), text.size() - at);
    const std::vector<char> chunk(text.begin() + at, text.begin() + at + bytes);
    scanner.Feed(state, {chunk.data(), chunk.size()}, recorder);
    if (random() % 4 == 0) scanner.Flush(recorder);
    at += bytes;
  }
  scanner.Finish(state, recorder);
  scanner.Flush(recorder);

  FUZZ_CHECK(scanner.unfinished_bytes() == 0);
  const auto counters = scanner.counters();
  FUZZ_CHECK(counters.matched_lines == found.size() && counters.torn_lines == 0);
  FUZZ_CHECK(counters.lines + counters.no_memory_lines == test::SplitLines(text).size());
  if (!little_memory) {
    FUZZ_CHECK(counters.no_memory_lines == 0);
    FUZZ_CHECK(found == test::AskAll(rules->filters(), text, kLineBytes));
  }
}

}  // namespace sluice::fuzz
