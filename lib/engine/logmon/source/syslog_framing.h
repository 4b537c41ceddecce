// SPDX-License-Identifier: BSD-3-Clause
//
// Splits a stream into syslog messages (RFC 6587 section 3.4). A message that starts with a digit
// is counted: `MSG-LEN SP MSG`, and may contain line ends. Any other message ends with LF. The
// framing may change with each message, as in rsyslogd's imtcp:
//   - Leading zeros are ignored, and any byte after the digits ends the number.
//   - A message whose number is 0 or above kMaxCountedBytes ends with LF. In the latter case the
//     digits are part of the message.
// After a gap, parsing resumes after the next LF, or at a segment that starts like a message: with
// `<PRI>`, or with a number and `<PRI>`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::engine::logmon {

/// Position of a stream within a message.
struct SyslogFraming {
  /// Default of imtcp's maxFrameSize.
  static constexpr uint32_t kMaxCountedBytes = 200'000;

  enum class State : uint8_t {
    kBegin,    ///< A message starts with the next byte.
    kNumber,   ///< Digits of the length were read; `left` is their value.
    kCounted,  ///< `left` bytes of the message, at least one, have not arrived yet.
    kLine,     ///< The message ends with LF.
    kLost,     ///< Bytes are missing; searches for the next message.
  };
  uint32_t left = 0;
  State state = State::kBegin;
};

/// Returns whether `bytes` start like a framed message, e.g. with "<13>" or "41 <13>".
bool BeginsSyslogMessage(std::string_view bytes);

/// Removes the digits at the front of `bytes`, appends them to the decimal number `value`, and
/// returns them. A value above kMaxCountedBytes stays above it, regardless of the number of digits.
std::string_view ConsumeDigits(std::string_view& bytes, uint32_t& value);

/// Splits the next bytes of a stream into messages. `receiver` has the functions
///   void Part(std::string_view bytes);   ///< Bytes of a message that does not end here.
///   void Whole(std::string_view bytes);  ///< Last bytes of the message; may be empty.
///   void Restart();                      ///< The parts so far were not a message.
///   void Found(bool skipped);            ///< A lost stream resumes here, after skipped bytes or
///                                        ///< immediately.
template <typename Receiver>
void ReadFrames(SyslogFraming& framing, std::string_view bytes, Receiver&& receiver) {
  using State = SyslogFraming::State;
  if (framing.state == State::kLost && BeginsSyslogMessage(bytes)) {
    receiver.Found(false);
    framing.state = State::kBegin;
  }
  while (!bytes.empty()) {
    switch (framing.state) {
      case State::kLost: {
        const size_t line = bytes.find('\n');
        if (line == bytes.npos) return;
        bytes.remove_prefix(line + 1);
        receiver.Found(true);
        framing.state = State::kBegin;
        break;
      }
      case State::kBegin:
        framing.left = 0;
        framing.state = bytes[0] >= '0' && bytes[0] <= '9' ? State::kNumber : State::kLine;
        break;
      case State::kNumber: {
        const std::string_view digits = ConsumeDigits(bytes, framing.left);
        const bool is_huge = framing.left > SyslogFraming::kMaxCountedBytes;
        if (!digits.empty() && (bytes.empty() || is_huge)) receiver.Part(digits);
        if (bytes.empty()) return;
        bytes.remove_prefix(1);
        if (!is_huge) receiver.Restart();
        framing.state = framing.left == 0 || is_huge ? State::kLine : State::kCounted;
        break;
      }
      case State::kCounted: {
        const std::string_view mine = bytes.substr(0, framing.left);
        bytes.remove_prefix(mine.size());
        framing.left -= static_cast<uint32_t>(mine.size());
        if (framing.left != 0) return receiver.Part(mine);
        framing.state = State::kBegin;
        receiver.Whole(mine);
        break;
      }
      case State::kLine: {
        const size_t line = bytes.find('\n');
        if (line == bytes.npos) return receiver.Part(bytes);
        framing.state = State::kBegin;
        receiver.Whole(bytes.substr(0, line));
        bytes.remove_prefix(line + 1);
        break;
      }
    }
  }
}

}  // namespace sluice::engine::logmon
