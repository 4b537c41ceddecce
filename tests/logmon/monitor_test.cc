// SPDX-License-Identifier: BSD-3-Clause
//
// Tests complete monitors, from frames to matches, with all transports. The filters are plain
// terms, so the test can search for them line by line to get the expected result. Other tests cover
// the filter syntax.
#include "engine/logmon/monitor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "logmon/frames.h"
#include "packet/burst.h"

namespace sluice::engine::logmon {
namespace {

using packet::Action;
using test::Bytes;
using test::MakeFrame;
using test::TextFrame;
using Counter = SourceCounters;

constexpr uint16_t kSyslogPort = 514, kLinePort = 2000, kTcpPort = 443;
constexpr uint8_t kSyn = TcpSegment::kSyn, kFin = TcpSegment::kFin;

/// Numbers of lines: with "ERROR", with "timeout", and in total.
using Counts = std::array<uint64_t, 3>;

struct Match {
  Source source;
  std::string line, hostname, app;
  bool syslog;
};
struct TestSink {
  Counts counts{};
  Match last;

  void OnMatch(const Source& source, const SyslogHeader* header, const MatchedLine& line,
               uint64_t) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += line.filters[i];
    last = {source, std::string(line.text), std::string(header ? header->hostname : ""),
            std::string(header ? header->app : ""), header != nullptr};
  }
};

std::unique_ptr<const RuleSet> Rules() {
  std::vector<Filter> filters;
  std::string error;
  for (const char* pattern : {"ERROR", "timeout", ""}) {
    filters.push_back(Filter::CloudWatch(pattern, &error).value());
  }
  return RuleSet::Compile(std::move(filters), &error);
}

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() { Restart(Options()); }

  static MonitorOptions Options() {
    MonitorOptions options;
    options.syslog_ports = {kSyslogPort};
    options.line_ports = {kLinePort};
    options.tcp_ports = {kTcpPort};
    options.max_sources = 1000;
    options.out_of_order_bytes = 1 << 20;
    options.gap_cycles = 1000;
    options.idle_cycles = 1'000'000;
    options.scan.unfinished_bytes = 1 << 20;
    return options;
  }
  void Restart(const MonitorOptions& options) {
    monitor_.reset();
    monitor_ = std::make_unique<Monitor<TestSink>>(*rules_, options, TestSink(), 42);
  }

  packet::Verdict Process(const Bytes& bytes) {
    const test::ExactBuffer buffer(bytes);
    packet::Frame frame{buffer.data(), buffer.size(), 0, 0};
    const packet::Verdict verdict = packet::ProcessFrame(*monitor_, frame, now_);
    EXPECT_EQ(buffer.bytes(), bytes);
    return verdict;
  }
  packet::Verdict Process(const TextFrame& frame) { return Process(MakeFrame(frame)); }
  packet::Verdict Line(std::string_view text, uint32_t sender = 1) {
    return Process(TextFrame{.text = text, .sender = sender, .destination_port = kLinePort});
  }
  packet::Verdict Segment(uint32_t sequence, std::string_view text, uint8_t flags = 0x10) {
    return Process(TextFrame{.text = text,
                             .tcp = true,
                             .destination_port = kTcpPort,
                             .sequence = sequence,
                             .flags = flags});
  }
  Counts Seen() { return std::exchange(monitor_->sink().counts, Counts()); }
  uint64_t Count(Counter::Event event) const { return monitor_->counters().Load(event); }

  const std::unique_ptr<const RuleSet> rules_ = Rules();
  std::unique_ptr<Monitor<TestSink>> monitor_;
  uint64_t now_ = 1'000'000'000;
};

/// A log and its expected counts.
struct Log {
  std::vector<std::string> lines;
  Counts counts{};

