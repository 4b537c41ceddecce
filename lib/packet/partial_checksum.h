// SPDX-License-Identifier: BSD-3-Clause
//
// Completes checksums that Linux has offloaded to a NIC, for frames that do not pass through a NIC.
// The UDP or TCP checksum field of a local sender then contains only the sum of the pseudo-header
// (Linux, Documentation/networking/checksum-offloads.rst, "TX Checksum Offload"), and a veth pair
// does not complete it. The kernel marks these frames (TP_STATUS_CSUMNOTREADY), but DPDK's drivers
// for kernel interfaces do not pass the mark on.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::packet {

/// Returns whether ports of this DPDK driver may deliver frames with unmarked partial checksums.
constexpr bool HidesPartialChecksums(std::string_view driver) {
  return driver == "net_af_packet" || driver == "net_af_xdp" || driver == "net_pcap";
}

/// Completes the checksum of an unfragmented UDP or TCP packet if the field contains the sum of its
/// pseudo-header, as the sender's NIC would have done. All other frames stay unchanged; a complete
/// checksum that equals that sum is recomputed to the same value. One damaged frame in 65536 looks
/// like a partial checksum and gets a valid one. Therefore use it only for frames from memory, or
/// from a NIC that has checked them.
void CompletePartialChecksum(uint8_t* frame, uint32_t length);

}  // namespace sluice::packet
