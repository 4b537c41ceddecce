// SPDX-License-Identifier: BSD-3-Clause
//
// Where one direction of a TCP connection stands. tcp_assembler.h says what moves it:
//
//               SYN, text              FIN                     all delivered
//    kUnknown ------------> kOpen ------------> kEnding ---------------------> kClosed
//                           |   ^                  ^                           ^     |
//                 RST ahead |   | text behind it   | FIN                       |     | SYN
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
  /// Whether it tells of a stream that was not known: SYN, or text.
  bool Begins() const { return !Is(kRst) && (Is(kSyn) || !payload.empty()); }
};

/// What the receiver of a stream says in a segment of its own.
struct TcpWindow {
  uint32_t acknowledged = 0;  ///< The number of the next byte that it expects.
  uint16_t window = 0;        ///< Bytes from there on that it accepts, before they are scaled.
  uint8_t shift = 0;          ///< Of a SYN: what later windows are scaled by (RFC 7323).
  bool syn = false;
};

/// From `b` to `a`, negative if `a` is before `b`.
constexpr int32_t SequenceDistance(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }

struct TcpStream {
  enum class State : uint8_t {
    kUnknown,        ///< Nothing of it was seen.
    kOpen,           ///< `next` is known, `end` is not.
    kEnding,         ///< `end` is known, and bytes before it are missing.
    kEndingByReset,  ///< The same, by a RST that was ahead: text behind it shows that it was none.
    kClosed,         ///< Everything up to `end` was delivered.
  };
  /// Whether the last segment that was not believed would go on at `doubt`.
  enum class Doubt : uint8_t {
    kNone,
    kText,
    kSyn,  ///< `doubt` is the first byte of a stream.
  };

  /// Begins at `at`, in whatever state it is; what waits is not touched.
  void Start(uint32_t at, bool with_syn);
  bool StartedBySynAt(uint32_t sequence) const { return from_syn && first == sequence; }

  void DoubtAt(uint32_t sequence, Doubt kind);
  /// Whether a segment at `sequence` goes on where the one in doubt left off.
  bool Confirms(uint32_t sequence, uint32_t window) const;

  /// FIN before `sequence`, or RST. kEnding or kEndingByReset.
  void EndAt(uint32_t sequence, State how);
  bool IsEnding() const { return state == State::kEnding || state == State::kEndingByReset; }
  bool EndIsKnown() const { return state >= State::kEnding; }
  bool IsClosed() const { return state == State::kClosed; }
  bool IsAtEnd() const { return IsEnding() && next == end; }
  /// Those of `bytes`, the first of which has the number `sequence`, that lie before the end.
  std::string_view BeforeEnd(uint32_t sequence, std::string_view bytes) const;

  /// Bytes that are missing keep others, or the end, from being delivered.
  bool IsWaiting() const { return !waiting.empty() || IsEnding(); }

  uint32_t next = 0;   ///< The first byte that was not delivered.
  uint32_t first = 0;  ///< The stream's first byte, if from_syn.
  uint32_t doubt = 0;
  uint32_t end = 0;   ///< Behind the last byte.
  uint32_t edge = 0;  ///< Behind the last byte that the receiver accepts, if has_edge.
  Waiting waiting;
  uint64_t waiting_since = 0;
  State state = State::kUnknown;
  Doubt doubted = Doubt::kNone;
  bool from_syn = false;
  bool has_edge = false;  ///< The receiver's SYN was seen, and so `shift`.
  uint8_t shift = 0;
};

}  // namespace sluice::engine::logmon
