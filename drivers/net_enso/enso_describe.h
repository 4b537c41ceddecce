// SPDX-License-Identifier: BSD-3-Clause
//
// What software finds out about a received frame for its mbuf: the NIC says nothing but where bytes
// are. Only queues whose application wants some of it pay for it.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace sluice::net_enso {

/// What an application wants of each frame beside its bytes.
struct Wanted {
  uint32_t packet_types = 0;  ///< RTE_PTYPE_…_MASK of the layers to name.
  bool ip_checksum = false;   ///< Verify that of IPv4 headers,
  bool udp_checksum = false;  ///< of UDP,
  bool tcp_checksum = false;  ///< and of TCP.
  bool hash = false;          ///< As the NIC's fallback computes it.

  bool NeedsHeaders() const {
    return packet_types != 0 || ip_checksum || udp_checksum || tcp_checksum;
  }
  bool Any() const { return NeedsHeaders() || hash; }
};

/// RTE_PTYPE_… that Describe may find, up to RTE_PTYPE_UNKNOWN.
extern const uint32_t kPacketTypes[];
inline constexpr uint32_t kPacketTypeMask =
    RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK;

/// Sets packet_type, ol_flags and hash of `mbuf` by the `length` bytes at `frame`, which owns its
/// last flit whole. What cannot be told, such as the checksum of a fragment, stays unknown.
void Describe(const Wanted& wanted, const uint8_t* frame, uint32_t length, rte_mbuf* mbuf);

}  // namespace sluice::net_enso
