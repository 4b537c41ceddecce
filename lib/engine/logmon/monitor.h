// SPDX-License-Identifier: BSD-3-Clause
//
// One worker's log monitor. As a BurstEngine, it finds log text in frames, orders the text by
// source and matches its lines. Complete lines of all frames of a burst are matched together,
// regardless of their source. A complete line is matched in the burst that completed it.
//
// A syslog datagram is a complete message, so its source needs no entry in the table of sources.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter_rows.h"
#include "engine/logmon/attributed_lines.h"
#include "engine/logmon/scan/line_scanner.h"
#include "engine/logmon/source/counters.h"
#include "engine/logmon/source/source.h"
#include "engine/logmon/source/source_table.h"
#include "engine/logmon/source/syslog_framing.h"
#include "engine/logmon/source/tcp_assembler.h"
#include "engine/logmon/source/text_finder.h"
#include "engine/logmon/stream_messages.h"
#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/frame.h"

namespace sluice::engine::logmon {

/// State of a source whose text may continue. A table entry with this state has 128 bytes, so 100
/// 000 sources, the waiting bytes of segments and the bytes of unfinished lines fit into 64 MiB.
struct SourceState {
  LineState line;
  SyslogFraming framing;  ///< For syslog streams.
  TcpStream tcp;          ///< For TCP streams.
};

struct MonitorOptions {
  std::vector<uint16_t> syslog_ports{514};  ///< UDP destination ports.
  std::vector<uint16_t> line_ports;         ///< UDP destination ports.
  std::vector<uint16_t> tcp_ports;          ///< Destination ports of the observed direction.
  std::vector<uint16_t> syslog_tcp_ports;   ///< Like tcp_ports, but for streams of syslog messages.
  /// True: forwards all frames. False: consumes frames with log text, drops frames for a Reason of
  /// Monitor, and passes on the rest.
  bool pass_on = false;
  uint32_t max_sources = 100000;
  uint64_t out_of_order_bytes = 16 << 20;  ///< Memory for TCP segments that wait for earlier ones.
  /// Maximum distance in bytes of a waiting segment ahead of the stream.
  uint32_t out_of_order_window = 65536;
  /// Time in TSC cycles after which missing TCP bytes are skipped; 0: they are skipped only when
  /// memory is needed.
  uint64_t gap_cycles = 0;
  /// Time in TSC cycles after which an idle source is removed; 0: sources are removed only when a
  /// new source needs room.
  uint64_t idle_cycles = 0;
  /// Maximum time in TSC cycles between two lines of a session; 0: unlimited.
  uint64_t session_cycles = 0;
  ScanLimits scan;
};

/// `Sink` is as in AttributedLines. Lines of one source are reported in order. Lines of different
/// sources are reported in the order of the frames that end them.
template <typename Sink>
class Monitor final : public packet::Engine {
 public:
  enum Reason : uint8_t {
    kMalformed,    ///< A header does not fit or contradicts another.
    kFragment,     ///< UDP or TCP fragment; fragments are not reassembled.
    kBadChecksum,  ///< Log text with a wrong checksum; over IPv6 also UDP without a checksum.
    kReasons
  };
  static constexpr auto kDropReasons = base::Names<Reason, kReasons>(
      {{kMalformed, "malformed"}, {kFragment, "fragment"}, {kBadChecksum, "bad_checksum"}});

  /// `rules` must outlive the monitor. `seed` is the secret key of the source table.
  Monitor(const RuleSet& rules, const MonitorOptions& options, Sink sink, uint64_t seed)
      : finder_(options.syslog_ports, options.line_ports, options.tcp_ports,
                options.syslog_tcp_ports),
        sources_(options.max_sources, seed),
        tcp_({options.out_of_order_bytes, options.out_of_order_window, options.gap_cycles},
             counters_),
        lines_(rules, options.scan, options.session_cycles, std::move(sink)),
        pass_on_(options.pass_on),
        idle_cycles_(options.idle_cycles) {}
  Monitor(const Monitor&) = delete;

  /// Handles timeouts. Must be called between bursts.
  void AtRest(uint64_t now) override {
    SetNow(now);
    if (idle_cycles_ != 0) {
      sources_.ForgetIdle(now, idle_cycles_, kForgottenAtRest,
                          [this](const packet::FlowKey& flow, SourceState& state) {
                            counters_.Count(SourceCounters::kIdleSources);
                            EndSource(flow, state);
                          });
    }
    for (uint32_t i = 0; i < kVisitedAtRest && tcp_.waiting_streams() != 0; ++i) {
      const uint32_t place = SourceTable<SourceState>::first_place() + visit_;
      visit_ = visit_ + 1 < sources_.capacity() ? visit_ + 1 : 0;
      TcpStream& stream = sources_.state(place).tcp;
      if (stream.IsWaiting()) tcp_.GiveUpLate(stream, now, ReceiverOf(place));
    }
    lines_.Match();
  }

