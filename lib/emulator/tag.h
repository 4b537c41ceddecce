// SPDX-License-Identifier: BSD-3-Clause
//
// The tag in the last 16 bytes of every generated frame. It identifies the frame when an
// application returns it. Little-endian:
//
//   0  u32  sequence number within the flow, modulo 2^32
//   4  u32  its one's complement: the frame's checksums do not depend on the
//           sequence, and damage to either half is detected
//   8  u32  index of the frame in the generator's ring
//  12  u32  the index XOR the nonce of the run, to detect frames of another run
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

  /// Returns the nonce of run number `run`: the number in the lower half and a permutation of it in
  /// the upper half, so that a tag from another run can be distinguished from a damaged tag. A
  /// single wrong bit in the index or the check never results in another run's nonce.
  static constexpr uint32_t Nonce(uint16_t run) {
    return uint32_t{static_cast<uint16_t>(run * 0x9e37u ^ 0x536cu)} << 16 | run;
  }
  static Tag Load(const uint8_t* bytes) {
    Tag tag;
    std::memcpy(&tag, bytes, sizeof(tag));
    return tag;
  }
  /// Returns 0 if and only if the tag has not changed since the run with this nonce stamped it.
  uint32_t Damage(uint32_t nonce) const {
    return (sequence ^ complement ^ 0xffff'ffffu) | (check ^ index ^ nonce);
  }
  /// Returns true if and only if a run with another nonce stamped the tag and the tag has not
  /// changed since.
  bool IsForeign(uint32_t nonce) const {
    const uint32_t theirs = check ^ index;
    return theirs != nonce && Damage(Nonce(static_cast<uint16_t>(theirs))) == 0;
  }
};
static_assert(sizeof(Tag) == kTagBytes);

/// Stores the sequence number and its complement with a single store.
inline void StampTag(uint8_t* bytes, uint32_t sequence) {
  const uint64_t both = sequence | uint64_t{~sequence} << 32;
  std::memcpy(bytes, &both, sizeof(both));
}

}  // namespace sluice::emulator