  explicit Log(uint32_t seed, uint32_t count) {
    static constexpr const char* kWords[] = {"ERROR",    "timeout",  "INFO",     "user=7",
                                             "10.0.0.1", "E",        "RROR",     "time",
                                             "out",      "\xc3\xa4", "{\"a\":1}"};
    std::mt19937 random(seed);
    for (uint32_t i = 0; i < count; ++i) {
      std::string line;
      for (uint32_t words = random() % 12; words > 0; --words) {
        line += kWords[random() % std::size(kWords)];
        if (random() % 4 != 0) line += ' ';
      }
      counts[0] += line.find("ERROR") != line.npos;
      counts[1] += line.find("timeout") != line.npos;
      counts[2] += 1;
      lines.push_back(std::move(line));
    }
  }
  std::string Text(std::string_view end = "\n") const {
    std::string text;
    for (const std::string& line : lines) text.append(line).append(end);
    return text;
  }
};

TEST_F(MonitorTest, CountsTheSameTextAlikeOnAllTransports) {
  const Log log(1, 2000);
  ASSERT_GT(log.counts[0], 100u);
  for (const bool ipv6 : {false, true}) {
    for (const char* header :
         {"<13>1 2024-05-02T10:11:12.123456+02:00 h root - - [timeQuality tzKnown=\"1\"] ",
          "<13>1 2024-05-02T10:11:12.123456+02:00 h root - - - \xef\xbb\xbf",
          "<13>May  2 10:11:12 h root[12]: "}) {
      for (const std::string& line : log.lines) {
        const std::string datagram = header + line;
        EXPECT_EQ(Process(TextFrame{.text = datagram, .ipv6 = ipv6}), packet::kConsume);
      }
      EXPECT_EQ(Seen(), log.counts) << header;
    }
    for (const char* end : {"\n", "\r\n"}) {
      const std::string text = log.Text(end);
      for (const size_t chunk : {1, 7, 64, 1472, 8972}) {
        for (size_t at = 0; at < text.size(); at += chunk) {
          const std::string part = text.substr(at, chunk);
          Process(TextFrame{.text = part,
                            .ipv6 = ipv6,
                            .vlan = true,
                            .source_port = static_cast<uint16_t>(chunk),
                            .destination_port = kLinePort});
        }
        EXPECT_EQ(Seen(), log.counts) << chunk;
        Process(TextFrame{.tcp = true,
                          .ipv6 = ipv6,
                          .destination_port = kTcpPort,
                          .sequence = 0xffff0000,
                          .flags = kSyn});
        for (size_t at = 0; at < text.size(); at += 2 * chunk) {
          // Swaps the two segments of each pair and repeats one of them.
          for (const size_t begin : {at + chunk, at, at + chunk}) {
            if (begin >= text.size()) continue;
            const std::string part = text.substr(begin, chunk);
            Process(TextFrame{.text = part,
                              .tcp = true,
                              .ipv6 = ipv6,
                              .destination_port = kTcpPort,
                              .sequence = 0xffff0001 + static_cast<uint32_t>(begin)});
          }
        }
        Process(TextFrame{.tcp = true,
                          .ipv6 = ipv6,
                          .destination_port = kTcpPort,
                          .sequence = 0xffff0001 + static_cast<uint32_t>(text.size()),
                          .flags = kFin});
        EXPECT_EQ(Seen(), log.counts) << chunk;
        // The next round reuses the ports and sequence numbers, so it needs a new monitor.
        Restart(Options());
      }
    }
  }
}

