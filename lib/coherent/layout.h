// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of one endpoint, through which a NIC passes requests and frames to a waiting host in
// cache lines.
//
//   constants   layout parameters from the creator; never written again
//   host words  number of each pair's last load; whether the host may access the lines now
//   NIC words   whether the host may enter; whether the endpoint is closed
//   receive     two control lines, each followed by its overflow lines: requests, and frames
//   transmit    two control lines with overflow lines, for frames and calls that the host sends
//   buffers     one for each control line, for payloads that are too large for lines
//
// The n-th load of a pair refers to line n mod 2, and its answer contains n. The host owns the
// answered line until it loads the other line: it reads the content there and writes its answer
// there. The next load notifies the NIC that the answer is complete. The host never owns both lines
// of a pair.
//
// Source: Lauberhorn (Xu and Roscoe, "The NIC should be part of the OS", HOTOS '25) section 5. As
// on Lauberhorn's machine, a control line has 128 bytes, which is two cache lines on x86. A message
// of up to 40 bytes uses only the first half. All numbers are little-endian, all positions are
// offsets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::coherent {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kMagic = 0x3165'6e69'4c68'6f43;  // "CohLine1"
inline constexpr uint32_t kLineBytes = 128;
/// Payload bytes of a control line. A longer payload continues in the overflow lines, without a
/// gap.
inline constexpr uint32_t kInlineBytes = 104;
/// Time after which a pending load is answered with TRYAGAIN (Lauberhorn, HOTOS '25, section 5: if
/// a load waits longer, the processor reports a bus error).
inline constexpr uint64_t kTryAgainNs = 15'000'000;

/// The two pairs of an endpoint.
enum class Pair : uint8_t {
  kReceive,   ///< The NIC passes content; the host writes the reply to the same line.
  kTransmit,  ///< The NIC passes an empty line, and the host fills it.
};
inline constexpr uint32_t kPairs = 2;

/// Kind of process that waits at an endpoint. The NIC derives the kind from the address that is
/// loaded.
enum class Mode : uint32_t {
  kUser,    ///< The loop of one process, for requests to that process.
  kKernel,  ///< A process scheduler; its content names the process for which a request is waiting.
};

/// Content type of a control line.
enum class Kind : uint8_t {
  kNone,  ///< Invalid.
  // Sent by the NIC in answer to a load:
  kRequest,   ///< Call `code` with `data` and the payload.
  kFrames,    ///< Ethernet frames, from either end (frames.h).
  kTryAgain,  ///< No content arrived: load the other line.
  kYieldNow,  ///< Yield the core, and load again when the process has a core.
  kRetire,    ///< Kernel endpoint: the core is no longer needed.
  kGrant,     ///< Transmit pair: the host may fill the line.
  // Written by the host:
  kReply,    ///< Result of the request: `status` and the payload.
  kNoReply,  ///< No answer is to be sent.
  kCall,     ///< The request is answered later; the payload is a call to make first.
};
inline constexpr uint8_t kKinds = 10;
/// Returns whether the NIC delivers content of this kind.
constexpr bool IsContent(Kind kind) {
  return kind == Kind::kRequest || kind == Kind::kFrames || kind == Kind::kGrant;
}
/// Returns whether the host returns a line with this kind.
constexpr bool IsReturn(Kind kind) {
  return kind == Kind::kReply || kind == Kind::kFrames || kind == Kind::kNoReply ||
         kind == Kind::kCall;
}
/// All ones: the result of a load after the device has disappeared.
inline constexpr uint64_t kPoison = ~uint64_t{0};

/// The first word of a control line. Bits 0…31: lower half of the load's number, 32…51: payload
/// bytes, 52…58: number of frames, 59: the payload is in the line's buffer, 60…63: kind.
struct Control {
  uint32_t number = 0;
  uint32_t length = 0;
  uint8_t count = 0;
  bool in_buffer = false;
  Kind kind = Kind::kNone;

  static constexpr uint32_t kMaxLength = (1u << 20) - 1;
  static constexpr uint32_t kMaxCount = 127;
  /// In the upper half: the payload is in the line's buffer.
  static constexpr uint32_t kBuffer = 1u << 27;
  static constexpr int kLengthShift = 32, kCountShift = 52, kKindShift = 60;

  constexpr uint64_t Word() const {
    const uint32_t upper = (length & kMaxLength) | (in_buffer ? kBuffer : 0);
    return number | uint64_t{upper} << kLengthShift | uint64_t{count & kMaxCount} << kCountShift |
           uint64_t{static_cast<uint8_t>(kind)} << kKindShift;
  }
  /// Decodes any word that the peer may have written; an unknown kind becomes kNone.
  static constexpr Control Of(uint64_t word) {
    const auto kind = static_cast<uint8_t>(word >> kKindShift);
    const auto upper = static_cast<uint32_t>(word >> kLengthShift);
    return {static_cast<uint32_t>(word), upper & kMaxLength,
            static_cast<uint8_t>(word >> kCountShift & kMaxCount), (upper & kBuffer) != 0,
            kind < kKinds ? static_cast<Kind>(kind) : Kind::kNone};
  }

