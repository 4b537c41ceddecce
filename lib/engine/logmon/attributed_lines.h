// SPDX-License-Identifier: BSD-3-Clause
//
// Text on its way to one worker's scanner, and who wrote it: lines of many writers are matched
// together, long after they came, and each match names its writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "engine/logmon/scan/line_scanner.h"
#include "engine/logmon/source/source.h"
#include "engine/logmon/source/syslog.h"
#include "packet/flow_key.h"

namespace sluice::engine::logmon {

/// `Sink` has  void OnMatch(const Source&, const SyslogHeader*, const MatchedLine&, uint64_t now).
/// The header is null unless the text came as syslog; then the source has no port of the sender.
/// Each call with text may tell it of lines that came before. Text stays as it is until Match.
template <typename Sink>
class AttributedLines {
 public:
  /// `rules` outlives it. `session_cycles`: lines of a session are not further apart; 0: any time.
  AttributedLines(const RuleSet& rules, const ScanLimits& limits, uint64_t session_cycles,
                  Sink sink)
      : scanner_(rules, limits),
        sink_(std::move(sink)),
        wants_speaker_(rules.want_speaker().any()),
        session_cycles_(session_cycles) {}

  /// Of what comes next; TSC cycles.
  void set_now(uint64_t now) { now_ = now; }

  /// LineScanner::Sum.
  uint64_t Sum(const LineState& line, std::string_view bytes) {
    return scanner_.Sum(line, bytes, ToSink());
  }
  /// The next bytes of a source.
  void Feed(const packet::FlowKey& flow, Transport transport, LineState& line,
            std::string_view bytes) {
    From(flow, transport);
    scanner_.Feed(line, bytes, ToSink());
  }
  /// A message, which is whole.
  void Take(const packet::FlowKey& flow, const SyslogMessage& message) {
    Writer& writer = From(flow, Transport::kSyslog);
    writer.source.flow.source_port = 0;
    writer.is_syslog = true;
    writer.header = message.header;
    std::string_view file_header;
    if (wants_speaker_) {
      FileHeader(message, flow, &file_header_);
      file_header = std::string_view(file_header_).substr(0, LineScanner::kMaxHeaderBytes);
      scanner_.From({written_ - 1, SpeakerOf(writer.source.flow, message.header, message.process)});
    }
    scanner_.Message(file_header, message.text, ToSink());
  }
  /// LineScanner::KeepPart.
  void KeepPart(LineState& line, std::string_view bytes) { scanner_.KeepPart(line, bytes); }
  /// Returns a copy of the message: the parts that `line` kept, then `last`. Returns an empty view
  /// if memory for the parts was missing. The view is valid until Match.
  std::string_view Join(LineState& line, std::string_view last) {
    const size_t most = scanner_.MaxMessageBytes();
    const bool has_room = joined_.size() - joined_bytes_ >= most + UnfinishedLines::kSpareBytes;
    if (!has_room || written_ == kMaxWriters) Match();
    if (line.flags != 0) last = {};
    char* const to = joined_.data() + joined_bytes_;
    size_t size = scanner_.JoinParts(line, to);
    size += last.copy(to + size, most - size);
    joined_bytes_ += size;
    return {to, size};
  }
  /// The source ended, and its last line with it.
  void Finish(const packet::FlowKey& flow, Transport transport, LineState& line) {
    From(flow, transport);
    scanner_.Finish(line, ToSink());
    line = {};
  }
  /// Bytes are missing here.
  void Gap(LineState& line) { scanner_.Gap(line); }
  /// The source is forgotten; its unfinished line with it, as torn.
  void Forget(LineState& line) {
    scanner_.Forget(line);
    line = {};
  }
  /// All lines that have ended.
  void Match() {
    scanner_.Flush(ToSink());
    written_ = 0;
    joined_bytes_ = 0;
  }

  const LineScanner& scanner() const { return scanner_; }
  Sink& sink() { return sink_; }

 private:
  /// Texts that are gathered at most before their lines are matched.
  static constexpr uint32_t kMaxWriters = 512;

  /// Messages that are joined at most before they are matched, of the longest.
  static constexpr size_t kMaxJoined = 2;

  /// The writer of a text whose lines are not matched yet. Its views point into a frame of the
  /// burst, or into a joined message.
  struct Writer {
    Source source;
    bool is_syslog = false;
    SyslogHeader header;
  };

  /// Who writes what the scanner is given next.
  Writer& From(const packet::FlowKey& flow, Transport transport) {
    if (written_ == kMaxWriters) Match();
    Writer& writer = writers_[written_];
    writer.source.flow = flow;
    writer.source.transport = transport;
    writer.is_syslog = false;
    scanner_.From({written_++, wants_speaker_ ? SpeakerOf(flow, {}, {}) : Speaker()});
    return writer;
  }
  /// Of syslog, a run of a program; else, who sends the text.
  Speaker SpeakerOf(const packet::FlowKey& flow, const SyslogHeader& header,
                    std::string_view process) const {
    return {absl::HashOf(flow.source, flow.source_port, flow.destination_port, header.hostname,
                         header.app, process),
            now_,
            session_cycles_,
            {}};
  }
  auto ToSink() {
    return [this](const MatchedLine& line) {
      const Writer& writer = writers_[line.origin];
      sink_.OnMatch(writer.source, writer.is_syslog ? &writer.header : nullptr, line, now_);
    };
  }

  LineScanner scanner_;
  Sink sink_;
  std::vector<Writer> writers_{kMaxWriters};  ///< By Origin::number.
  uint32_t written_ = 0;
  /// Messages that came in pieces, whose lines are not matched yet.
  std::vector<char> joined_ =
      std::vector<char>(kMaxJoined * (scanner_.MaxMessageBytes() + UnfinishedLines::kSpareBytes));
  size_t joined_bytes_ = 0;
  bool wants_speaker_;
  std::string file_header_;  ///< Of the message at hand.
  uint64_t session_cycles_;
  uint64_t now_ = 0;
};

}  // namespace sluice::engine::logmon
