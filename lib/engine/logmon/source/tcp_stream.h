// SPDX-License-Identifier: BSD-3-Clause
//
// State of one direction of a TCP connection. tcp_assembler.h describes the transitions:
//
//               SYN, text              FIN                     all delivered
//    kUnknown ------------> kOpen ------------> kEnding ---------------------> kClosed
//                           |   ^                  ^                           ^     |
//                 RST ahead |   | later text       | FIN                       |     | SYN
//                           v   |                  |                           |     v
//                        kEndingByReset -----------+---------------------------+   kOpen
//
// Sequence numbers are below 2^32 and wrap (RFC 9293).
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/logmon/source/waiting_bytes.h"

namespace sluice::engine::logmon {

struct TcpSegment {
  static constexpr uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04;

  uint32_t sequence = 0;
  uint8_t flags = 0;  ///< Byte 13 of the TCP header.
  std::string_view payload;

  bool Is(uint8_t flag) const { return (flags & flag) != 0; }
  /// Returns whether the segment can start an unknown stream: it has a SYN or text, but no RST.
  bool Begins() const { return !Is(kRst) && (Is(kSyn) || !payload.empty()); }
};

/// The window in a segment that the receiver of a stream sent.
struct TcpWindow {
  uint32_t acknowledged = 0;  ///< Number of the next byte that the receiver expects.
  uint16_t window = 0;        ///< Number of bytes accepted from `acknowledged` on, before scaling.
  uint8_t shift = 0;          ///< SYN: scale factor of later windows (RFC 7323).
  bool syn = false;
};

/// Returns the distance from `b` to `a`; negative if `a` is before `b`.
constexpr int32_t SequenceDistance(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }

struct TcpStream {
  enum class State : uint8_t {
    kUnknown,        ///< No segment was seen.
    kOpen,           ///< `next` is known, `end` is not.
    kEnding,         ///< `end` is known, and bytes before it are missing.
    kEndingByReset,  ///< Like kEnding, but an RST ahead of `next` ended the stream. If later text
                     ///< arrives, the RST was not valid, and the stream is open again.
    kClosed,         ///< Everything up to `end` was delivered.
  };
  /// Kind of the last distrusted segment. If it is valid, the stream continues at `doubt`.
  enum class Doubt : uint8_t {
    kNone,
    kText,
    kSyn,  ///< `doubt` is the first byte of a stream.
  };

  /// Starts the stream at `at` from any state; does not change `waiting`.
  void Start(uint32_t at, bool with_syn);
  bool StartedBySynAt(uint32_t sequence) const { return from_syn && first == sequence; }

  void DoubtAt(uint32_t sequence, Doubt kind);
  /// Returns whether a segment at `sequence` continues the distrusted segment: it starts at
  /// `doubt`, or at most `window` bytes after it.
  bool Confirms(uint32_t sequence, uint32_t window) const;

  /// Ends the stream before `sequence` by FIN or RST. `how` is kEnding or kEndingByReset.
  void EndAt(uint32_t sequence, State how);
  bool IsEnding() const { return state == State::kEnding || state == State::kEndingByReset; }
  bool EndIsKnown() const { return state >= State::kEnding; }
  bool IsClosed() const { return state == State::kClosed; }
  bool IsAtEnd() const { return IsEnding() && next == end; }
  /// Returns the part of `bytes` that precedes the end of the stream. `sequence` is the sequence
  /// number of the first of `bytes`.
  std::string_view BeforeEnd(uint32_t sequence, std::string_view bytes) const;

  /// Returns whether missing bytes block the delivery of other bytes or of the stream's end.
  bool IsWaiting() const { return !waiting.empty() || IsEnding(); }

  uint32_t next = 0;   ///< First byte that was not delivered.
  uint32_t first = 0;  ///< First byte of the stream, if from_syn.
  uint32_t doubt = 0;
  uint32_t end = 0;   ///< Number after the last byte.
  uint32_t edge = 0;  ///< Number after the last byte that the receiver accepts, if has_edge.
  Waiting waiting;
  uint64_t waiting_since = 0;
  State state = State::kUnknown;
  Doubt doubted = Doubt::kNone;
  bool from_syn = false;
  bool has_edge = false;  ///< The receiver's SYN was seen, so `shift` is known.
  uint8_t shift = 0;
};

}  // namespace sluice::engine::logmon
