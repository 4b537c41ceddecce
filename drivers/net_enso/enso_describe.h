// SPDX-License-Identifier: BSD-3-Clause
//
// Fields of a received mbuf that are computed in software, because the NIC reports only the
// position of bytes. Only queues of applications that request a field pay the cost.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace sluice::net_enso {

/// The data that an application requests for each frame in addition to its bytes.
struct Wanted {
  uint32_t packet_types = 0;  ///< RTE_PTYPE_…_MASK of the layers to classify.
  bool ip_checksum = false;   ///< Whether IPv4 header checksums must be verified.
  bool udp_checksum = false;  ///< Whether UDP checksums must be verified.
  bool tcp_checksum = false;  ///< Whether TCP checksums must be verified.
  bool hash = false;          ///< Whether the hash of the NIC's fallback must be computed.

  bool NeedsHeaders() const {
    return packet_types != 0 || ip_checksum || udp_checksum || tcp_checksum;
  }
  bool Any() const { return NeedsHeaders() || hash; }
};

/// The RTE_PTYPE_… values that Describe may set, terminated by RTE_PTYPE_UNKNOWN.
extern const uint32_t kPacketTypes[];
inline constexpr uint32_t kPacketTypeMask =
    RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK;

/// Sets packet_type, ol_flags and hash of `mbuf` from the `length` bytes at `frame`; all bytes of
/// the frame's last flit must be readable. Fields that cannot be determined, such as the checksum
/// of a fragment, are set to unknown.
void Describe(const Wanted& wanted, const uint8_t* frame, uint32_t length, rte_mbuf* mbuf);

}  // namespace sluice::net_enso
