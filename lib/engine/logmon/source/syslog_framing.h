// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of syslog in a stream (RFC 6587 section 3.4). A message that begins with a digit is
// counted: `MSG-LEN SP MSG`, and may hold line ends. Any other ends with LF. Each message decides
// for itself, as rsyslogd's imtcp does:
//   - Leading zeros count for nothing, and any byte after the digits ends the number.
//   - A message whose number is 0 ends with LF, and so does one whose number is above
//     kMaxCountedBytes; the digits of the latter are part of it.
// After a gap, reading resumes after the next LF, or at a segment that begins like a message: with
// `<PRI>`, or with a number and `<PRI>`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::engine::logmon {

/// Where a stream is within a message.
struct SyslogFraming {
  /// imtcp's default of maxFrameSize.
  static constexpr uint32_t kMaxCountedBytes = 200'000;

  enum class State : uint8_t {
    kBegin,    ///< A message begins with the next byte.
    kNumber,   ///< Digits of its number were read; `left` is their value.
    kCounted,  ///< `left` bytes of it are to come, at least one.
    kLine,     ///< It ends with LF.
    kLost,     ///< Bytes are missing: the next message is looked for.
  };
  uint32_t left = 0;
  State state = State::kBegin;
};

/// Whether `bytes` begin as a message does that a sender frames: "<13>" or "41 <13>".
bool BeginsSyslogMessage(std::string_view bytes);

/// Reads a number's next digits from the front of `bytes`. Values above kMaxCountedBytes stay so,
/// however many digits follow.
std::string_view TakeNumber(std::string_view& bytes, uint32_t& value);

/// Cuts the next bytes of a stream into messages. `receiver` has
///   void Part(std::string_view bytes);   ///< The message at hand goes on, and does not end yet.
///   void Whole(std::string_view bytes);  ///< Its last bytes, maybe none.
///   void Restart();                      ///< The parts that were given were no message.
///   void Found(bool skipped);            ///< The stream was lost, and goes on here, behind bytes
///                                        ///< that were skipped, or at once.
template <typename Receiver>
void TakeFrames(SyslogFraming& framing, std::string_view bytes, Receiver&& receiver) {
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
        const std::string_view digits = TakeNumber(bytes, framing.left);
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
