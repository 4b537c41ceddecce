// SPDX-License-Identifier: BSD-3-Clause
//
// Headers of the frames that test applications send.
#pragma once

#include <cstdint>
#include <cstring>

namespace sluice::runtime_test {

constexpr uint32_t kUdpHeaderBytes = 42;

/// Writes Ethernet, IPv4 and UDP headers (RFC 791, 768) for a frame of `length` bytes, from
/// 10.0.0.0 to itself, with both ports 0. Both checksums are 0.
inline void WriteUdpHeaders(uint8_t* frame, uint32_t length) {
  std::memset(frame, 0, kUdpHeaderBytes);
  frame[0] = frame[6] = 0x02;
  frame[12] = 0x08;
  frame[14] = 0x45;
  frame[16] = static_cast<uint8_t>((length - 14) >> 8);
  frame[17] = static_cast<uint8_t>(length - 14);
  frame[22] = 64;
  frame[23] = 17;
  frame[26] = frame[30] = 10;
  frame[38] = static_cast<uint8_t>((length - 34) >> 8);
  frame[39] = static_cast<uint8_t>(length - 34);
}

}  // namespace sluice::runtime_test
