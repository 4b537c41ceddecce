// SPDX-License-Identifier: BSD-3-Clause
//
// Reassembles one observed direction of a TCP connection by sequence numbers (RFC 9293) and reports
// gaps. It never sends.
//
//   - A stream starts with its SYN. A stream that is first seen in the middle starts with a gap.
//   - If bytes arrive twice, the first copy counts, even where segments overlap.
//   - Bytes ahead of the stream wait for earlier ones, within a window and while the pool has room.
//     If the window, the room or the time limit is exceeded, the missing bytes are skipped, which
//     is a gap. The window is the one that the receiver advertises if its segments are seen from
//     its SYN on, but at least the configured one.
//   - A segment that is more than two windows ahead of the stream or more than kMaxBehind bytes
//     before the stream's position is distrusted, because a single segment may be forged (RFC
//     5961). If the next segment continues it, the stream was lost and resumes there, after a gap.
//   - A SYN with another sequence number on an open stream is distrusted until a segment follows
//     it; then the ports were reused.
//   - FIN ends the stream once the bytes before it are delivered. An RST within the window also
//     ends it; an RST that is not exactly at the stream's position loses its effect if later text
//     arrives. An ended stream stays known, so that retransmissions do not count as new data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "engine/logmon/source/counters.h"
#include "engine/logmon/source/tcp_stream.h"
#include "engine/logmon/source/waiting_bytes.h"

namespace sluice::engine::logmon {

struct TcpLimits {
  uint64_t pool_bytes = 16 << 20;  ///< Memory for all streams together.
  /// Maximum distance in bytes ahead of a stream at which bytes wait; at most 2^29. The limit is
  /// higher if the receiver accepts more, up to half of the pool.
  uint32_t window = 65536;
  uint64_t gap_cycles = 0;  ///< Age at which missing bytes are skipped; 0: never.
};

/// Orders the segments of all of one worker's streams. The output of a stream goes to a receiver
/// with the functions
///   void Text(std::string_view bytes);  ///< The next bytes; valid during the call.
///   void Gap();                         ///< Bytes are missing here.
///   void End();                         ///< The stream ended; it may start again.
///   void Restart();                     ///< Another stream of the same ports starts here; the
///                                       ///< end of the previous one was not seen.
class TcpAssembler {
 public:
  /// Maximum number of bytes by which a retransmission may start before the stream's position.
  /// Senders have fewer bytes outstanding.
  static constexpr int32_t kMaxBehind = 16 << 20;

  TcpAssembler(const TcpLimits& limits, SourceCounters& counters)
      : counters_(counters),
        pool_(limits.pool_bytes),
        window_(std::clamp(limits.window, 1u, 1u << 29)),
        most_window_(std::max(
            window_, static_cast<uint32_t>(std::min<uint64_t>(limits.pool_bytes / 2, 1u << 29)))),
        gap_cycles_(limits.gap_cycles) {}

  /// Processes the next segment of a stream, in order of arrival. Returns false if the segment is
  /// not part of the stream.
  template <typename Receiver>
  bool Process(TcpStream& stream, const TcpSegment& segment, uint64_t now, Receiver&& receiver) {
    const Watch watch(*this, stream);
    const uint32_t before = stream.next;
    const bool was_waiting = stream.IsWaiting();
    const bool part = ProcessSegment(stream, segment, receiver);
    if (!was_waiting || stream.next != before) stream.waiting_since = now;
    return part;
  }

  /// Processes the window in a segment from the stream's receiver.
  void ProcessWindow(TcpStream& stream, const TcpWindow& announced) const {
    constexpr uint8_t kMostShift = 14;  // RFC 7323 section 2.3.
    if (stream.state == State::kUnknown || stream.IsClosed()) return;
    if (!IsBelieved(stream, SequenceDistance(announced.acknowledged, stream.next))) return;
    if (announced.syn) stream.shift = std::min(announced.shift, kMostShift);
    if (!announced.syn && !stream.has_edge) return;
    const uint32_t bytes = uint32_t{announced.window} << (announced.syn ? 0 : stream.shift);
    const uint32_t edge = announced.acknowledged + bytes;
    // A receiver must not shrink its window (RFC 9293 section 3.8.6).
    if (announced.syn || SequenceDistance(edge, stream.edge) > 0) stream.edge = edge;
    stream.has_edge = true;
  }

