// SPDX-License-Identifier: BSD-3-Clause
//
// Transmit checksum offloads. The NIC does not compute checksums, so the driver computes them in
// software, in the copy of the frame that the NIC reads. Only ports configured with these offloads
// pay the cost.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>

namespace sluice::net_enso {

inline constexpr uint64_t kTxChecksumOffloads =
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
/// Bits of ol_flags that request a checksum.
inline constexpr uint64_t kTxChecksumFlags = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK;

/// Fills in the checksums that `mbuf` requests with ol_flags, l2_len and l3_len, regardless of the
/// current values of the checksum fields. `frame` points to the frame's pkt_len contiguous bytes.
/// Returns false if a request exceeds the frame or is not supported; the frame must then not be
/// sent.
bool FillChecksums(const rte_mbuf& mbuf, uint8_t* frame);

}  // namespace sluice::net_enso
