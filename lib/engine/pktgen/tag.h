// SPDX-License-Identifier: BSD-3-Clause
//
// The tag in the last 16 bytes of a frame. It identifies the frame even if a device changes the
// frame's headers or sends it to another port. Little-endian:
//
//   0  u32  sequence number within the stream and worker, modulo 2^32
//   4  u40  scheduled departure, ns since the start of the run, modulo 2^40 (18 minutes)
//   9  u8   worker that sent it
//  10  u16  number of the run, to detect frames of another run or generator
//  12  u16  stream
//  14  u16  balance: makes the Internet checksum's sum of the tag 0, so that checksums of the
//           frame do not depend on the tag, and bit errors are detected
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "packet/checksum.h"

namespace sluice::engine::pktgen {

inline constexpr uint32_t kTagBytes = 16;
inline constexpr uint64_t kDepartureMask = (uint64_t{1} << 40) - 1;

struct Tag {
  uint32_t sequence = 0;
  uint64_t departure_ns = 0;  ///< Modulo 2^40.
  uint8_t worker = 0;
  uint16_t run = 0;
  uint16_t stream = 0;

  friend bool operator==(const Tag&, const Tag&) = default;

  void Store(uint8_t* bytes) const {
    const uint64_t first = sequence | departure_ns << 32;
    const uint64_t second = (departure_ns >> 32 & 0xff) | uint64_t{worker} << 8 |
                            uint64_t{run} << 16 | uint64_t{stream} << 32;
    const uint64_t balance = packet::FinishChecksum(Sum(first, second));
    packet::Store(bytes, first);
    packet::Store(bytes + 8, second | balance << 48);
  }
  /// Reads `tag` from kTagBytes bytes. Returns false if the bytes are a damaged tag or not a tag;
  /// `tag` is set in any case.
  static bool Load(const uint8_t* bytes, Tag* tag) {
    const auto first = packet::Load<uint64_t>(bytes);
    const auto second = packet::Load<uint64_t>(bytes + 8);
    tag->sequence = static_cast<uint32_t>(first);
    tag->departure_ns = first >> 32 | (second & 0xff) << 32;
    tag->worker = static_cast<uint8_t>(second >> 8);
    tag->run = static_cast<uint16_t>(second >> 16);
    tag->stream = static_cast<uint16_t>(second >> 32);
    return packet::ChecksumHolds(Sum(first, second));
  }

 private:
  /// Adds pairs of 16-bit words.
  static uint64_t Sum(uint64_t first, uint64_t second) {
    return (first & 0xffffffff) + (first >> 32) + (second & 0xffffffff) + (second >> 32);
  }
};

}  // namespace sluice::engine::pktgen
