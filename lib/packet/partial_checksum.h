// SPDX-License-Identifier: BSD-3-Clause
//
// Completes checksums whose computation Linux has offloaded to a NIC, for frames that do not pass
// through a NIC. In frames from a local sender, the UDP or TCP checksum field contains only the sum
// of the pseudo-header (Linux, Documentation/networking/checksum-offloads.rst, "TX Checksum
// Offload"), and a veth pair does not complete it. The kernel marks these frames
// (TP_STATUS_CSUMNOTREADY), but DPDK's drivers for kernel interfaces discard the mark.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::packet {

/// Returns whether ports of this DPDK driver may deliver frames with unmarked partial checksums.
constexpr bool HidesPartialChecksums(std::string_view driver) {
  return driver == "net_af_packet" || driver == "net_af_xdp" || driver == "net_pcap";
}

/// Completes the checksum of an unfragmented UDP or TCP packet if the checksum field contains only
/// the pseudo-header sum. Other frames are not changed. A damaged frame matches by chance with
/// probability 1/65536, and then leaves with a valid checksum. Use this only for frames from memory
/// or from a NIC that verified them.
void CompletePartialChecksum(uint8_t* frame, uint32_t length);

}  // namespace sluice::packet