/// The rules expect the host name and the tag, without the time stamp.
TEST_F(MonitorTest, ShowsSyslogToFiltersOfFail2banAsLinesOfAFile) {
  const std::string path = testing::TempDir() + "sshd-" + std::to_string(getpid());
  std::ofstream(path) << "[Definition]\nprefregex = ^\\s*web1 sshd(?:\\[\\d+\\])?:?\\s<F-CONTENT>.+"
                         "</F-CONTENT>$\nfailregex = ^Failed password for root from <HOST> port\n";
  std::vector<std::string> skipped_rules;
  std::string error;
  std::vector<Filter> filters;
  filters.push_back(Filter::Fail2ban(path, &skipped_rules, &error).value());
  unlink(path.c_str());
  filters.push_back(Filter::CloudWatch("sshd", &error).value());
  filters.push_back(Filter::CloudWatch("Failed", &error).value());
  const auto rules = RuleSet::Compile(std::move(filters), &error);
  ASSERT_TRUE(rules) << error;
  Monitor<TestSink> monitor(*rules, Options(), TestSink(), 42);
  const auto process = [&](std::string_view text) {
    const test::ExactBuffer buffer(MakeFrame(TextFrame{.text = text}));
    packet::Frame frame{buffer.data(), buffer.size(), 0, 0};
    packet::ProcessFrame(monitor, frame, now_);
  };
  const std::string text = "Failed password for root from 192.0.2.8 port 4711 ssh2";
  for (int i = 0; i < 10; ++i) process("<86>Nov 26 22:14:00 web1 sshd[4711]: " + text);
  EXPECT_EQ(monitor.sink().counts, (Counts{10, 0, 10}));
  EXPECT_EQ(monitor.sink().last.line, text);
  process("<86>1 2026-11-26T22:14:00Z web1 sshd 4711 - - " + text + "\n");
  EXPECT_EQ(monitor.sink().counts, (Counts{11, 0, 11}));
  process("<86>1 2026-11-26T22:14:00Z web1 cron 4711 - - " + text);
  EXPECT_EQ(monitor.sink().counts, (Counts{11, 0, 12}));
}

TEST_F(MonitorTest, NamesTheSourceAndWhatSyslogSaysOfIt) {
  Process(TextFrame{.text = "<11>May  2 10:11:12 web1 shop[3]: ERROR", .source_port = 4711});
  const Match syslog = monitor_->sink().last;
  EXPECT_TRUE(syslog.syslog);
  EXPECT_EQ(syslog.line, "ERROR");
  EXPECT_EQ(syslog.hostname, "web1");
  EXPECT_EQ(syslog.app, "shop");
  EXPECT_EQ(syslog.source.transport, Transport::kSyslog);
  EXPECT_EQ(syslog.source.flow.source_port, 0);  // The source is the sender's address alone.
  EXPECT_EQ(syslog.source.flow.destination_port, kSyslogPort);
  Line("ERROR\n", 9);
  EXPECT_FALSE(monitor_->sink().last.syslog);
  EXPECT_EQ(monitor_->sink().last.source.transport, Transport::kLines);
  EXPECT_EQ(monitor_->sink().last.source.flow.source[3], 9);
  EXPECT_EQ(monitor_->sink().last.source.flow.source_port, 4000);
  Segment(0, "ERROR\n", kSyn);
  EXPECT_EQ(monitor_->sink().last.source.transport, Transport::kTcp);
}

TEST_F(MonitorTest, CountsAMessageWithoutTextAsAnEmptyLine) {
  for (const char* message : {"", "<13>", "<13>1 - - - - - -", "<13>May  2 10:11:12 h root: "}) {
    Process(TextFrame{.text = message});
    EXPECT_EQ(Seen(), (Counts{0, 0, 1})) << message;
  }
}

