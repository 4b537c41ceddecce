// SPDX-License-Identifier: BSD-3-Clause
//
// Passes text to one worker's scanner and records the writer of each text. Lines from many writers
// are matched together, some time after they arrive, and each match is reported with its writer.
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

/// `Sink` has the function void OnMatch(const Source&, const SyslogHeader*, const MatchedLine&,
/// uint64_t now). The header is null unless the text is a syslog message; the source port of a
/// syslog message is 0. Each function that passes text may report matches of earlier lines. The
/// text must not change until Match.
template <typename Sink>
class AttributedLines {
 public:
  /// `rules` must outlive the object. `session_cycles` is the maximum time between two lines of a
  /// session, in TSC cycles; 0: unlimited.
  AttributedLines(const RuleSet& rules, const ScanLimits& limits, uint64_t session_cycles,
                  Sink sink)
      : scanner_(rules, limits),
        sink_(std::move(sink)),
        wants_speaker_(rules.want_speaker().any()),
        session_cycles_(session_cycles) {}

  /// Sets the time of the text that follows, in TSC cycles.
  void set_now(uint64_t now) { now_ = now; }

  /// See LineScanner::Sum.
  uint64_t Sum(const LineState& line, std::string_view bytes) {
    return scanner_.Sum(line, bytes, ToSink());
  }
  /// Adds the next bytes of a source.
  [[gnu::always_inline]] void Feed(const packet::FlowKey& flow, Transport transport,
                                   LineState& line, std::string_view bytes) {
    From(flow, transport);
    scanner_.Feed(line, bytes, ToSink());
  }
  /// Adds a complete message.
  void Add(const packet::FlowKey& flow, const SyslogMessage& message) {
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
  /// See LineScanner::KeepPart.
  void KeepPart(LineState& line, std::string_view bytes) { scanner_.KeepPart(line, bytes); }
  /// Returns a copy of the message: the parts that `line` kept, followed by `last`, truncated to
  /// MaxMessageBytes. Returns an empty view if there was no memory for the parts. The view is valid
  /// until Match.
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
  /// Ends a source, and with it the source's last line.
  void Finish(const packet::FlowKey& flow, Transport transport, LineState& line) {
    From(flow, transport);
    scanner_.Finish(line, ToSink());
    line = {};
  }
  /// Records that bytes are missing here.
  void Gap(LineState& line) { scanner_.Gap(line); }
  /// Drops a source; its unfinished line counts as torn.
  void Forget(LineState& line) {
    scanner_.Forget(line);
    line = {};
  }
  /// Matches all lines that have ended.
  void Match() {
    scanner_.Flush(ToSink());
    written_ = 0;
    joined_bytes_ = 0;
  }

  const LineScanner& scanner() const { return scanner_; }
  Sink& sink() { return sink_; }

 private:
  /// Maximum number of texts that are gathered before their lines are matched.
  static constexpr uint32_t kMaxWriters = 512;

  /// Number of maximum-length messages for which joined_ has room.
  static constexpr size_t kMaxJoined = 2;

  /// Writer of a text whose lines have not been matched yet. Its views point into a frame of the
  /// burst or into a joined message.
  struct Writer {
    Source source;
    bool is_syslog = false;
    SyslogHeader header;
  };

  /// Sets the writer of the text that the scanner receives next.
  [[gnu::always_inline]] Writer& From(const packet::FlowKey& flow, Transport transport) {
    if (written_ == kMaxWriters) Match();
    Writer& writer = writers_[written_];
    writer.source.flow = flow;
    writer.source.transport = transport;
    writer.is_syslog = false;
    scanner_.From({written_++, wants_speaker_ ? SpeakerOf(flow, {}, {}) : Speaker()});
    return writer;
  }
  /// Returns the speaker of a text: for syslog, the process that logged the text; otherwise, the
  /// sender.
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
  std::vector<Writer> writers_{kMaxWriters};  ///< Indexed by Origin::number.
  uint32_t written_ = 0;
  /// Messages joined from several pieces whose lines have not been matched yet.
  std::vector<char> joined_ =
      std::vector<char>(kMaxJoined * (scanner_.MaxMessageBytes() + UnfinishedLines::kSpareBytes));
  size_t joined_bytes_ = 0;
  bool wants_speaker_;
  std::string file_header_;  ///< File header of the current message.
  uint64_t session_cycles_;
  uint64_t now_ = 0;
};

}  // namespace sluice::engine::logmon
