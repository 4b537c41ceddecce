// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "packet/bytes.h"
#include "packet/fixtures.h"
#include "packet/oracle.h"
#include "packet/parse.h"

namespace sluice::fuzz {

/// Sets correct checksums in a packet, as a sender does, because a fuzzer cannot guess them.
inline void SetChecksums(test::Bytes& bytes) {
  uint8_t* frame = bytes.data();
  const packet::Headers headers = packet::Parse(frame, static_cast<uint32_t>(bytes.size()));
  if (headers.error != packet::ParseError::kNone) return;
  if (headers.network == packet::Network::kIpv4) {
    uint8_t* ip = frame + headers.l3;
    packet::StoreBe16(ip + 10, 0);
    const auto sum = test::NaiveSum({ip, (ip[0] & 0xfu) * 4});
    packet::StoreBe16(ip + 10, static_cast<uint16_t>(~sum));
  }
  if (headers.l4 != 0 && !headers.IsFragment() && !headers.source_routed) {
    uint8_t* field = frame + headers.L4ChecksumOffset();
    packet::StoreBe16(field, 0);
    const auto checksum = static_cast<uint16_t>(~test::NaiveUpperSum(frame, headers));
    packet::StoreBe16(field, checksum == 0 && headers.protocol == 17 ? 0xffff : checksum);
  }
}

/// Returns whether the bytes are a packet with correct checksums.
inline bool HasValidChecksums(const test::Bytes& bytes) {
  const packet::Headers headers = packet::Parse(bytes.data(), static_cast<uint32_t>(bytes.size()));
  return headers.error == packet::ParseError::kNone && test::ChecksumsHold(bytes.data(), headers);
}

}  // namespace sluice::fuzz
