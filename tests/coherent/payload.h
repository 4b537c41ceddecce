// SPDX-License-Identifier: BSD-3-Clause
//
// Requests and replies in which every byte depends on the serial number, so that a torn or
// exchanged payload is detected.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::coherent::test {

/// Length of request `serial`, from zero to more than two lines. ReplyLength is the length of its
/// reply.
inline uint32_t RequestLength(uint64_t serial) { return static_cast<uint32_t>(serial * 37 % 301); }
inline uint32_t ReplyLength(uint64_t serial) { return static_cast<uint32_t>(serial * 53 % 307); }

inline uint8_t PayloadByte(uint64_t serial, uint32_t at) {
  return static_cast<uint8_t>((serial * 0x9e37'79b9'7f4a'7c15 >> 32) + at * 31);
}
inline void Fill(std::span<uint8_t> room, uint64_t serial, uint32_t length) {
  for (uint32_t i = 0; i < length; ++i) room[i] = PayloadByte(serial, i);
}
inline bool IsWhole(std::span<const uint8_t> payload, uint64_t serial, uint32_t length) {
  if (payload.size() != length) return false;
  for (uint32_t i = 0; i < length; ++i) {
    if (payload[i] != PayloadByte(serial, i)) return false;
  }
  return true;
}

}  // namespace sluice::coherent::test