TEST_F(MonitorTest, ReadsFixturesOfEveryKindToTheirEnding) {
  MonitorOptions options = Options();
  options.line_ports = {2000};
  options.tcp_ports = {443};
  for (const bool pass_on : {false, true}) {
    options.pass_on = pass_on;
    const auto expect = [&](const Bytes& frame, packet::Verdict verdict, uint64_t text_bytes) {
      Restart(options);
      EXPECT_EQ(Process(frame), pass_on ? packet::kForward : verdict);
      EXPECT_EQ(Count(Counter::kTextBytes), text_bytes);
    };
    for (const Bytes& udp :
         {test::kUdp4, test::kUdp4NoChecksum, test::kUdp4IpOptions, test::kVlanUdp4,
          test::kQinQUdp6, test::kUdp6, test::kUdp6Authenticated}) {
      expect(udp, packet::kConsume, 18);
    }
    expect(test::kUdp4Empty, packet::kConsume, 0);  // Padding is not text.
    expect(test::kTcp4Syn, packet::kConsume, 0);
    expect(test::kTcp4Options, packet::kConsume, 5);
    expect(test::kTcp6Extensions, packet::kConsume, 3);
    expect(test::kUdp6Routed, packet::kPass, 0);  // Not yet at its final destination.
    expect(test::kPing4, packet::kPass, 0);
    expect(test::kVlanArp, packet::kPass, 0);
    for (const Bytes& fragment : {test::kUdp4FirstFragment, test::kUdp4LaterFragment,
                                  test::kUdp6FirstFragment, test::kUdp6LaterFragment}) {
      expect(fragment, packet::Drop(Monitor<TestSink>::kFragment), 0);
    }
    Bytes unsummed = test::kUdp6;
    unsummed[14 + 40 + 6] = unsummed[14 + 40 + 7] = 0;
    expect(unsummed, packet::Drop(Monitor<TestSink>::kBadChecksum), 0);
    Bytes cut = test::kUdp4;
    cut.resize(40);
    expect(cut, packet::Drop(Monitor<TestSink>::kMalformed), 0);
    expect({}, packet::Drop(Monitor<TestSink>::kMalformed), 0);
  }
}

TEST_F(MonitorTest, MatchesNoTextThatWasCorrupted) {
  for (const bool tcp : {false, true}) {
    for (const bool ipv6 : {false, true}) {
      const Bytes whole = MakeFrame({.text = "ERROR\n",
                                     .tcp = tcp,
                                     .ipv6 = ipv6,
                                     .destination_port = tcp ? kTcpPort : kLinePort});
      for (size_t i = whole.size() - 6; i < whole.size(); ++i) {
        Bytes bent = whole;
        bent[i] ^= 0x20;
        EXPECT_EQ(Process(bent), packet::Drop(Monitor<TestSink>::kBadChecksum));
      }
      EXPECT_EQ(Seen(), Counts());
      EXPECT_EQ(Process(whole), packet::kConsume);
      // The monitor joins a stream in the middle of a line.
      EXPECT_EQ(Seen(), tcp ? Counts() : (Counts{1, 0, 1}));
    }
  }
}

TEST_F(MonitorTest, PassesWhatIsForOtherPortsWhateverItsChecksum) {
  Bytes frame = MakeFrame({.text = "ERROR\n", .destination_port = 515});
  frame.back() ^= 1;
  EXPECT_EQ(Process(frame), packet::kPass);
  // Each port accepts only one protocol.
  EXPECT_EQ(Process(TextFrame{.text = "ERROR\n", .tcp = true, .destination_port = kLinePort}),
            packet::kPass);
  EXPECT_EQ(Process(TextFrame{.text = "ERROR\n", .destination_port = kTcpPort}), packet::kPass);
  EXPECT_EQ(Seen(), Counts());
  EXPECT_EQ(Count(Counter::kOther), 3u);
}

