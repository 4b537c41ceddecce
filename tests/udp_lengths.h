// SPDX-License-Identifier: BSD-3-Clause
//
// UDP datagrams with a length that contradicts the packet, or with the final destination in a
// source route or routing header, and the checksum status that a NIC must report. Both drivers must
// report the same status.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace sluice::test {

enum class Verdict : uint8_t { kNone, kGood, kBad };

struct UdpLengthCase {
  const char* what;
  std::vector<uint8_t> frame;
  bool ipv4;  ///< True for IPv4 frames, whose header checksums are correct.
  Verdict verdict;
};

/// Sets the UDP length and checksum.
inline std::vector<uint8_t> WithUdp(std::vector<uint8_t> frame, uint32_t l4, uint16_t length,
                                    uint16_t sum) {
  frame[l4 + 4] = static_cast<uint8_t>(length >> 8);
  frame[l4 + 5] = static_cast<uint8_t>(length);
  frame[l4 + 6] = static_cast<uint8_t>(sum >> 8);
  frame[l4 + 7] = static_cast<uint8_t>(sum);
  return frame;
}

/// Returns a frame with UDP from 192.168.0.1 port 1 to 192.168.0.2 port 2, with the payload "abcd".
inline std::vector<uint8_t> UdpOver4(uint16_t length, uint16_t sum) {
  const uint8_t bytes[] = {0, 0,  0, 0, 0, 0, 0,  0,  0,    0,    0,   0,   0x08, 0x00, 0x45, 0,
                           0, 32, 0, 0, 0, 0, 64, 17, 0xf9, 0x79, 192, 168, 0,    1,    192,  168,
                           0, 2,  0, 1, 0, 2, 0,  12, 0,    0,    'a', 'b', 'c',  'd'};
  return WithUdp({std::begin(bytes), std::end(bytes)}, 34, length, sum);
}

/// Returns a frame with UDP from ::1 to ::2. If `stops` >= 0, the UDP header is preceded by a
/// routing header with `stops` segments left.
inline std::vector<uint8_t> UdpOver6(uint16_t length, uint16_t sum, int stops = -1) {
  const uint32_t routing = stops < 0 ? 0 : 8;
  const uint32_t l4 = 54 + routing;
  std::vector<uint8_t> frame(l4 + 12);
  frame[12] = 0x86, frame[13] = 0xdd, frame[14] = 0x60;
  frame[19] = static_cast<uint8_t>(12 + routing);
  frame[20] = routing != 0 ? 43 : 17;
  frame[37] = 1, frame[53] = 2;
  if (routing != 0) frame[54] = 17, frame[57] = static_cast<uint8_t>(stops);
  frame[l4 + 1] = 1, frame[l4 + 3] = 2;
  std::copy_n("abcd", 4, &frame[l4 + 8]);
  return WithUdp(std::move(frame), l4, length, sum);
}

/// Returns UdpOver4(12, 0xb9b8) with a loose source route that has one stop left.
inline std::vector<uint8_t> UdpBehindSourceRoute() {
  std::vector<uint8_t> frame = UdpOver4(12, 0xb9b8);
  const uint8_t route[] = {131, 7, 4, 10, 0, 0, 9, 0};
  frame.insert(frame.begin() + 34, std::begin(route), std::end(route));
  // The checksum is 0xf979 minus the sum of the header's additional words: 200 + 8 + 8307 + 040a +
  // 0900.
  frame[14] = 0x47, frame[17] = 40, frame[24] = 0x67, frame[25] = 0x60;
  return frame;
}

/// The sums follow RFC 1071. Each checksum is the complement of the sum of these values: 8154 (the
/// addresses; 3 for IPv6), 17, the length in the pseudo-header, 3 + the UDP length (ports and
/// length), and c4c6 (the payload; 6162 for half of it). The length in the pseudo-header is that of
/// the IP packet. However, if the datagram is shorter than the packet and its checksum is correct,
/// that length is the UDP length.
inline std::vector<UdpLengthCase> UdpLengths() {
  return {
      {"whole", UdpOver4(12, 0xb9b8), true, Verdict::kGood},
      {"shorter than the packet", UdpOver4(10, 0x1d21), true, Verdict::kGood},
      {"shorter, the sum of all", UdpOver4(10, 0xb9ba), true, Verdict::kBad},
      {"none computed (RFC 768)", UdpOver4(12, 0), true, Verdict::kNone},
      {"0", UdpOver4(0, 0xb9c4), true, Verdict::kBad},
      {"shorter than its header", UdpOver4(7, 0xb9bd), true, Verdict::kBad},
      {"too long", UdpOver4(13, 0xb9b7), true, Verdict::kBad},
      {"too long, none computed", UdpOver4(13, 0), true, Verdict::kBad},
      {"a source route's stop ahead", UdpBehindSourceRoute(), true, Verdict::kNone},
      {"IPv6", UdpOver6(12, 0x3b0a), false, Verdict::kGood},
      {"IPv6, shorter", UdpOver6(10, 0x9e72), false, Verdict::kGood},
      {"IPv6, none computed (RFC 8200)", UdpOver6(12, 0), false, Verdict::kBad},
      {"IPv6, 0 in no jumbogram (RFC 2675)", UdpOver6(0, 0x3b16), false, Verdict::kBad},
      {"IPv6, too long", UdpOver6(13, 0x3b09), false, Verdict::kBad},
      {"behind the last stop", UdpOver6(12, 0x3b0a, 0), false, Verdict::kGood},
      {"a stop ahead (RFC 8200 section 4.4)", UdpOver6(12, 0x3b0a, 1), false, Verdict::kNone},
  };
}

}  // namespace sluice::test