  /// If the stream has waited too long, skips its missing bytes, up to the next bytes that arrived,
  /// or else up to its known end.
  template <typename Receiver>
  void GiveUpLate(TcpStream& stream, uint64_t now, Receiver&& receiver) {
    // Signed: if `now` is before waiting_since, the age is negative.
    if (gap_cycles_ == 0 || !stream.IsWaiting() ||
        static_cast<int64_t>(now - stream.waiting_since - gap_cycles_) <= 0) {
      return;
    }
    const Watch watch(*this, stream);
    SkipTo(stream, stream.waiting.empty() ? stream.end : FirstWaiting(stream), receiver);
    stream.waiting_since = now;
  }

  /// Drops the stream and its waiting bytes.
  void Forget(TcpStream& stream) {
    const Watch watch(*this, stream);
    pool_.Forget(stream.waiting);
    stream = TcpStream();
  }

  /// Returns the number of streams with missing bytes.
  uint32_t waiting_streams() const { return waiting_streams_; }
  const WaitingBytes& pool() const { return pool_; }

 private:
  using Stream = TcpStream;
  using State = TcpStream::State;
  using Doubt = TcpStream::Doubt;
  using Event = SourceCounters;

  /// Updates waiting_streams_ for any change to a stream between this object's construction and
  /// destruction.
  class Watch {
   public:
    Watch(TcpAssembler& assembler, const Stream& stream) : assembler_(assembler), stream_(stream) {
      assembler_.waiting_streams_ -= stream_.IsWaiting();
    }
    ~Watch() { assembler_.waiting_streams_ += stream_.IsWaiting(); }
    Watch(const Watch&) = delete;

   private:
    TcpAssembler& assembler_;
    const Stream& stream_;
  };

  /// Returns the maximum distance of waiting bytes ahead of the stream.
  int32_t WindowOf(const Stream& stream) const {
    const auto least = static_cast<int32_t>(window_);
    if (!stream.has_edge) return least;
    return std::clamp(SequenceDistance(stream.edge, stream.next), least,
                      static_cast<int32_t>(most_window_));
  }
  bool InWindow(const Stream& stream, int32_t ahead) const {
    return ahead >= 0 && ahead <= WindowOf(stream);
  }
  /// Returns whether text at distance `ahead` is plausible: at most kMaxBehind bytes before the
  /// expected byte, and at most two windows after it. If all bytes of one window are missing, the
  /// sender may already be in the next one.
  bool IsBelieved(const Stream& stream, int32_t ahead) const {
    return ahead >= -kMaxBehind && ahead <= 2 * WindowOf(stream);
  }

  uint32_t FirstWaiting(const Stream& stream) const {
    return pool_.FirstFrom(stream.waiting, stream.next);
  }

  template <typename Receiver>
  bool ProcessSegment(Stream& stream, const TcpSegment& segment, Receiver& receiver) {
    if (segment.Is(TcpSegment::kRst)) return ProcessReset(stream, segment, receiver);
    const bool syn = segment.Is(TcpSegment::kSyn);
    const uint32_t sequence = segment.sequence + syn;
    if (syn && !stream.StartedBySynAt(sequence)) {
      if (stream.state != State::kUnknown && !stream.IsClosed()) {
        Disbelieve(stream, sequence, Doubt::kSyn);
        return false;
      }
      Start(stream, sequence, true);
    } else if (stream.state == State::kUnknown) {
      if (segment.payload.empty()) return false;
      Start(stream, sequence, false);
      receiver.Gap();
    }
    // The next stream of a port may start within the window of the previous one.
    const bool follows_syn = stream.doubted == Doubt::kSyn && sequence == stream.doubt;
    if (follows_syn || !IsBelieved(stream, SequenceDistance(sequence, stream.next))) {
      if (segment.payload.empty()) return false;
      if (!stream.Confirms(sequence, static_cast<uint32_t>(WindowOf(stream)))) {
        Disbelieve(stream, sequence + static_cast<uint32_t>(segment.payload.size()), Doubt::kText);
        return false;
      }
      ContinueAt(stream, sequence, receiver);
    }
    const bool fin = segment.Is(TcpSegment::kFin);
    if (segment.payload.empty() && !fin) return !stream.IsClosed();
    return ProcessText(stream, sequence, segment.payload, fin, receiver);
  }

