// SPDX-License-Identifier: BSD-3-Clause
//
// Checksums that an application leaves to the port: the NIC computes none, so the driver's software
// fills them in, in the copy of the frame that the NIC reads. Only ports that are configured for it
// pay for it.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>

namespace sluice::net_enso {

inline constexpr uint64_t kTxChecksumOffloads =
    RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
/// In the ol_flags of a frame that asks for one.
inline constexpr uint64_t kTxChecksumFlags = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK;

/// Fills in what ol_flags, l2_len and l3_len of `mbuf` ask for, whatever the fields hold before.
/// `frame`: its bytes, pkt_len of them, contiguous. False if they ask for something outside the
/// frame, or for what is not offered; the bytes are then of no use.
bool FillChecksums(const rte_mbuf& mbuf, uint8_t* frame);

}  // namespace sluice::net_enso
