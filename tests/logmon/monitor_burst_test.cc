// SPDX-License-Identifier: BSD-3-Clause
//
// Sends random traffic from several senders to a monitor, both as single frames and in bursts of
// any size. The matches and their order, the outcome of each frame, and the counters must be equal
// in both forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/logmon/monitor.h"
#include "logmon/frames.h"
#include "logmon/line_oracle.h"
#include "packet/memory_burst.h"

namespace sluice::engine::logmon {
namespace {

using test::Bytes;
using test::MakeFrame;
using test::TextFrame;

constexpr uint16_t kSyslogPort = 514, kLinePort = 2000, kTcpPort = 443;
constexpr uint32_t kSenders = 7;

struct Seen {
  packet::FlowKey flow;
  Transport transport;
  std::string line, filters, hostname, app;
  bool truncated, syslog;
  uint64_t now;

  bool operator==(const Seen&) const = default;
};

struct Recorder {
  std::vector<Seen> seen;

  void OnMatch(const Source& source, const SyslogHeader* header, const MatchedLine& line,
               uint64_t now) {
    seen.push_back({source.flow, source.transport, std::string(line.text),
                    test::Numbers(line.filters), std::string(header ? header->hostname : ""),
                    std::string(header ? header->app : ""), line.truncated, header != nullptr,
                    now});
  }
};

std::unique_ptr<const RuleSet> Rules(bool every_line) {
  std::vector<Filter> filters;
  std::string error;
  for (const char* pattern : {"ERROR", "foo -bar", "?alpha ?omega", "{ $.a = 1 }"}) {
    filters.push_back(Filter::CloudWatch(pattern, &error).value());
  }
  filters.push_back(Filter::Regex("^foo.*bar$", &error).value());
  if (every_line) filters.push_back(Filter::CloudWatch("", &error).value());
  return RuleSet::Compile(std::move(filters), &error);
}

/// Returns words with line ends of all kinds. Few of the words match.
std::string RandomText(std::mt19937& random, size_t bytes) {
  static constexpr const char* kPieces[] = {
      "ERROR", "ERR", "foo",       " bar", "alpha",
      "omega", " ",   "{\"a\":1}", "x",    "some words of no interest ",
      "1"};
  static constexpr const char* kEnds[] = {"\n", "\n", "\n", "\r\n", "\r", "\n\n"};
  std::string text;
  while (text.size() < bytes) {
    for (uint32_t words = random() % 9; words > 0; --words) {
      text += kPieces[random() % std::size(kPieces)];
    }
    if (random() % 60 == 0) text.append(random() % 1500, '-');
    text += kEnds[random() % std::size(kEnds)];
  }
  return text;
}

/// Returns a sender's datagrams or segments in order. Some segments are lost, repeated or late.
std::vector<Bytes> FramesOf(uint32_t sender, std::mt19937& random) {
  const std::string text = RandomText(random, 6000);
  const bool tcp = sender % 3 == 1, syslog = sender % 3 == 2, ipv6 = sender % 4 == 3;
  TextFrame from{.tcp = tcp,
                 .ipv6 = ipv6,
                 .vlan = sender % 5 == 4,
                 .sender = sender,
                 .destination_port = tcp      ? kTcpPort
                                     : syslog ? kSyslogPort
                                              : kLinePort};
  std::vector<Bytes> frames;
  if (syslog) {
    uint32_t number = 0;
    for (const std::string& line : test::SplitLines(text)) {
      const std::string message =
          (random() % 9 ? "<13>May  2 10:11:12 h" + std::to_string(number++) + " app[7]: " : "") +
          line;
      from.text = message;
      frames.push_back(MakeFrame(from));
    }
    return frames;
  }
  from.sequence = 0xfffff000;
  if (tcp) {
    from.flags = TcpSegment::kSyn;
    frames.push_back(MakeFrame(from));
    from.flags = 0x10;
    ++from.sequence;
  }
  const uint32_t most = random() % 2 ? 60 : 1460;
  for (size_t at = 0; at < text.size();) {
    const std::string part = text.substr(at, 1 + random() % most);
    from.text = part;
    if (!tcp || random() % 30 != 0) frames.push_back(MakeFrame(from));
    if (tcp && random() % 20 == 0) frames.push_back(frames.back());
    at += part.size();
    from.sequence += static_cast<uint32_t>(part.size());
  }
  if (tcp) {
    for (size_t i = 2; i < frames.size(); ++i) {
      if (random() % 15 == 0) std::swap(frames[i - 1], frames[i]);
    }
    from.text = "";
    from.flags = random() % 2 ? TcpSegment::kFin : TcpSegment::kRst;
    frames.push_back(MakeFrame(from));
  }
  return frames;
}

/// Returns the frames of all senders, interleaved; some are damaged.
std::vector<Bytes> Traffic(uint32_t seed) {
  std::mt19937 random(seed);
  std::array<std::vector<Bytes>, kSenders> senders;
  for (uint32_t i = 0; i < kSenders; ++i) senders[i] = FramesOf(i, random);
  std::array<size_t, kSenders> next{};
  std::vector<Bytes> frames;
  for (uint32_t left = kSenders; left > 0;) {
    const uint32_t sender = random() % kSenders;
    // Sometimes one sender has many consecutive frames.
    for (uint32_t run = random() % 8 ? 1 : 40; run > 0; --run) {
      if (next[sender] >= senders[sender].size()) break;
      Bytes frame = senders[sender][next[sender]];
      if (++next[sender] == senders[sender].size()) --left;
      const uint32_t damage = random() % 60;
      if (damage == 0) frame.resize(random() % frame.size());
      if (damage == 1) frame[random() % frame.size()] ^= static_cast<uint8_t>(1 + random() % 255);
      if (damage == 2) frame[14 + 6] |= 0x20;  // A fragment.
      frames.push_back(std::move(frame));
      if (damage == 3) frames.push_back(test::kVlanArp);
    }
  }
  return frames;
}

struct Outcome {
  std::vector<Seen> seen;
  std::vector<packet::Verdict> verdicts;
  std::array<uint64_t, SourceCounters::kEvents> events;
  ScanCounters scan;
};

/// Processes the frames. `rests` contains the numbers of frames after which AtRest is called, which
/// also ends a burst. `most` is the maximum size of a burst.
Outcome OutcomeOf(const RuleSet& rules, const MonitorOptions& options,
                  std::span<const Bytes> frames, std::span<const size_t> rests, uint32_t most,
                  uint32_t seed) {
  std::mt19937 random(seed);
  Monitor<Recorder> monitor(rules, options, Recorder(), 42);
  Outcome outcome;
  uint64_t now = 1'000'000'000;
  size_t at = 0;
  for (const size_t rest : rests) {
    while (at < rest) {
      const size_t size = std::min<size_t>(1 + random() % most, rest - at);
      test::MemoryBurst burst(frames.subspan(at, size));
      monitor.ProcessBurst(burst, now);
      outcome.verdicts.insert(outcome.verdicts.end(), burst.verdicts().begin(),
                              burst.verdicts().end());
      for (uint32_t i = 0; i < size; ++i) EXPECT_EQ(burst.bytes(i), frames[at + i]);
      at += size;
    }
    now += 400;
    monitor.AtRest(now);
  }
  monitor.Finish(now);
  outcome.seen = std::move(monitor.sink().seen);
  for (uint32_t i = 0; i < SourceCounters::kEvents; ++i) {
    outcome.events[i] = monitor.counters().Load(static_cast<SourceCounters::Event>(i));
  }
  outcome.scan = monitor.scan_counters();
  EXPECT_EQ(monitor.scanner().unfinished_bytes(), 0u);
  return outcome;
}

void ExpectSame(const Outcome& found, const Outcome& expected) {
  ASSERT_EQ(found.verdicts, expected.verdicts);
  ASSERT_EQ(found.seen.size(), expected.seen.size());
  for (size_t i = 0; i < found.seen.size(); ++i) {
    ASSERT_EQ(found.seen[i], expected.seen[i]) << i << ": " << expected.seen[i].line;
  }
  for (uint32_t i = 0; i < SourceCounters::kEvents; ++i) {
    EXPECT_EQ(found.events[i], expected.events[i]) << SourceCounters::kNames[i];
  }
  EXPECT_EQ(found.scan.lines, expected.scan.lines);
  EXPECT_EQ(found.scan.matched_lines, expected.scan.matched_lines);
  EXPECT_EQ(found.scan.asked, expected.scan.asked);
  EXPECT_EQ(found.scan.truncated_lines, expected.scan.truncated_lines);
  EXPECT_EQ(found.scan.torn_lines, expected.scan.torn_lines);
  EXPECT_EQ(found.scan.no_memory_lines, expected.scan.no_memory_lines);
}

TEST(MonitorBursts, SayWhatTheirFramesSayOneByOne) {
  uint64_t gaps = 0, evicted = 0, truncated = 0, no_memory = 0, torn = 0;
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    MonitorOptions options;
    options.syslog_ports = {kSyslogPort};
    options.line_ports = {kLinePort};
    options.tcp_ports = {kTcpPort};
    options.pass_on = seed % 5 == 0;
    options.max_sources = seed % 3 == 0 ? 3 : 100;
    options.out_of_order_bytes = 1 << 16;
    options.gap_cycles = 1000;
    options.idle_cycles = seed % 4 == 0 ? 700 : 0;
    options.scan.line_bytes = seed % 2 ? 256 : 65536;
    options.scan.unfinished_bytes = seed % 6 == 1 ? 1024 : 1 << 20;
    const auto rules = Rules(seed % 2 == 0);
    const std::vector<Bytes> frames = Traffic(seed);
    std::mt19937 random(seed);
    std::vector<size_t> rests;
    for (size_t at = 0; at < frames.size(); at += 1 + random() % 300) rests.push_back(at);
    rests.push_back(frames.size());
    const Outcome expected = OutcomeOf(*rules, options, frames, rests, 1, 1);
    ASSERT_GT(expected.seen.size(), 100u);
    for (const uint32_t most : {3u, 128u, 100'000u}) {
      SCOPED_TRACE(most);
      ExpectSame(OutcomeOf(*rules, options, frames, rests, most, seed), expected);
      if (HasFatalFailure()) return;
    }
    gaps += expected.events[SourceCounters::kGaps];
    evicted += expected.events[SourceCounters::kEvictedSources];
    truncated += expected.scan.truncated_lines;
    no_memory += expected.scan.no_memory_lines;
    torn += expected.scan.torn_lines;
  }
  // Each of these events must have occurred.
  for (const uint64_t count : {gaps, evicted, truncated, no_memory, torn}) EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace sluice::engine::logmon
