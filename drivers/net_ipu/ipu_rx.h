// SPDX-License-Identifier: BSD-3-Clause
//
// Reads single completions. Used by the scalar burst functions, and by the vector function for
// completions that do not fill a group.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bar/fence.h"
#include "bar/load_once.h"
#include "net_ipu/ipu_queue.h"

namespace sluice::net_ipu {

/// The device's flags and class codes are the same as those of an mbuf, so they need no
/// translation.
static_assert(regs::ipu::kRxTag == RTE_MBUF_F_RX_VLAN);
static_assert(regs::ipu::kRxTagStripped == RTE_MBUF_F_RX_VLAN_STRIPPED);
static_assert(regs::ipu::kRxPtp == RTE_MBUF_F_RX_IEEE1588_PTP);
static_assert(regs::ipu::kRxStamped == RTE_MBUF_F_RX_IEEE1588_TMST);
static_assert(regs::ipu::kRxHashValid == RTE_MBUF_F_RX_RSS_HASH);
static_assert(regs::ipu::kRxFlowHit == RTE_MBUF_F_RX_FDIR);
static_assert(regs::ipu::kRxMarkValid == RTE_MBUF_F_RX_FDIR_ID);
static_assert(regs::ipu::kRxL4Bad == RTE_MBUF_F_RX_L4_CKSUM_BAD);
static_assert(regs::ipu::kRxL4Good == RTE_MBUF_F_RX_L4_CKSUM_GOOD);
static_assert(regs::ipu::kRxIpBad == RTE_MBUF_F_RX_IP_CKSUM_BAD);
static_assert(regs::ipu::kRxIpGood == RTE_MBUF_F_RX_IP_CKSUM_GOOD);
static_assert(regs::ipu::kClassArp == RTE_PTYPE_L2_ETHER_ARP);
static_assert(regs::ipu::kClassQinq == RTE_PTYPE_L2_ETHER_QINQ);
static_assert(regs::ipu::kClassIpv4Options == RTE_PTYPE_L3_IPV4_EXT);
static_assert(regs::ipu::kClassIpv6Extension == RTE_PTYPE_L3_IPV6_EXT);
static_assert(regs::ipu::kClassOtherL4 == RTE_PTYPE_L4_NONFRAG);

/// If the done bit is set, the low word and the frame's bytes are visible.
inline uint64_t LoadHigh(const regs::ipu::Descriptor& descriptor) {
  return bar::LoadFromDevice(descriptor.high);
}

inline bool Done(uint64_t high) { return (high & regs::ipu::kDone) != 0; }

/// Returns the length of the segment in bytes, or 0 if the length in the write-back is 0 or exceeds
/// the buffer.
inline uint32_t SegmentLength(const RxQueue& queue, uint64_t high) {
  const uint32_t length = static_cast<uint16_t>(high);
  return length <= queue.room ? length : 0;
}

/// Returns the address of data_off, refcnt, nb_segs and port, which are set as one word.
inline void* RearmField(rte_mbuf* mbuf) {
  return reinterpret_cast<uint8_t*>(mbuf) + offsetof(rte_mbuf, rearm_data);
}

/// Flags of write-backs with additional fields: a mark or a tag.
inline constexpr uint64_t kRareFlags = RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_VLAN;

/// Copies the mark and the tag, if present, to the mbuf.
inline void FillRare(rte_mbuf* mbuf, uint64_t low, uint64_t high) {
  if (mbuf->ol_flags & RTE_MBUF_F_RX_FDIR) {
    mbuf->hash.fdir.hi = static_cast<uint32_t>(low >> regs::ipu::kRxMarkShift);
  }
  if (mbuf->ol_flags & RTE_MBUF_F_RX_VLAN) {
    mbuf->packet_type &= regs::ipu::kClassMask;
    mbuf->vlan_tci = regs::ipu::RxTagOf(high);
  }
}

/// Fills an mbuf from a segment. Packet fields are valid only for the first segment.
inline void FillMbuf(const RxQueue& queue, rte_mbuf* mbuf, uint64_t low, uint64_t high) {
  const uint32_t length = static_cast<uint16_t>(high);
  std::memcpy(RearmField(mbuf), &queue.rearm, sizeof(queue.rearm));
  mbuf->ol_flags = queue.flags | static_cast<uint16_t>(high >> regs::ipu::kRxFlagsShift);
  mbuf->packet_type = static_cast<uint16_t>(high >> regs::ipu::kRxClassShift);
  mbuf->pkt_len = length;
  mbuf->data_len = static_cast<uint16_t>(length);
  mbuf->vlan_tci = 0;
  mbuf->hash.rss = static_cast<uint32_t>(low);
  if (mbuf->ol_flags & kRareFlags) FillRare(mbuf, low, high);
}

}  // namespace sluice::net_ipu
