// SPDX-License-Identifier: BSD-3-Clause
//
// Naive checksums as a reference for the fast functions. They follow RFC 1071 section 1 directly,
// in network order and with one carry at a time.
#pragma once

#include <cstdint>
#include <span>

#include "packet/parse.h"

namespace sluice::test {

inline uint16_t NaiveSum(std::span<const uint8_t> bytes, uint16_t sum = 0) {
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const uint32_t low = i + 1 < bytes.size() ? bytes[i + 1] : 0;
    uint32_t total = sum + (uint32_t{bytes[i]} << 8 | low);
    if (total > 0xffff) total -= 0xffff;
    sum = static_cast<uint16_t>(total);
  }
  return sum;
}

/// Returns the sum of the pseudo-header, upper header and data of a frame that is not a fragment.
/// It is 0xffff if the checksum is correct.
inline uint16_t NaiveUpperSum(const uint8_t* frame, const packet::Headers& headers) {
  const uint8_t* ip = frame + headers.l3;
  uint32_t upper_bytes = headers.end - headers.l4;
  if (headers.protocol == 17) upper_bytes = frame[headers.l4 + 4] << 8 | frame[headers.l4 + 5];
  const uint8_t tail[4] = {0, headers.protocol, static_cast<uint8_t>(upper_bytes >> 8),
                           static_cast<uint8_t>(upper_bytes)};
  uint16_t sum = 0;
  if (headers.network == packet::Network::kIpv4) {
    if (headers.protocol != 1) sum = NaiveSum({ip + 12, 8}, NaiveSum(tail));
  } else {
    // If there are segments left, the final destination is the last address in the routing header,
    // which is the first extension header in the fixtures.
    const uint8_t* destination = headers.source_routed ? ip + 40 + 8 : ip + 24;
    sum = NaiveSum({destination, 16}, NaiveSum({ip + 8, 16}, NaiveSum(tail)));
  }
  return NaiveSum({frame + headers.l4, upper_bytes}, sum);
}

/// Returns whether all checksums that can be verified from this frame alone are correct.
inline bool ChecksumsHold(const uint8_t* frame, const packet::Headers& headers) {
  if (headers.network == packet::Network::kIpv4) {
    const uint32_t header_bytes = (frame[headers.l3] & 0xf) * 4u;
    if (NaiveSum({frame + headers.l3, header_bytes}) != 0xffff) return false;
  }
  if (headers.l4 == 0 || headers.IsFragment()) return true;
  const uint8_t* field = frame + headers.L4ChecksumOffset();
  if (headers.protocol == 17 && field[0] == 0 && field[1] == 0) return true;
  return NaiveUpperSum(frame, headers) == 0xffff;
}

}  // namespace sluice::test