  void Start(Stream& stream, uint32_t next, bool from_syn) {
    stream.Start(next, from_syn);
    counters_.Count(from_syn ? Event::kStreams : Event::kJoinedStreams);
  }

  void Disbelieve(Stream& stream, uint32_t sequence, Doubt kind) {
    counters_.Count(Event::kOutsideSegments);
    stream.DoubtAt(sequence, kind);
  }

  /// Restarts the stream, because a segment at `sequence` has confirmed the distrusted one.
  template <typename Receiver>
  void ContinueAt(Stream& stream, uint32_t sequence, Receiver& receiver) {
    const bool by_syn = stream.doubted == Doubt::kSyn;
    const bool closed = stream.IsClosed();
    // Bytes that are missing before the old stream's end are not reported as a gap.
    DeliverAll(stream, receiver);
    Start(stream, by_syn ? stream.doubt : sequence, by_syn);
    if (!by_syn) {
      CountGap(0);
      receiver.Gap();
    } else if (!closed) {
      receiver.Restart();
    }
  }

  template <typename Receiver>
  bool ProcessReset(Stream& stream, const TcpSegment& segment, Receiver& receiver) {
    const int32_t ahead = SequenceDistance(segment.sequence, stream.next);
    if (stream.state == State::kUnknown || stream.IsClosed() || !InWindow(stream, ahead)) {
      counters_.Count(Event::kIgnoredResets);
      return false;
    }
    if (ahead == 0) {
      // The missing bytes are considered lost.
      const bool more = stream.state == State::kEnding;
      DeliverAll(stream, receiver);
      if (more && SequenceDistance(stream.end, stream.next) > 0) {
        SkipTo(stream, stream.end, receiver);
      }
      stream.EndAt(stream.next, State::kEnding);
      CloseAtEnd(stream, receiver);
    } else if (!stream.EndIsKnown()) {
      stream.EndAt(segment.sequence, State::kEndingByReset);
    }
    return true;
  }

  template <typename Receiver>
  bool ProcessText(Stream& stream, uint32_t sequence, std::string_view bytes, bool fin,
                   Receiver& receiver) {
    const uint32_t stop = sequence + static_cast<uint32_t>(bytes.size());
    if (stream.EndIsKnown() && SequenceDistance(stop, stream.end) > 0) {
      if (stream.state == State::kEndingByReset) {
        stream.state = State::kOpen;
        counters_.Count(Event::kIgnoredResets);
      } else {
        counters_.Count(Event::kBehindEndSegments);
        if (SequenceDistance(stream.end, sequence) <= 0) return false;
        bytes = stream.BeforeEnd(sequence, bytes);
        fin = false;
      }
    }
    if (stream.IsClosed()) {
      counters_.Count(Event::kRepeatedBytes, bytes.size());
      return false;
    }
    if (fin && SequenceDistance(stop, stream.next) >= 0 && stream.state != State::kEnding) {
      stream.EndAt(stop, State::kEnding);
    }
    if (!bytes.empty()) {
      stream.doubted = Doubt::kNone;
      if (const int32_t behind = SequenceDistance(stream.next, sequence); behind > 0) {
        counters_.Count(Event::kRepeatedBytes, std::min<uint64_t>(bytes.size(), behind));
      }
      Insert(stream, sequence, bytes, receiver);
    }
    CloseAtEnd(stream, receiver);
    return true;
  }

