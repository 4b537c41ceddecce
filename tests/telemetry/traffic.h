// SPDX-License-Identifier: BSD-3-Clause
//
// Frames of numbered flows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "packet/bytes.h"
#include "packet/flow_key.h"

namespace sluice::engine::telemetry::test {

/// Returns the 5-tuple of flow `flow`: UDP from 10.x.y.z to 192.0.2.1, where x.y.z encodes the
/// number.
inline packet::FlowKey KeyOf(uint32_t flow) {
  packet::FlowKey key;
  key.source = {10, static_cast<uint8_t>(flow >> 16), static_cast<uint8_t>(flow >> 8),
                static_cast<uint8_t>(flow)};
  key.destination = {192, 0, 2, 1};
  key.source_port = static_cast<uint16_t>(1024 + flow % 50000);
  key.destination_port = 53;
  key.protocol = 17;
  key.ip_version = 4;
  return key;
}

inline constexpr uint32_t kFrameBytes = 60;

/// Returns a frame of 60 bytes that belongs to the flow.
inline std::array<uint8_t, kFrameBytes> FrameOf(uint32_t flow) {
  const packet::FlowKey key = KeyOf(flow);
  std::array<uint8_t, kFrameBytes> frame{};
  packet::StoreBe16(&frame[12], 0x0800);
  frame[14] = 0x45;
  packet::StoreBe16(&frame[16], kFrameBytes - 14);  // IP total length.
  frame[22] = 64;                                   // TTL.
  frame[23] = key.protocol;
  std::copy_n(key.source.begin(), 4, &frame[26]);
  std::copy_n(key.destination.begin(), 4, &frame[30]);
  packet::StoreBe16(&frame[34], key.source_port);
  packet::StoreBe16(&frame[36], key.destination_port);
  packet::StoreBe16(&frame[38], kFrameBytes - 34);  // UDP length.
  return frame;
}

}  // namespace sluice::engine::telemetry::test
