// SPDX-License-Identifier: BSD-3-Clause
//
// fail2ban_lines: reports which lines are failures according to fail2ban's filters.
//
// Reads requests from standard input: a line with the path of a filter, a line with the number of
// following lines, and these lines. "syslog" before the number means that the lines are syslog
// messages. "stream" means that the number is the length in bytes of a TCP stream of syslog
// messages.
//
// Writes one JSON line per filter: {"rules": 5, "skipped_rules": ["rule 2: …"], "failures": [[3,
// "192.0.2.1"], …]}, with lines counted from 0; or {"error": "…"}. The scanner must agree with the
// filter evaluated on every line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/scan/line_scanner.h"
#include "engine/logmon/source/syslog.h"
#include "logmon/framed_messages.h"

namespace {

using nlohmann::json;
using sluice::engine::logmon::Filter;
using sluice::engine::logmon::LineScanner;
using sluice::engine::logmon::MatchedLine;
using sluice::engine::logmon::RuleSet;
using sluice::engine::logmon::Scratch;
using sluice::engine::logmon::SyslogMessage;
using sluice::test::FramedMessages;

/// A line. For a syslog message, `header` is the prefix that a daemon writes to its file.
struct Line {
  std::string header, text;
};

json AskAll(const Filter& filter, const std::vector<Line>& lines) {
  json failures = json::array();
  Scratch scratch;
  scratch.speaker.id = 1;
  for (size_t i = 0; i < lines.size(); ++i) {
    scratch.speaker.header = lines[i].header;
    if (filter.Matches(lines[i].text, scratch)) {
      failures.push_back({i, std::string(filter.HostOf(lines[i].text, scratch))});
    }
  }
  return failures;
}

/// Scans each line together with its neighbors.
json ScanAll(const RuleSet& rules, const std::vector<Line>& lines) {
  LineScanner scanner(rules, {});
  json failures = json::array();
  const auto sink = [&](const MatchedLine& line) {
    failures.push_back({line.origin, std::string(line.HostOf(0))});
  };
  for (uint32_t i = 0; i < lines.size(); ++i) {
    scanner.From({.number = i, .speaker = {.id = 1}});
    if (lines[i].header.empty()) {
      scanner.Lines(lines[i].text + '\n', sink);
    } else {
      scanner.Message(lines[i].header, lines[i].text, sink);
    }
  }
  scanner.Flush(sink);
  return failures;
}

/// A rule set with one filter, or the error message.
struct Compiled {
  std::vector<std::string> skipped_rules;
  std::string error;
  std::unique_ptr<const RuleSet> rules;

  explicit Compiled(const std::string& path) {
    auto filter = Filter::Fail2ban(path, &skipped_rules, &error);
    if (!filter) return;
    std::vector<Filter> filters;
    filters.push_back(*std::move(filter));
    rules = RuleSet::Compile(std::move(filters), &error);
  }
};

json Answer(const Compiled& compiled, const std::vector<Line>& lines) {
  if (compiled.rules == nullptr) {
    return {{"error", compiled.error}, {"left_out", compiled.skipped_rules}};
  }
  const Filter& filter = compiled.rules->filters()[0];
  json answer{{"rules", filter.rules()}, {"left_out", compiled.skipped_rules}};
  answer["failures"] = AskAll(filter, lines);
  answer["asked_always"] = compiled.rules->asked_always().any();
  if (ScanAll(*compiled.rules, lines) != answer["failures"]) {
    answer["error"] = "the scanner differs";
  }
  return answer;
}

/// Reads a stream of `bytes` bytes from standard input and returns its messages. The bytes are
/// passed in segments.
FramedMessages ReadStream(size_t bytes) {
  constexpr size_t kSegment = 1448;
  FramedMessages framed;
  std::string segment;
  for (; bytes != 0 && std::cin; bytes -= segment.size()) {
    segment.resize(std::min(bytes, kSegment));
    std::cin.read(segment.data(), static_cast<std::streamsize>(segment.size()));
    framed.Feed(segment);
  }
  return framed;
}

}  // namespace

int main() {
  std::map<std::string, Compiled> filters;  // Filters by path.
  std::string path, count;
  while (std::getline(std::cin, path) && std::getline(std::cin, count)) {
    constexpr std::string_view kSyslog = "syslog ";
    const bool is_syslog = count.starts_with(kSyslog);
    constexpr std::string_view kStream = "stream ";
    const bool is_stream = count.starts_with(kStream);
    const size_t number =
        std::strtoull(count.c_str() + (is_syslog || is_stream ? kSyslog.size() : 0), nullptr, 10);
    FramedMessages framed;
    if (is_stream) framed = ReadStream(number);
    std::vector<Line> lines(is_stream ? framed.messages.size() : number);
    for (size_t i = 0; i < lines.size(); ++i) {
      Line& line = lines[i];
      if (is_stream) {
        line.text = framed.messages[i];
      } else {
        std::getline(std::cin, line.text);
      }
      if (!is_syslog && !is_stream) continue;
      const std::string datagram = line.text;
      const SyslogMessage message = sluice::engine::logmon::ReadSyslog(datagram);
      FileHeader(message, {}, &line.header);
      line.text = message.text;
    }
    const auto handler = json::error_handler_t::replace;
    std::printf("%s\n", Answer(filters.try_emplace(path, path).first->second, lines)
                            .dump(-1, ' ', true, handler)
                            .c_str());
    std::fflush(stdout);
  }
}
