// SPDX-License-Identifier: BSD-3-Clause
//
// memcached's header in front of each UDP payload (protocol.txt, "UDP protocol"): 16-bit
// integers, big-endian. Requests are one datagram; replies are split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/kv/hash.h"
#include "packet/bytes.h"

namespace sluice::engine::kv::memcached {

inline constexpr uint32_t kUdpFrameBytes = 8;
/// Of a reply: memcached's limit of a UDP payload, and what of it follows the header.
inline constexpr uint32_t kMaxDatagramBytes = 1400;
inline constexpr uint32_t kMaxDatagramData = kMaxDatagramBytes - kUdpFrameBytes;

/// Two more bytes, reserved, are 0 in replies and ignored in requests.
struct UdpFrame {
  uint16_t request_id = 0;  ///< The client's choice, repeated in its reply.
  uint16_t sequence = 0;
  uint16_t total = 1;  ///< Datagrams of this message.
};

/// A request's. Nothing: too short, or a part of a longer message.
inline std::optional<UdpFrame> ReadUdpFrame(Bytes payload) {
  if (payload.size() < kUdpFrameBytes) return std::nullopt;
  const UdpFrame frame{packet::LoadBe16(&payload[0]), packet::LoadBe16(&payload[2]),
                       packet::LoadBe16(&payload[4])};
  if (frame.total != 1) return std::nullopt;
  return frame;
}

/// Writes kUdpFrameBytes.
inline void WriteUdpFrame(uint8_t* to, const UdpFrame& frame) {
  packet::StoreBe16(to, frame.request_id);
  packet::StoreBe16(to + 2, frame.sequence);
  packet::StoreBe16(to + 4, frame.total);
  packet::StoreBe16(to + 6, 0);
}

/// How many datagrams a reply takes. Beyond 65535 it cannot be sent.
constexpr size_t DatagramsOf(size_t reply_bytes) {
  return (reply_bytes + kMaxDatagramData - 1) / kMaxDatagramData;
}

}  // namespace sluice::engine::kv::memcached