  /// Ends all sources. Must be called before destruction.
  void Finish(uint64_t now) {
    SetNow(now);
    sources_.ForgetAll(
        [this](const packet::FlowKey& flow, SourceState& state) { EndSource(flow, state); });
    lines_.Match();
  }

  template <packet::Burst Burst>
  void ProcessBurst(Burst& burst, uint64_t now) {
    SetNow(now);
    const uint32_t size = burst.size();
    std::array<Found, kFoundAhead> found;
    for (uint32_t number = 0; number < std::min(size, kFoundAhead); ++number) {
      Find(burst.At(number), found[number]);
    }
    for (uint32_t number = 0; number < size; ++number) {
      __builtin_prefetch(burst.At(std::min(number + kHeadersAhead, size - 1)).data);
      FetchText(burst.At(std::min(number + kTextsAhead, size - 1)));
      const packet::Frame frame = burst.At(number);
      Found& mine = found[number % kFoundAhead];
      const packet::Verdict verdict = ProcessFound(mine, frame.data);
      if (!pass_on_) burst.Answer(number, frame, verdict);
      if (number + kFoundAhead < size) Find(burst.At(number + kFoundAhead), mine);
    }
    lines_.Match();
  }

  const SourceCounters& counters() const { return counters_; }
  ScanCounters scan_counters() const { return scanner().counters(); }
  const LineScanner& scanner() const { return lines_.scanner(); }
  const TcpAssembler& tcp() const { return tcp_; }
  /// Returns the number of sources in the table.
  uint32_t sources() const { return sources_.size(); }
  Sink& sink() { return lines_.sink(); }
  /// Returns the number of bytes allocated at construction for source states and waiting segments,
  /// without the scanner's memory.
  uint64_t memory_bytes() const { return sources_.memory_bytes() + tcp_.pool().memory_bytes(); }

 private:
  static constexpr uint32_t kNoPlace = SourceTable<SourceState>::kNone;
  /// Limits on the work done between bursts, so that frames do not wait.
  static constexpr uint32_t kForgottenAtRest = 4, kVisitedAtRest = 4;
  /// Distances in frames between the current frame and the frames to prefetch or to parse.
  static constexpr uint32_t kHeadersAhead = 16, kFoundAhead = 8, kTextsAhead = 3;

  /// Contents of a frame, and where to look up its source.
  struct Found {
    FoundText text;
    uint64_t chain = 0;
  };

  /// Receiver for the TcpAssembler. It also ends sources that send datagrams.
  struct Receiver {
    Monitor& monitor;
    const packet::FlowKey& flow;
    LineState& line;
    SyslogFraming& framing;

    void Text(std::string_view bytes) {
      if (IsSyslog()) return ReadFrames(framing, bytes, Messages());
      monitor.lines_.Feed(flow, TransportOf(flow), line, bytes);
    }
    void Gap() {
      monitor.lines_.Gap(line);
      framing.state = SyslogFraming::State::kLost;
    }
    void End() {
      if (IsSyslog()) return Messages().End(framing);
      monitor.lines_.Finish(flow, TransportOf(flow), line);
    }
    void Restart() { Forget(); }
    void Forget() { Messages().Forget(framing); }
    StreamMessages<Sink> Messages() { return {monitor.lines_, monitor.counters_, flow, line}; }
    bool IsSyslog() const {
      return flow.protocol == packet::kProtocolTcp &&
             monitor.finder_.IsSyslogStream(flow.destination_port);
    }
  };
  static Transport TransportOf(const packet::FlowKey& flow) {
    return flow.protocol == packet::kProtocolTcp ? Transport::kTcp : Transport::kLines;
  }
  Receiver ReceiverOf(const packet::FlowKey& flow, SourceState& state) {
    return {*this, flow, state.line, state.framing};
  }
  Receiver ReceiverOf(uint32_t place) {
    return ReceiverOf(sources_.flow(place), sources_.state(place));
  }

