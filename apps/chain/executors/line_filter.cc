// SPDX-License-Identifier: BSD-3-Clause
#include "line_filter.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/logmon/filter/filter.h"
#include "engine/logmon/scan/line_matcher.h"
#include "engine/logmon/scan/line_scanner.h"
#include "engine/logmon/scan/rule_set.h"
#include "option_text.h"

namespace sluice::chain_app {
namespace {

using engine::logmon::Filter;
using engine::logmon::LineScanner;
using engine::logmon::MatchedLine;
using engine::logmon::RuleSet;
using engine::logmon::ScanLimits;

constexpr uint32_t kShortestLimit = 256, kLongestLimit = 262144;
constexpr size_t kMarkedFilters = 32;

/// Lines arrive complete, and can be as long as a message.
ScanLimits LimitsFor(uint32_t max_message) {
  return {.line_bytes = std::clamp(max_message, kShortestLimit, kLongestLimit),
          .unfinished_bytes = 65536};
}

class LineFilter final : public Executor {
 public:
  LineFilter(std::unique_ptr<const RuleSet> rules, uint32_t max_message)
      : rules_(std::move(rules)), scanner_(*rules_, LimitsFor(max_message)) {}

  void Run(std::span<Work> batch) override {
    const auto sink = [batch](const MatchedLine& line) { AddMatch(batch[line.origin], line); };
    for (uint32_t i = 0; i < batch.size(); ++i) {
      Work& work = batch[i];
      if (!Begin(work) || work.input.empty()) continue;
      scanner_.From({.number = i, .speaker = {}});
      const auto* const text = reinterpret_cast<const char*>(work.input.data());
      scanner_.Lines({text, work.input.size()}, sink);
    }
    // The scanner must not keep unfinished lines, because message numbers are valid only within one
    // batch.
    scanner_.Flush(sink);
  }

 private:
  static void Refuse(Work& work, RegexRefusal why) {
    work.outcome = Outcome::kRefused;
    work.refusal = static_cast<uint8_t>(why);
  }

  static bool Begin(Work& work) {
    if (work.command != kRegexSelect && work.command != kRegexMark) {
      Refuse(work, RegexRefusal::kBadCommand);
      return false;
    }
    work.key = {};
    work.length = 0;
    work.outcome = Outcome::kDone;
    if (work.command == kRegexSelect) return true;
    if (work.input.size() > work.output.size()) {
      Refuse(work, RegexRefusal::kTooLong);
      return false;
    }
    std::ranges::copy(work.input, work.output.begin());
    work.length = static_cast<uint32_t>(work.input.size());
    return true;
  }

  static void AddMatch(Work& work, const MatchedLine& line) {
    if (work.outcome != Outcome::kDone) return;
    ++work.key[0];
    for (size_t filter = 0; filter < kMarkedFilters; ++filter)
      if (line.filters[filter]) work.key[1] |= 1u << filter;
    if (work.command == kRegexMark) return;
    const auto rest = work.output.subspan(work.length);
    if (line.text.size() >= rest.size()) return Refuse(work, RegexRefusal::kTooLong);
    *std::ranges::copy(line.text, rest.begin()).out = '\n';
    work.length += static_cast<uint32_t>(line.text.size()) + 1;
  }

  std::unique_ptr<const RuleSet> rules_;
  LineScanner scanner_;
};

std::optional<std::vector<Filter>> ReadPatterns(const std::string& path, std::string* error) {
  std::ifstream file(path);
  std::vector<Filter> filters;
  std::string line, fault;
  for (uint32_t number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    auto filter = Filter::CloudWatch(line, &fault);
    if (!filter) {
      *error = path + ":" + std::to_string(number) + ": " + fault;
      return std::nullopt;
    }
    filters.push_back(*std::move(filter));
  }
  if (!filters.empty() && filters.size() <= engine::logmon::kMaxFilters) return filters;
  *error = "file: give a file with 1 to " + std::to_string(engine::logmon::kMaxFilters) +
           " patterns, one per line: " + path;
  return std::nullopt;
}

std::unique_ptr<Executor> MakeLineFilter(const StageOptions& options, std::string* error) {
  static constexpr std::array<std::string_view, 1> kNames = {"file"};
  const auto read = OptionText::Read(options.text, kNames, error);
  if (!read) return nullptr;
  auto filters = ReadPatterns(std::string(read->Value("file")), error);
  if (!filters) return nullptr;
  auto rules = RuleSet::Compile(*std::move(filters), error);
  if (rules == nullptr) return nullptr;
  return std::make_unique<LineFilter>(std::move(rules), options.max_message);
}

}  // namespace

const StageKind kRegexStage = {
    .name = "regex",
    .what =
        "matches lines against CloudWatch Logs patterns, including %regex%; command 1 keeps the "
        "lines that match, 2 keeps all lines and counts matches in key0; option: file (one pattern "
        "per line)",
    .make = MakeLineFilter,
    .refusals = {"too_long", "bad_command"}};

}  // namespace sluice::chain_app
