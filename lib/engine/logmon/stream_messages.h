// SPDX-License-Identifier: BSD-3-Clause
//
// Passes syslog messages to a worker's AttributedLines. The messages arrive in datagrams or in
// streams, which syslog_framing.h splits into messages.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/logmon/attributed_lines.h"
#include "engine/logmon/source/counters.h"
#include "engine/logmon/source/source.h"
#include "engine/logmon/source/syslog.h"
#include "engine/logmon/source/syslog_framing.h"
#include "packet/flow_key.h"

namespace sluice::engine::logmon {

/// Handles a message. Returns the number of bytes of its text.
template <typename Sink>
size_t AddMessage(AttributedLines<Sink>& lines, SourceCounters& counters,
                  const packet::FlowKey& flow, std::string_view bytes) {
  const SyslogMessage message = ReadSyslog(bytes);
  counters.Count(SourceCounters::kSyslogMessages);
  if (!message.has_priority) counters.Count(SourceCounters::kWithoutPriority);
  lines.Add(flow, message);
  return message.text.size();
}

/// The messages of one stream; a receiver for ReadFrames. Ignores empty messages.
template <typename Sink>
struct StreamMessages {
  AttributedLines<Sink>& lines;
  SourceCounters& counters;
  const packet::FlowKey& flow;
  LineState& line;

  void Part(std::string_view bytes) { lines.KeepPart(line, bytes); }
  void Whole(std::string_view last) {
    const std::string_view message = lines.Join(line, last);
    if (!message.empty()) AddMessage(lines, counters, flow, message);
  }
  void Restart() { lines.Join(line, {}); }
  void Found(bool skipped) {
    if (skipped) {
      lines.Finish(flow, Transport::kTcp, line);
    } else {
      lines.Forget(line);
    }
  }
  /// Handles the end of the stream. A message that would end with LF is complete; a counted message
  /// with missing bytes is torn.
  void End(SyslogFraming& framing) {
    if (framing.state == SyslogFraming::State::kLine) Whole({});
    Forget(framing);
  }
  /// Drops an unfinished message.
  void Forget(SyslogFraming& framing) {
    lines.Forget(line);
    framing = {};
  }
};

}  // namespace sluice::engine::logmon
