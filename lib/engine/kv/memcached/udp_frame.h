// SPDX-License-Identifier: BSD-3-Clause
//
// memcached's header before each UDP payload (protocol.txt, "UDP protocol"): 16-bit integers,
// big-endian. A request is one datagram; replies may be split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/kv/hash.h"
#include "packet/bytes.h"

namespace sluice::engine::kv::memcached {

inline constexpr uint32_t kUdpFrameBytes = 8;
/// memcached's limit for the UDP payload of a reply, and the part of that payload after the header.
inline constexpr uint32_t kMaxDatagramBytes = 1400;
inline constexpr uint32_t kMaxDatagramData = kMaxDatagramBytes - kUdpFrameBytes;

/// The fields of the header. Two reserved bytes follow, which are 0 in replies and ignored in
/// requests.
struct UdpFrame {
  uint16_t request_id = 0;  ///< Chosen by the client, repeated in the reply.
  uint16_t sequence = 0;
  uint16_t total = 1;  ///< Number of datagrams of this message.
};

/// Reads the frame of a request. Returns nullopt if the payload is too short or part of a longer
/// message.
inline std::optional<UdpFrame> ReadUdpFrame(Bytes payload) {
  if (payload.size() < kUdpFrameBytes) return std::nullopt;
  const UdpFrame frame{packet::LoadBe16(&payload[0]), packet::LoadBe16(&payload[2]),
                       packet::LoadBe16(&payload[4])};
  if (frame.total != 1) return std::nullopt;
  return frame;
}

inline void WriteUdpFrame(uint8_t* to, const UdpFrame& frame) {
  packet::StoreBe16(to, frame.request_id);
  packet::StoreBe16(to + 2, frame.sequence);
  packet::StoreBe16(to + 4, frame.total);
  packet::StoreBe16(to + 6, 0);
}

/// Returns the number of datagrams in a reply. More than 65535 cannot be sent.
constexpr size_t DatagramsOf(size_t reply_bytes) {
  return (reply_bytes + kMaxDatagramData - 1) / kMaxDatagramData;
}

}  // namespace sluice::engine::kv::memcached
