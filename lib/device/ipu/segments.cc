// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/segments.h"

#include <array>

#include "device/ipu/parser.h"
#include "regs/ipu.h"

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT: the descriptor bits of this device

constexpr uint32_t kIpv6Header = 40;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kFinAndPush = 0x09;     ///< Only in the last segment.
constexpr uint8_t kWindowReduced = 0x80;  ///< Only in the first segment (RFC 3168, 6.1.2).

void Put16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
void Put32(uint8_t* at, uint32_t value) {
  Put16(at, value >> 16);
  Put16(at + 2, value);
}
uint32_t Get16(const uint8_t* at) { return static_cast<uint32_t>(at[0] << 8 | at[1]); }
uint32_t Get32(const uint8_t* at) { return Get16(at) << 16 | Get16(at + 2); }

/// Offsets of each segment's headers and their total length.
struct Layout {
  explicit Layout(uint64_t command)
      : ip(static_cast<uint8_t>(command >> kTxIpOffsetShift)),
        tcp(ip + static_cast<uint8_t>(command >> kTxIpLengthShift)),
        bytes(tcp + static_cast<uint8_t>(command >> kTxL4FieldShift)),
        segment(static_cast<uint16_t>(command >> kTxTagShift)) {}
  bool Sound(uint32_t length) const {
    return ip >= kMinFrameBytes && tcp - ip >= 20 && bytes - tcp >= 20 &&
           segment >= kMinSegmentBytes && bytes + segment <= kMaxFrameBytes && length >= bytes;
  }
  uint32_t ip;
  uint32_t tcp;
  uint32_t bytes;
  uint32_t segment;  ///< Payload bytes of each segment except the last.
};

/// Updates a segment's copied headers for `payload` bytes. `at` is the payload's offset in the
/// large frame's payload.
void Finish(uint8_t* frame, const Layout& layout, uint32_t at, uint32_t payload, bool last) {
  uint8_t* const ip = frame + layout.ip;
  uint8_t* const tcp = frame + layout.tcp;
  const bool v4 = ip[0] >> 4 == 4;
  const uint32_t tcp_bytes = layout.bytes - layout.tcp + payload;
  if (v4) {
    Put16(ip + 2, layout.tcp - layout.ip + tcp_bytes);
    Put16(ip + 4, Get16(ip + 4) + at / layout.segment);
    Put16(ip + 10, 0);
    Put16(ip + 10, ~OnesComplementSum(ip, layout.tcp - layout.ip, 0));
  } else {
    Put16(ip + 4, layout.tcp - layout.ip - kIpv6Header + tcp_bytes);
  }
  Put32(tcp + 4, Get32(tcp + 4) + at);
  if (!last) tcp[13] &= static_cast<uint8_t>(~kFinAndPush);
  if (at != 0) tcp[13] &= static_cast<uint8_t>(~kWindowReduced);
  Put16(tcp + 16, 0);
  const uint32_t pseudo = OnesComplementSum(v4 ? ip + 12 : ip + 8, v4 ? 8 : 32, tcp_bytes + kTcp);
  Put16(tcp + 16, ~OnesComplementSum(tcp, tcp_bytes, pseudo));
}

}  // namespace

bool SendSegments(uint64_t command, uint32_t length, PieceReader pieces, TxStaging& staging,
                  FrameSink& sink, Statistics& statistics) {
  const Layout layout(command);
  if (!layout.Sound(length)) return false;
  std::array<uint8_t, 3 * UINT8_MAX> headers;
  pieces.Read(headers.data(), layout.bytes);
  const uint32_t version = headers[layout.ip] >> 4;
  const bool ipv6 = version == 6 && layout.tcp - layout.ip >= kIpv6Header;
  if (version != 4 && !ipv6) return false;
  const uint32_t payload = length - layout.bytes;
  uint32_t at = 0;
  do {
    const uint32_t bytes = std::min(layout.segment, payload - at);
    TxStaging::Cursor cursor = staging.Begin();
    std::memcpy(cursor.bytes, headers.data(), layout.bytes);
    pieces.Read(cursor.bytes + layout.bytes, bytes);
    Finish(cursor.bytes, layout, at, bytes, at + bytes == payload);
    cursor.Add(layout.bytes + bytes);
    staging.Commit(cursor, sink);
    ++statistics[kStatTxFrames];
    statistics[kStatTxBytes] += layout.bytes + bytes;
    at += bytes;
  } while (at != payload);
  return true;
}

}  // namespace sluice::device::ipu