  packet::Verdict ProcessFound(const Found& frame, const uint8_t* bytes) {
    const FoundText& found = frame.text;
    switch (found.kind) {
      case FoundText::Kind::kText:
        break;
      case FoundText::Kind::kWindow:
        ProcessWindow(found);
        [[fallthrough]];
      case FoundText::Kind::kOther:
        counters_.Count(SourceCounters::kOther);
        return packet::kPass;
      case FoundText::Kind::kMalformed:
        counters_.Count(SourceCounters::kMalformed);
        return packet::Drop(kMalformed);
      case FoundText::Kind::kFragment:
        counters_.Count(SourceCounters::kFragments);
        return packet::Drop(kFragment);
    }
    const std::string_view payload = found.Payload(bytes);
    const bool has_place = found.transport != Transport::kSyslog;
    const uint32_t place = has_place ? sources_.Find(found.flow, frame.chain) : kNoPlace;
    const LineState line = place != kNoPlace ? sources_.state(place).line : LineState();
    if (!found.Holds(lines_.Sum(line, payload))) {
      counters_.Count(SourceCounters::kBadChecksum);
      return packet::Drop(kBadChecksum);
    }
    switch (found.transport) {
      case Transport::kSyslog:
        counters_.Count(SourceCounters::kTextBytes,
                        AddMessage(lines_, counters_, found.flow, payload));
        break;
      case Transport::kLines:
        ProcessLines(found.flow, place, payload);
        break;
      case Transport::kTcp:
        ProcessSegment(found.flow, place, {found.sequence, found.tcp_flags, payload});
        break;
    }
    return packet::kConsume;
  }

  void SetNow(uint64_t now) {
    now_ = now;
    lines_.set_now(now);
  }

  void Find(const packet::Frame& frame, Found& found) const {
    finder_.Find(frame.data, frame.length, found.text);
    if (found.text.kind == FoundText::Kind::kText) found.chain = sources_.Chain(found.text.flow);
  }
  static void FetchText(const packet::Frame& frame) {
    constexpr uint32_t kCacheLine = 64, kAtOnce = 4;
    const uint8_t* const end = frame.data + frame.length;
    // The last prefetches may be for cache lines after the frame. In a pipe, these belong to the
    // next frame.
#pragma GCC unroll 1
    for (const uint8_t* at = frame.data + kCacheLine; at < end; at += kAtOnce * kCacheLine) {
#pragma GCC unroll 4
      for (uint32_t line = 0; line < kAtOnce; ++line) __builtin_prefetch(at + line * kCacheLine);
    }
  }

  void ProcessLines(const packet::FlowKey& flow, uint32_t place, std::string_view payload) {
    counters_.Count(SourceCounters::kLineDatagrams);
    if (payload.empty()) return;
    if (place != kNoPlace) {
      sources_.Touch(place, now_);
    } else {
      place = NewSource(flow);
    }
    counters_.Count(SourceCounters::kTextBytes, payload.size());
    lines_.Feed(flow, Transport::kLines, sources_.state(place).line, payload);
  }

  void ProcessSegment(const packet::FlowKey& flow, uint32_t known, const TcpSegment& segment) {
    counters_.Count(SourceCounters::kTcpSegments);
    const bool is_known = known != kNoPlace;
    if (!is_known && !segment.Begins()) return;
    const uint32_t place = is_known ? known : NewSource(flow);
    // A segment that the stream distrusts does not refresh the source.
    const bool part = tcp_.Process(sources_.state(place).tcp, segment, now_, ReceiverOf(place));
    if (is_known && part) sources_.Touch(place, now_);
  }

  /// Processes the window in a frame that a stream's receiver sent. The frame itself has no text
  /// for this host and counts as kOther. The frame neither refreshes nor creates a source.
  [[gnu::noinline]] void ProcessWindow(const FoundText& found) {
    const uint32_t place = sources_.Find(found.flow);
    if (place != kNoPlace) tcp_.ProcessWindow(sources_.state(place).tcp, found.window);
  }

  uint32_t NewSource(const packet::FlowKey& flow) {
    counters_.Count(SourceCounters::kNewSources);
    return sources_.Insert(flow, now_, [this](const packet::FlowKey& old, SourceState& state) {
      counters_.Count(SourceCounters::kEvictedSources);
      ForgetSource(old, state);
    });
  }

  void ForgetSource(const packet::FlowKey& flow, SourceState& state) {
    tcp_.Forget(state.tcp);
    ReceiverOf(flow, state).Forget();
  }
  /// Ends an idle source, or any source at shutdown. The last line of a datagram source then counts
  /// as complete, because datagrams have no end mark. A TCP stream has not ended, so its unfinished
  /// line is torn.
  void EndSource(const packet::FlowKey& flow, SourceState& state) {
    if (TransportOf(flow) == Transport::kLines) {
      ReceiverOf(flow, state).End();
    } else {
      ForgetSource(flow, state);
    }
  }

  TextFinder finder_;
  SourceTable<SourceState> sources_;
  SourceCounters counters_;
  TcpAssembler tcp_;
  AttributedLines<Sink> lines_;
  bool pass_on_;
  uint64_t idle_cycles_;
  uint64_t now_ = 0;
  uint32_t visit_ = 0;  ///< Next table entry to check for streams that wait too long.
};

}  // namespace sluice::engine::logmon
