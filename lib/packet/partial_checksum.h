// SPDX-License-Identifier: BSD-3-Clause
//
// Checksums that Linux leaves to a NIC and no NIC computes. A local sender's UDP or TCP checksum
// field then holds the sum of the pseudo-header alone (Linux, Documentation/networking/
// checksum-offloads.rst, "TX Checksum Offload"), and between the ends of a veth pair nothing
// changes that. The kernel marks such frames (TP_STATUS_CSUMNOTREADY); DPDK's drivers for
// interfaces of the kernel do not pass the mark on.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::packet {

/// Whether frames from ports of this driver of DPDK may have partial checksums without a mark.
constexpr bool HidesPartialChecksums(std::string_view driver) {
  return driver == "net_af_packet" || driver == "net_af_xdp" || driver == "net_pcap";
}

/// Completes the checksum of an unfragmented UDP or TCP packet whose field holds the sum of its
/// pseudo-header, as the sender's NIC would have done. All other frames stay as they are: a
/// complete checksum that happens to be that sum is computed to itself. A damaged frame is taken
/// for a partial one, and made whole, once in 65536 times: use it where frames come from memory or
/// through a NIC that has checked them.
void CompletePartialChecksum(uint8_t* frame, uint32_t length);

}  // namespace sluice::packet