  friend bool operator==(const Control&, const Control&) = default;
};

/// A control line. At any time exactly one end owns it; `control` is stored last (release).
struct alignas(kLineBytes) ControlLine {
  uint64_t control;
  uint64_t code;  ///< Request: the function to call. Reply: its status.
  uint64_t data;  ///< Request: a value that the host passes to the function.
  std::array<uint8_t, kInlineBytes> payload;
};
static_assert(sizeof(ControlLine) == kLineBytes && offsetof(ControlLine, payload) == 24);

/// Sizes of an endpoint, chosen by its creator.
struct Geometry {
  Mode mode = Mode::kUser;
  /// Number of overflow lines per control line; at most kMaxOverflowLines.
  uint32_t overflow_lines = 76;
  uint32_t buffer_bytes = 0;    ///< Size of each of the four buffers; a multiple of 4096.
  uint32_t headroom_bytes = 0;  ///< Headroom of received frames; a multiple of 8, at most 256.

  friend bool operator==(const Geometry&, const Geometry&) = default;

  static constexpr uint32_t kMaxOverflowLines = 1024;
  static constexpr uint32_t kMaxBufferBytes = (1u << 20) - 4096;

  /// Returns null if the sizes are valid, otherwise a one-line message that names the wrong field.
  constexpr const char* Error() const;
  /// Returns the payload capacity of a control line with its overflow lines.
  constexpr uint32_t LineCapacity() const { return kInlineBytes + overflow_lines * kLineBytes; }
  constexpr uint32_t SlotBytes() const { return (1 + overflow_lines) * kLineBytes; }
  constexpr uint32_t LineOffset(Pair pair, uint64_t number) const;
  constexpr uint32_t BufferOffset(Pair pair, uint64_t number) const;
  /// Returns the size of the whole endpoint in bytes. The size of a file that contains an endpoint
  /// is rounded up to whole pages.
  constexpr size_t Bytes() const;
};

/// Start of an endpoint's memory.
struct EndpointHeader {
  // Constants, written only when the endpoint is created.
  alignas(kLineBytes) uint64_t magic;
  Geometry geometry;
  // Words that the host writes, each in a separate line. `load` is the number of a pair's last
  // load. A real NIC sees loads on the interconnect; an emulated NIC reads this word.
  struct alignas(kLineBytes) HostWord {
    uint64_t load;
    uint64_t busy;  ///< Receive pair: 1 while the host may access the endpoint's lines.
  };
  std::array<HostWord, kPairs> host;
  // The word that the NIC writes: the preemption word.
  alignas(kLineBytes) uint64_t ready;  ///< kReady, kBarred or kClosed.
};
static_assert(offsetof(EndpointHeader, host) == 128 && offsetof(EndpointHeader, ready) == 384 &&
              sizeof(EndpointHeader) == 512);

/// Values of the preemption word.
inline constexpr uint64_t kReady = 1;   ///< The host may enter.
inline constexpr uint64_t kBarred = 0;  ///< The host may not enter; if it is inside, it must leave.
inline constexpr uint64_t kClosed = 2;  ///< Permanent: the NIC no longer answers or reads.

constexpr const char* Geometry::Error() const {
  if (mode != Mode::kUser && mode != Mode::kKernel) return "mode: give user or kernel";
  if (overflow_lines > kMaxOverflowLines) return "overflow_lines: give at most 1024";
  if (buffer_bytes % 4096 != 0 || buffer_bytes > kMaxBufferBytes) {
    return "buffer_bytes: give a multiple of 4096, at most 1044480";
  }
  if (headroom_bytes % 8 != 0 || headroom_bytes > 256) {
    return "headroom_bytes: give a multiple of 8, at most 256";
  }
  return nullptr;
}
constexpr uint32_t Geometry::LineOffset(Pair pair, uint64_t number) const {
  const uint32_t index = static_cast<uint32_t>(pair) * 2 + static_cast<uint32_t>(number & 1);
  return static_cast<uint32_t>(sizeof(EndpointHeader)) + index * SlotBytes();
}
constexpr uint32_t Geometry::BufferOffset(Pair pair, uint64_t number) const {
  const uint32_t index = static_cast<uint32_t>(pair) * 2 + static_cast<uint32_t>(number & 1);
  const uint32_t lines = static_cast<uint32_t>(sizeof(EndpointHeader)) + 4 * SlotBytes();
  const uint32_t first = buffer_bytes == 0 ? lines : (lines + 4095) / 4096 * 4096;
  return first + index * buffer_bytes;
}
constexpr size_t Geometry::Bytes() const {
  return size_t{BufferOffset(Pair::kReceive, 0)} + 4 * size_t{buffer_bytes};
}

}  // namespace sluice::coherent
