// SPDX-License-Identifier: BSD-3-Clause
//
// Frames and pipes for the tests of lib/nic, built by hand from the header layouts (RFC 791, 826,
// 8200, IEEE 802.1Q) without the tested code.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace sluice::nic_test {

using Bytes = std::vector<uint8_t>;

inline void PutBe16(Bytes& frame, size_t at, uint32_t value) {
  frame[at] = static_cast<uint8_t>(value >> 8);
  frame[at + 1] = static_cast<uint8_t>(value);
}

/// Returns a UDP/IPv4 frame of `length` bytes, which must be at least 42.
inline Bytes Ipv4Frame(uint32_t length) {
  Bytes frame(length, 0x5a);
  PutBe16(frame, 12, 0x0800);
  frame[14] = 0x45;
  PutBe16(frame, 16, length - 14);
  frame[23] = 17;
  PutBe16(frame, 38, length - 34);
  return frame;
}

/// Returns a UDP/IPv6 frame of `length` bytes, which must be at least 62.
inline Bytes Ipv6Frame(uint32_t length) {
  Bytes frame(length, 0x5a);
  PutBe16(frame, 12, 0x86dd);
  frame[14] = 0x60;
  frame[15] = frame[16] = frame[17] = 0;
  PutBe16(frame, 18, length - 54);
  frame[20] = 17;
  return frame;
}

inline Bytes ArpFrame() {
  Bytes frame(42, 0);
  const uint8_t head[] = {0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1};
  std::memcpy(frame.data() + 12, head, sizeof(head));
  return frame;
}

/// Returns an IPv4 frame with one VLAN tag. `length` must be at least 46.
inline Bytes VlanFrame(uint32_t length) {
  Bytes frame = Ipv4Frame(length - 4);
  const uint8_t tag[] = {0x81, 0x00, 0x00, 0x05};
  frame.insert(frame.begin() + 12, tag, tag + 4);
  return frame;
}

inline uint32_t FlitBytes(size_t length) { return static_cast<uint32_t>((length + 63) / 64 * 64); }

/// Appends a frame in the NIC's layout: flit-aligned, with undefined padding in its last flit.
inline void Append(Bytes& pipe, const Bytes& frame) {
  const size_t at = pipe.size();
  pipe.resize(at + FlitBytes(frame.size()), 0xee);
  std::memcpy(pipe.data() + at, frame.data(), frame.size());
}

}  // namespace sluice::nic_test
