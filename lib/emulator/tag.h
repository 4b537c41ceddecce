// SPDX-License-Identifier: BSD-3-Clause
//
// The tag in the last 16 bytes of every generated frame, by which the verifier
// knows a frame again wherever an application sent it. Little-endian:
//
//   0  u32  sequence number within the flow, modulo 2^32
//   4  u32  its one's complement: the frame's checksums do not depend on the
//           sequence, and any damage to either half shows
//   8  u32  index of the frame in the generator's ring
//  12  u32  hash of the index
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

  static Tag Load(const uint8_t* bytes) {
    Tag tag;
    std::memcpy(&tag, bytes, sizeof(tag));
    return tag;
  }
  static constexpr uint32_t Check(uint32_t index) { return (index ^ 0x536c'7563u) * 0x9e37'79b1u; }
  /// 0 iff the tag is as it was stamped.
  uint32_t Damage() const {
    return (sequence ^ complement ^ 0xffff'ffffu) | (check ^ Check(index));
  }
};
static_assert(sizeof(Tag) == kTagBytes);

/// Stores sequence and complement with one store.
inline void StampTag(uint8_t* bytes, uint32_t sequence) {
  const uint64_t both = sequence | uint64_t{~sequence} << 32;
  std::memcpy(bytes, &both, sizeof(both));
}

}  // namespace sluice::emulator