TEST_F(MonitorTest, FindsInPlainFramesWhatItFindsInTagged) {
  const std::vector<uint16_t> syslog{kSyslogPort}, lines{kLinePort}, tcp{kTcpPort};
  const TextFinder finder(syslog, lines, tcp);
  std::mt19937 random(5);
  const std::string text = "a text of some length";
  for (int round = 0; round < 20'000; ++round) {
    const bool is_tcp = random() % 2 == 0;
    TextFrame from{.text = std::string_view(text).substr(random() % text.size()),
                   .tcp = is_tcp,
                   .destination_port = is_tcp ? kTcpPort : kLinePort,
                   .sequence = 77};
    Bytes plain = MakeFrame(from);
    from.vlan = true;
    Bytes tagged = MakeFrame(from);
    // Applies the same damage to both frames after the EtherType, and truncates both equally.
    for (uint32_t edits = random() % 3; edits > 0; --edits) {
      const size_t at = 14 + random() % (plain.size() - 14);
      plain[at] = tagged[at + 4] = static_cast<uint8_t>(random());
    }
    if (random() % 8 == 0) {
      const size_t cut = random() % (plain.size() - 14);
      plain.resize(plain.size() - cut);
      tagged.resize(tagged.size() - cut);
    }
    const test::ExactBuffer one(plain), other(tagged);
    FoundText a, b;
    finder.Find(one.data(), one.size(), a);
    finder.Find(other.data(), other.size(), b);
    ASSERT_EQ(a.kind, b.kind) << round;
    if (a.kind != FoundText::Kind::kText) continue;
    const auto holds = [](const FoundText& found, const uint8_t* frame) {
      return found.Holds(packet::SumBytes(frame + found.payload, found.payload_bytes));
    };
    ASSERT_EQ(holds(a, one.data()), holds(b, other.data())) << round;
    EXPECT_EQ(a.flow, b.flow);
    EXPECT_EQ(a.transport, b.transport);
    EXPECT_EQ(a.sequence, b.sequence);
    EXPECT_EQ(a.tcp_flags, b.tcp_flags);
    EXPECT_EQ(a.Payload(one.data()), b.Payload(other.data()));
  }
}

TEST_F(MonitorTest, JoinsNothingAcrossAGapAndSkipsTheTornLine) {
  Segment(0, "", kSyn);
  Segment(1, "ERR");
  Segment(10, "OR\nERROR\n");  // Bytes 4 … 9 are missing.
  EXPECT_EQ(Seen(), Counts());
  now_ += 500;
  monitor_->AtRest(now_);
  EXPECT_EQ(Seen(), Counts());
  now_ += 501;
  for (int i = 0; i < 1000; ++i) monitor_->AtRest(now_);  // Each call handles a few sources.
  EXPECT_EQ(Seen(), (Counts{1, 0, 1}));
  EXPECT_EQ(Count(Counter::kGaps), 1u);
  EXPECT_EQ(Count(Counter::kGapBytes), 6u);
  EXPECT_EQ(monitor_->tcp().pool().used_blocks(), 0u);
}

// RFC 9293 section 3.1 and RFC 7323 section 2.2: the receiver accepts 512 << 9 bytes. A segment
// that ends at the edge of this window arrives before the missing segment.
TEST_F(MonitorTest, WaitsForLateSegmentsAsFarAsTheReceiverAccepts) {
  using namespace std::string_view_literals;
  constexpr uint32_t kSegments = 200;
  std::string line = "ERROR " + std::string(1000, 'x');
  line.back() = '\n';
  const auto bytes = static_cast<uint32_t>(line.size());
  uint32_t others = 0;
  for (const bool ipv6 : {false, true}) {
    for (const bool vlan : {false, true}) {
      TextFrame text{.tcp = true,
                     .ipv6 = ipv6,
                     .vlan = vlan,
                     .sender = 1 + others,
                     .destination_port = kTcpPort,
                     .sequence = 1000,
                     .flags = kSyn};
      TextFrame back = text;
      std::swap(back.source_port, back.destination_port);
      back.back = true;
      back.flags = kSyn | 0x10;
      back.acknowledged = 1001;
      back.options = "\x02\x04\x05\xb4\x01\x03\x03\x09"sv;
      EXPECT_EQ(Process(text), packet::kConsume);
      EXPECT_EQ(Process(back), packet::kPass);
      back.flags = 0x10;
      back.window = 512;
      back.options = "";
      EXPECT_EQ(Process(back), packet::kPass);
      others += 2;
      text.flags = 0x10;
      text.text = line;
      for (uint32_t i = 1; i <= kSegments; ++i) {
        text.sequence = 1001 + i % kSegments * bytes;
        EXPECT_EQ(Process(text), packet::kConsume);
      }
      EXPECT_EQ(Seen()[0], kSegments) << ipv6 << vlan;
    }
  }
  EXPECT_EQ(Count(Counter::kGaps), 0u);
  EXPECT_EQ(Count(Counter::kOther), others);
}

