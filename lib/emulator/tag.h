// SPDX-License-Identifier: BSD-3-Clause
//
// The tag in the last 16 bytes of every generated frame, by which the verifier
// knows a frame again wherever an application sent it. Little-endian:
//
//   0  u32  sequence number within the flow, modulo 2^32
//   4  u32  its one's complement: the frame's checksums do not depend on the
//           sequence, and any damage to either half shows
//   8  u32  index of the frame in the generator's ring
//  12  u32  the index XOR the nonce of the run, by which frames of another run show
#pragma once

#include <cstdint>
#include <cstring>

namespace sluice::emulator {

inline constexpr uint32_t kTagBytes = 16;

struct Tag {
  uint32_t sequence;
  uint32_t complement;
  uint32_t index;
  uint32_t check;

  /// The nonce of run number `run`: the number below, above it the number permuted, so that a tag
  /// of some run is told from damage. One wrong bit in index or check never makes another nonce.
  static constexpr uint32_t Nonce(uint16_t run) {
    return uint32_t{static_cast<uint16_t>(run * 0x9e37u ^ 0x536cu)} << 16 | run;
  }
  static Tag Load(const uint8_t* bytes) {
    Tag tag;
    std::memcpy(&tag, bytes, sizeof(tag));
    return tag;
  }
  /// 0 iff the tag is as the run with this nonce stamped it.
  uint32_t Damage(uint32_t nonce) const {
    return (sequence ^ complement ^ 0xffff'ffffu) | (check ^ index ^ nonce);
  }
  /// True iff the tag is as some run but the one with this nonce stamped it.
  bool IsForeign(uint32_t nonce) const {
    const uint32_t theirs = check ^ index;
    return theirs != nonce && Damage(Nonce(static_cast<uint16_t>(theirs))) == 0;
  }
};
static_assert(sizeof(Tag) == kTagBytes);

/// Stores sequence and complement with one store.
inline void StampTag(uint8_t* bytes, uint32_t sequence) {
  const uint64_t both = sequence | uint64_t{~sequence} << 32;
  std::memcpy(bytes, &both, sizeof(both));
}

}  // namespace sluice::emulator
