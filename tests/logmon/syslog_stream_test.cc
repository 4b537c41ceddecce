// SPDX-License-Identifier: BSD-3-Clause
//
// Tests syslog streams through a monitor, from segments to matches.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/logmon/monitor.h"
#include "logmon/frames.h"
#include "packet/burst.h"

namespace sluice::engine::logmon {
namespace {

using test::Bytes;
using Texts = std::vector<std::string>;

constexpr uint16_t kPort = 601;

/// Records the text "host app text" for each message.
struct TextSink {
  Texts texts;

  void OnMatch(const Source& source, const SyslogHeader* header, const MatchedLine& line,
               uint64_t) {
    ASSERT_NE(header, nullptr);
    EXPECT_EQ(source.transport, Transport::kSyslog);
    texts.push_back(std::string(header->hostname) + " " + std::string(header->app) + " " +
                    std::string(line.text));
  }
};

class SyslogStream : public testing::Test {
 protected:
  SyslogStream() {
    std::vector<Filter> filters;
    std::string error;
    filters.push_back(Filter::CloudWatch("", &error).value());
    rules_ = RuleSet::Compile(std::move(filters), &error);
    Restart();
  }
  void Restart() {
    MonitorOptions options;
    options.syslog_tcp_ports = {kPort};
    options.max_sources = 10;
    options.out_of_order_bytes = 1 << 16;
    options.scan = {.line_bytes = 256, .unfinished_bytes = 1 << 16};
    monitor_ = std::make_unique<Monitor<TextSink>>(*rules_, options, TextSink(), 42);
    Segment(0, "", TcpSegment::kSyn);
  }
  /// Passes a segment to the monitor. Byte 1 is the first byte of the stream.
  void Segment(uint32_t sequence, std::string_view text, uint8_t flags = 0x10) {
    const Bytes bytes = test::MakeFrame({.text = text,
                                         .tcp = true,
                                         .destination_port = kPort,
                                         .sequence = sequence,
                                         .flags = flags});
    Bytes copy = bytes;
    packet::Frame frame{copy.data(), static_cast<uint32_t>(copy.size()), 0, 0};
    packet::ProcessFrame(*monitor_, frame, 1);
  }
  Texts Seen() { return std::exchange(monitor_->sink().texts, {}); }

  std::unique_ptr<const RuleSet> rules_;
  std::unique_ptr<Monitor<TextSink>> monitor_;
};

const std::string kStream =
    "37 <13>May  2 10:11:12 web1 root: ERR\nOR"
    "<13>1 2024-05-02T10:11:12Z web2 su 1 - - failed\n";
const Texts kTexts = {"web1 root ERR OR", "web2 su failed"};

TEST_F(SyslogStream, HasTheSameMessagesWhereverSegmentsEnd) {
  for (uint32_t cut = 1; cut < kStream.size(); ++cut) {
    for (const bool late : {false, true}) {
      Restart();
      if (late) Segment(1 + cut, kStream.substr(cut));
      Segment(1, kStream.substr(0, cut));
      if (!late) Segment(1 + cut, kStream.substr(cut));
      EXPECT_EQ(Seen(), kTexts) << cut << late;
      EXPECT_EQ(monitor_->scanner().unfinished_bytes(), 0u);
    }
  }
}

TEST_F(SyslogStream, EndsALineWithTheStreamAndTearsACountedMessage) {
  for (const auto& [text, expected, torn] :
       {std::tuple<std::string, Texts, uint64_t>{"<13>May  2 10:11:12 h a: x", {"h a x"}, 0},
        {"30 <13>May  2 10:11:12 h a: x", {}, 1}}) {
    Restart();
    Segment(1, text, TcpSegment::kFin);
    EXPECT_EQ(Seen(), expected);
    EXPECT_EQ(monitor_->scan_counters().torn_lines, torn);
    EXPECT_EQ(monitor_->scanner().unfinished_bytes(), 0u);
  }
}

TEST_F(SyslogStream, KeepsTheBeginningOfAMessageThatIsTooLong) {
  const std::string front = "<13>May  2 10:11:12 h a: ";
  const std::string message = front + std::string(5000, 'x');
  const std::string stream = std::to_string(message.size()) + " " + message + front + "y\n";
  for (size_t at = 0; at < stream.size(); at += 1000) {
    Segment(static_cast<uint32_t>(1 + at), std::string_view(stream).substr(at, 1000));
  }
  EXPECT_EQ(Seen(), (Texts{"h a " + std::string(256, 'x'), "h a y"}));
  EXPECT_EQ(monitor_->scan_counters().truncated_lines, 1u);
  EXPECT_EQ(monitor_->scanner().unfinished_bytes(), 0u);
}

}  // namespace
}  // namespace sluice::engine::logmon