  /// Delivers all waiting bytes with gaps between them, and clears a known end.
  template <typename Receiver>
  void DeliverAll(Stream& stream, Receiver& receiver) {
    stream.state = State::kOpen;
    while (!stream.waiting.empty()) SkipTo(stream, FirstWaiting(stream), receiver);
  }

  template <typename Receiver>
  void Insert(Stream& stream, uint32_t sequence, std::string_view bytes, Receiver& receiver) {
    for (;;) {
      if (const int32_t old = SequenceDistance(stream.next, sequence); old > 0) {
        bytes.remove_prefix(std::min<size_t>(bytes.size(), static_cast<uint32_t>(old)));
        sequence = stream.next;
      }
      if (bytes.empty()) return;
      const auto size = static_cast<uint32_t>(bytes.size());
      if (sequence == stream.next) {
        if (stream.waiting.empty()) return Deliver(stream, bytes, receiver);
        // Delivers up to the first byte that was received before.
        Deliver(stream, bytes.substr(0, FirstWaiting(stream) - stream.next), receiver);
        DeliverWaiting(stream, receiver);
        continue;
      }
      if (SequenceDistance(sequence + size, stream.next) <= WindowOf(stream)) {
        if (pool_.Keep(stream.waiting, sequence, bytes)) {
          counters_.Count(Event::kWaitingSegments);
          return;
        }
        counters_.Count(Event::kNoRoomSegments);
        // Skips only up to the first byte that is present, in this segment or in the waiting bytes.
      }
      uint32_t target = sequence;
      if (!stream.waiting.empty() && SequenceDistance(FirstWaiting(stream), sequence) < 0) {
        target = FirstWaiting(stream);
      }
      SkipTo(stream, target, receiver);
    }
  }

  template <typename Receiver>
  void Deliver(Stream& stream, std::string_view bytes, Receiver& receiver) {
    if (stream.EndIsKnown()) {
      const std::string_view before_end = stream.BeforeEnd(stream.next, bytes);
      if (before_end.size() < bytes.size()) counters_.Count(Event::kBehindEndSegments);
      bytes = before_end;
    }
    stream.next += static_cast<uint32_t>(bytes.size());
    counters_.Count(Event::kTextBytes, bytes.size());
    if (!bytes.empty()) receiver.Text(bytes);
  }

  /// Delivers the waiting bytes that follow the delivered ones without a gap.
  template <typename Receiver>
  void DeliverWaiting(Stream& stream, Receiver& receiver) {
    for (;;) {
      pool_.Advance(stream.waiting, stream.next);
      const std::string_view run = pool_.RunFrom(stream.waiting, stream.next);
      const uint32_t before = stream.next;
      if (!run.empty()) Deliver(stream, run, receiver);
      if (stream.next == before) return;
    }
  }

  /// Skips the bytes up to `sequence`.
  template <typename Receiver>
  void SkipTo(Stream& stream, uint32_t sequence, Receiver& receiver) {
    if (stream.EndIsKnown() && SequenceDistance(sequence, stream.end) > 0) sequence = stream.end;
    CountGap(sequence - stream.next);
    receiver.Gap();
    stream.next = sequence;
    DeliverWaiting(stream, receiver);
    CloseAtEnd(stream, receiver);
  }

  void CountGap(uint32_t bytes) {
    counters_.Count(Event::kGaps);
    counters_.Count(Event::kGapBytes, bytes);
  }

  template <typename Receiver>
  void CloseAtEnd(Stream& stream, Receiver& receiver) {
    if (!stream.IsAtEnd()) return;
    pool_.Forget(stream.waiting);  // Drops bytes after the end.
    stream.state = State::kClosed;
    counters_.Count(Event::kFinishedStreams);
    receiver.End();
  }

  SourceCounters& counters_;
  WaitingBytes pool_;
  uint32_t window_;
  uint32_t most_window_;
  uint64_t gap_cycles_;
  uint32_t waiting_streams_ = 0;
};

}  // namespace sluice::engine::logmon
