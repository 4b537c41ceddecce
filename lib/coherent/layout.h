// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of one endpoint: where a host waits for what a NIC hands it in a cache line.
//
//   constants   what the creator laid out; nobody writes it afterwards
//   host words  which line of each pair the host loads; whether it is among the lines at all
//   NIC words   whether the host may be among the lines; whether the endpoint still exists
//   receive     two control lines, each followed by its overflow lines: requests, and frames
//   transmit    the same for what the host sends by itself
//   buffers     one for each control line, for what is too large for lines
//
// The n-th load of a pair is of line n mod 2, and its answer carries n. Until the host loads the
// other line it owns the answered one: it reads the answer there and writes what it returns there.
// That next load says that it is done. The two lines of a pair are never both the host's.
//
// Source: Lauberhorn (Xu and Roscoe, "The NIC should be part of the OS", HOTOS '25) section 5:
// lines of 128 bytes as on its machine, which are two lines of an x86 processor. A message of up to
// 40 bytes touches the first half only. All numbers are little-endian, all places are offsets.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::coherent {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kMagic = 0x3165'6e69'4c68'6f43;  // "CohLine1"
inline constexpr uint32_t kLineBytes = 128;
/// Payload bytes of a control line; overflow lines continue it without a gap.
inline constexpr uint32_t kInlineBytes = 104;
/// A load that is not answered with anything else is answered with TRYAGAIN after this
/// (Lauberhorn, HOTOS '25, section 5: longer, and the processor reports a bus error).
inline constexpr uint64_t kTryAgainNs = 15'000'000;

/// The two pairs of an endpoint.
enum class Pair : uint8_t {
  kReceive,   ///< The NIC hands over; what the host leaves in the line is the reply.
  kTransmit,  ///< The NIC hands over an empty line; the host fills it.
};
inline constexpr uint32_t kPairs = 2;

/// Who waits at an endpoint: the NIC knows it from the address that is loaded.
enum class Mode : uint32_t {
  kUser,    ///< The loop of one process, for its own requests.
  kKernel,  ///< Whoever gives a core to processes: is told for which there is a request.
};

/// What a control line holds.
enum class Kind : uint8_t {
  kNone,  ///< Nothing sound.
  // Of the NIC: an answer to a load.
  kRequest,   ///< Call `code` with `data` and the payload.
  kFrames,    ///< Either end: Ethernet frames (frames.h).
  kTryAgain,  ///< Nothing arrived: load the other line.
  kYieldNow,  ///< Give the core back, and load again when it is yours again.
  kRetire,    ///< Of a kernel endpoint: the core is not needed any more.
  kGrant,     ///< Of a transmit pair: the line is yours to fill.
  // Of the host: what it returns.
  kReply,    ///< The request's result: `status` and the payload.
  kNoReply,  ///< Nothing is to be sent.
  kCall,     ///< The request is answered later: the payload is a call to make before.
};
inline constexpr uint8_t kKinds = 10;
/// All ones: what a load reads whose device is gone.
inline constexpr uint64_t kPoison = ~uint64_t{0};

/// The first word of a control line. Bits 0…31 the load that it belongs to (its lower half), 32…51
/// bytes of payload, 52…58 frames in it, 59 whether the payload is in the line's buffer, 60…63 the
/// kind.
struct Control {
  uint32_t number = 0;
  uint32_t length = 0;
  uint8_t count = 0;
  bool in_buffer = false;
  Kind kind = Kind::kNone;

  static constexpr uint32_t kMaxLength = (1u << 20) - 1;
  static constexpr uint32_t kMaxCount = 127;
  static constexpr uint32_t kBuffer = 1u << 27;  ///< Of the upper half.
  static constexpr int kLengthShift = 32, kCountShift = 52, kKindShift = 60;

  constexpr uint64_t Word() const {
    const uint32_t upper = (length & kMaxLength) | (in_buffer ? kBuffer : 0);
    return number | uint64_t{upper} << kLengthShift | uint64_t{count & kMaxCount} << kCountShift |
           uint64_t{static_cast<uint8_t>(kind)} << kKindShift;
  }
  /// Whatever the peer wrote: an unknown kind is kNone.
  static constexpr Control Of(uint64_t word) {
    const auto kind = static_cast<uint8_t>(word >> kKindShift);
    const auto upper = static_cast<uint32_t>(word >> kLengthShift);
    return {static_cast<uint32_t>(word), upper & kMaxLength,
            static_cast<uint8_t>(word >> kCountShift & kMaxCount), (upper & kBuffer) != 0,
            kind < kKinds ? static_cast<Kind>(kind) : Kind::kNone};
  }

  friend bool operator==(const Control&, const Control&) = default;
};

/// A control line. One end at a time owns it; `control` is stored last (release).
struct alignas(kLineBytes) ControlLine {
  uint64_t control;
  uint64_t code;  ///< Of a request: what to call. Of a reply: its status.
  uint64_t data;  ///< Of a request: with which state of the process.
  std::array<uint8_t, kInlineBytes> payload;
};
static_assert(sizeof(ControlLine) == kLineBytes && offsetof(ControlLine, payload) == 24);

/// Sizes, set by the creator.
struct Geometry {
  Mode mode = Mode::kUser;
  uint32_t overflow_lines = 76;  ///< Behind each control line; at most kMaxOverflowLines.
  uint32_t buffer_bytes = 0;     ///< Of each of the four buffers; a multiple of 4096.
  uint32_t headroom_bytes = 0;   ///< Before every received frame; a multiple of 8, at most 256.

  friend bool operator==(const Geometry&, const Geometry&) = default;

  static constexpr uint32_t kMaxOverflowLines = 1024;
  static constexpr uint32_t kMaxBufferBytes = (1u << 20) - 4096;

  /// Null, or why these sizes cannot be: one line that names the field.
  const char* Error() const;
  /// Payload that fits a control line with its overflow lines.
  constexpr uint32_t LineCapacity() const { return kInlineBytes + overflow_lines * kLineBytes; }
  constexpr uint32_t SlotBytes() const { return (1 + overflow_lines) * kLineBytes; }
  constexpr uint32_t LineOffset(Pair pair, uint64_t number) const;
  constexpr uint32_t BufferOffset(Pair pair, uint64_t number) const;
  /// Bytes of the whole endpoint. A file for it is rounded up to pages.
  constexpr size_t Bytes() const;
};

/// The beginning of an endpoint's memory.
struct EndpointHeader {
  // Constants.
  alignas(kLineBytes) uint64_t magic;
  Geometry geometry;
  // The host's words. `load` is the number of the last load of a pair: what a real NIC sees on
  // the interconnect, an emulated one has to be told. Each in a line of its own.
  struct alignas(kLineBytes) HostWord {
    uint64_t load;
    uint64_t busy;  ///< Receive pair: 1 while the host may load or touch lines of the endpoint.
  };
  std::array<HostWord, kPairs> host;
  // The NIC's words: the preemption word.
  alignas(kLineBytes) uint64_t ready;  ///< kReady, kBarred or kClosed.
};
static_assert(offsetof(EndpointHeader, host) == 128 && offsetof(EndpointHeader, ready) == 384 &&
              sizeof(EndpointHeader) == 512);

/// Values of the preemption word.
inline constexpr uint64_t kReady = 1;   ///< The host may enter.
inline constexpr uint64_t kBarred = 0;  ///< It may not; if it is inside, it is asked to leave.
inline constexpr uint64_t kClosed = 2;  ///< For ever: the NIC neither answers nor reads any more.

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