TEST_F(MonitorTest, ReadsNoOptionsOfTheReceiverBeyondItsHeader) {
  using namespace std::string_view_literals;
  for (const std::string_view options :
       {"\x03\x03\x07\x00"sv, "\x03\x00\x07\x00"sv, "\x03\x01\x07\x00"sv, "\x03\xff\x07\x00"sv,
        "\x01\x01\x01\x03"sv, "\x01\x01\x03\x03"sv, "\x00\x03\x03\x07"sv, "\x05\x04\x03\x03"sv}) {
    TextFrame back{.tcp = true,
                   .source_port = kTcpPort,
                   .destination_port = 4000,
                   .flags = kSyn | 0x10,
                   .back = true,
                   .options = options};
    EXPECT_EQ(Process(back), packet::kPass);
    const TextFinder finder({}, {}, std::array{kTcpPort});
    const test::ExactBuffer buffer(MakeFrame(back));
    FoundText found;
    finder.Find(buffer.data(), buffer.size(), found);
    EXPECT_EQ(found.kind, FoundText::Kind::kWindow);
    EXPECT_EQ(found.window.shift, options == "\x03\x03\x07\x00"sv ? 7 : 0);
  }
}

TEST_F(MonitorTest, SkipsTheLineInWhichItJoinsAStream) {
  Segment(1000, "ERROR half\nERROR whole\n");
  EXPECT_EQ(Seen(), (Counts{1, 0, 1}));
  EXPECT_EQ(monitor_->sink().last.line, "ERROR whole");
}

TEST_F(MonitorTest, EndsTheLastLineOfAStreamWithFinAndReset) {
  Segment(0, "", kSyn);
  Segment(1, "ERROR", kFin);
  EXPECT_EQ(Seen(), (Counts{1, 0, 1}));
  Segment(50, "", kSyn);
  Segment(51, "timeout");
  Segment(58, "", TcpSegment::kRst);
  EXPECT_EQ(Seen(), (Counts{0, 1, 1}));
}

TEST_F(MonitorTest, BeginsAFreshLineWhenAPortIsUsedAgain) {
  Segment(0, "", kSyn);
  Segment(1, "ERR");
  Segment(0x50000000, "", kSyn);
  Segment(0x50000001, "OR\nERROR\n");
  EXPECT_EQ(Seen(), (Counts{1, 0, 2}));
}

TEST_F(MonitorTest, EndsTheLastLineOfDatagramsWhenTheirSourceFallsSilent) {
  Line("ERROR");
  now_ += 1'000'000;
  monitor_->AtRest(now_);
  EXPECT_EQ(Seen(), Counts());
  monitor_->AtRest(now_ + 1);
  EXPECT_EQ(Seen(), (Counts{1, 0, 1}));
  EXPECT_EQ(monitor_->sources(), 0u);
  EXPECT_EQ(Count(Counter::kIdleSources), 1u);
  // An idle stream has not ended.
  Segment(0, "ERROR", kSyn);
  monitor_->AtRest(now_ + 2'000'000);
  EXPECT_EQ(monitor_->sources(), 0u);
  EXPECT_EQ(Seen(), Counts());
  EXPECT_EQ(monitor_->scan_counters().torn_lines, 1u);
}

TEST_F(MonitorTest, EndsAllLinesOfDatagramsAtItsEnd) {
  Line("ERROR", 1);
  Line("timeout", 2);
  monitor_->Finish(now_);
  EXPECT_EQ(Seen(), (Counts{1, 1, 2}));
  EXPECT_EQ(monitor_->sources(), 0u);
}

