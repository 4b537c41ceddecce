// SPDX-License-Identifier: BSD-3-Clause
#include "packet/frame_length.h"

namespace sluice::packet {

// The deepest read is an IPv6 payload length after two tags (8 bytes), at offset 14 + 8 + 4, inside
// the first flit.
static_assert(kEthernetHeaderBytes + kMaxVlanTags * kVlanTagBytes + 6 <= kFlitBytes);

uint32_t FrameLengthOfOther(const uint8_t* flit) {
  uint32_t l3 = kEthernetHeaderBytes;
  uint16_t ethertype = LoadBe16(flit + 12);
  for (uint32_t tags = 0; tags < kMaxVlanTags && IsVlanTag(ethertype); ++tags) {
    l3 += kVlanTagBytes;
    ethertype = LoadBe16(flit + l3 - 2);
  }
  const uint8_t version = flit[l3] >> 4;
  switch (ethertype) {
    case kEtherTypeIpv4: {
      const uint32_t total_length = LoadBe16(flit + l3 + 2);
      return version == 4 && total_length >= kIpv4MinHeaderBytes ? l3 + total_length : 0;
    }
    case kEtherTypeIpv6:
      return version == 6 ? l3 + kIpv6HeaderBytes + LoadBe16(flit + l3 + 4) : 0;
    case kEtherTypeArp:
      return l3 + kArpBytes;
    default:
      return ethertype >= kMinLlcBytes && ethertype <= kMaxLlcBytes ? l3 + ethertype : 0;
  }
}

}  // namespace sluice::packet
