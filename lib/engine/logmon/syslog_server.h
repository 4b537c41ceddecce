// SPDX-License-Identifier: BSD-3-Clause
//
// One worker's syslog server, an engine for byte streams. It reads messages from connections, in
// both framings of RFC 6587, and matches their text. It does not send anything. Monitor is the
// engine that observes such connections between other hosts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/logmon/attributed_lines.h"
#include "engine/logmon/scan/line_scanner.h"
#include "engine/logmon/source/counters.h"
#include "engine/logmon/source/syslog_framing.h"
#include "engine/logmon/stream_messages.h"
#include "packet/byte_stream.h"
#include "packet/ethernet.h"
#include "packet/flow_key.h"

namespace sluice::engine::logmon {

/// `Sink` is as in AttributedLines. Lines of a connection are reported in order.
template <typename Sink>
class SyslogServer final : public packet::StreamEngine {
 public:
  struct Connection {
    packet::FlowKey flow{};
    LineState line;
    SyslogFraming framing;
  };

  /// `rules` must outlive the server. `session_cycles`: see AttributedLines.
  SyslogServer(const RuleSet& rules, const ScanLimits& limits, uint64_t session_cycles, Sink sink)
      : lines_(rules, limits, session_cycles, std::move(sink)) {}

  bool Accept(Connection& connection, const packet::StreamPeer& peer, uint64_t /*now*/) {
    counters_.Count(SourceCounters::kNewSources);
    counters_.Count(SourceCounters::kStreams);
    ++open_;
    connection.flow = FlowOf(peer);
    return true;
  }
  /// Consumes all bytes. A message that does not end here is kept by the scanner, truncated to its
  /// limit.
  void Process(Connection& connection, packet::StreamTurn& turn, uint64_t now) {
    const std::string_view bytes(reinterpret_cast<const char*>(turn.data), turn.bytes);
    lines_.set_now(now);
    counters_.Count(SourceCounters::kTextBytes, bytes.size());
    ReadFrames(connection.framing, bytes, MessagesOf(connection));
    lines_.Match();  // The views of the lines are valid only until the end of the turn.
    turn.consumed = turn.bytes;
  }
  void Closed(Connection& connection, bool complete, uint64_t now) {
    --open_;
    lines_.set_now(now);
    if (complete) {
      counters_.Count(SourceCounters::kFinishedStreams);
      MessagesOf(connection).End(connection.framing);
    } else {
      MessagesOf(connection).Forget(connection.framing);
    }
    lines_.Match();
  }

  const SourceCounters& counters() const { return counters_; }
  ScanCounters scan_counters() const { return scanner().counters(); }
  const LineScanner& scanner() const { return lines_.scanner(); }
  /// Returns the number of open connections.
  uint32_t sources() const { return open_; }
  /// Returns the size of the states of open connections, in bytes.
  uint64_t memory_bytes() const { return open_ * sizeof(Connection); }
  Sink& sink() { return lines_.sink(); }

 private:
  StreamMessages<Sink> MessagesOf(Connection& connection) {
    return {lines_, counters_, connection.flow, connection.line};
  }
  static packet::FlowKey FlowOf(const packet::StreamPeer& peer) {
    packet::FlowKey flow;
    flow.protocol = packet::kProtocolTcp;
    flow.source_port = peer.port;
    flow.destination_port = peer.local_port;
    const bool ipv4 = packet::IsIpv4Mapped(peer.address);
    flow.ip_version = ipv4 ? 4 : 6;
    std::copy(peer.address.begin() + (ipv4 ? packet::kIpv4Mapped.size() : 0), peer.address.end(),
              flow.source.begin());
    return flow;
  }

  SourceCounters counters_;
  AttributedLines<Sink> lines_;
  uint32_t open_ = 0;
};

}  // namespace sluice::engine::logmon