TEST_F(MonitorTest, EvictsTheOldestSourceWithItsUnfinishedLine) {
  MonitorOptions options = Options();
  options.max_sources = 4;
  Restart(options);
  for (uint32_t sender = 1; sender <= 4; ++sender) Line("ERR", sender), Line("O", sender);
  EXPECT_GT(monitor_->scanner().unfinished_bytes(), 0u);
  Line("x\n", 5);
  EXPECT_EQ(Count(Counter::kEvictedSources), 1u);
  Seen();
  for (uint32_t sender = 2; sender <= 4; ++sender) Line("R\n", sender);
  EXPECT_EQ(Seen(), (Counts{3, 0, 3}));
  EXPECT_EQ(monitor_->scan_counters().torn_lines, 1u);
  EXPECT_EQ(monitor_->scanner().unfinished_bytes(), 0u);
}

TEST_F(MonitorTest, KeepsWorkingStreamsThroughAScanOfPortsAndForgetsTheScan) {
  Segment(0, "", kSyn);
  Segment(1, "ERR");
  for (uint32_t i = 0; i < 20'000; ++i) {
    Process(TextFrame{.tcp = true,
                      .sender = 1000 + i,
                      .destination_port = kTcpPort,
                      .sequence = i,
                      .flags = kSyn});
  }
  EXPECT_EQ(monitor_->sources(), 1000u);
  EXPECT_EQ(Count(Counter::kEvictedSources), 20'001u - 1000u);
  Segment(4, "OR\n");
  EXPECT_EQ(Seen(), (Counts{1, 0, 1}));
  // Segments without text that belong to no known stream use no memory.
  Restart(Options());
  for (const uint8_t flags : {0x10, 0x04, 0x01, 0x14, 0x11, 0x00}) Segment(7, "", flags);
  EXPECT_EQ(monitor_->sources(), 0u);
}

TEST_F(MonitorTest, HoldsAHundredThousandUnfinishedLinesIn64MiB) {
  constexpr uint32_t kSources = 100'000;
  MonitorOptions options;  // Default options.
  options.line_ports = {kLinePort};
  Restart(options);
  const uint64_t bytes = monitor_->memory_bytes() + options.scan.unfinished_bytes;
  std::printf("state of %u sources: %.1f MiB with all that waits and all unfinished lines\n",
              kSources, static_cast<double>(bytes) / (1 << 20));
  EXPECT_LE(bytes, uint64_t{64} << 20);
  EXPECT_GE(options.max_sources, kSources);
  for (const char* part : {"a line of some length with ERR", "OR in the middle", " of it\n"}) {
    for (uint32_t i = 0; i < kSources; ++i) Line(part, i);
  }
  EXPECT_EQ(Seen(), (Counts{kSources, 0, kSources}));
  EXPECT_EQ(Count(Counter::kEvictedSources), 0u);
  EXPECT_EQ(monitor_->scan_counters().no_memory_lines, 0u);
  EXPECT_EQ(monitor_->sources(), kSources);
}

TEST_F(MonitorTest, GivesEveryFrameOneEndingAndEveryReasonAName) {
  EXPECT_EQ(Monitor<TestSink>::kDropReasons.size(), size_t{Monitor<TestSink>::kReasons});
  for (const std::string_view name : Counter::kNames) EXPECT_FALSE(name.empty());
  std::array<uint64_t, 4> endings{};
  for (const test::Fixture& fixture : test::kFixtures) {
    ++endings[static_cast<size_t>(Process(*fixture.bytes).action)];
  }
  EXPECT_EQ(endings[static_cast<size_t>(Action::kForward)], 0u);
  EXPECT_EQ(endings[static_cast<size_t>(Action::kDrop)],
            Count(Counter::kMalformed) + Count(Counter::kFragments) + Count(Counter::kBadChecksum));
  EXPECT_EQ(endings[static_cast<size_t>(Action::kPass)], Count(Counter::kOther));
  EXPECT_EQ(endings[static_cast<size_t>(Action::kConsume)], Count(Counter::kSyslogMessages) +
                                                                Count(Counter::kLineDatagrams) +
                                                                Count(Counter::kTcpSegments));
}

}  // namespace
}  // namespace sluice::engine::logmon
