// SPDX-License-Identifier: BSD-3-Clause
//
// The headers of a record's frame (regs/transport.h), which the transport unit and the host write.
#pragma once

#include <array>
#include <cstdint>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/parse.h"
#include "packet/rewrite.h"
#include "regs/transport.h"

namespace sluice::transport {

using RecordFrame = std::array<uint8_t, regs::transport::kRecordBytes>;

/// Writes the EtherType and the IPv4 and UDP headers of a record to a frame of zeros. Ports are in
/// host order.
inline void WriteRecordHeaders(RecordFrame& frame, const packet::Ipv4Address& source,
                               const packet::Ipv4Address& destination, uint16_t source_port,
                               uint16_t destination_port) {
  uint8_t* const ip = frame.data() + packet::kEthernetHeaderBytes;
  constexpr uint32_t kIpBytes = regs::transport::kRecordBytes - packet::kEthernetHeaderBytes;
  packet::StoreBe16(frame.data() + 12, packet::kEtherTypeIpv4);
  packet::StoreBe32(ip, 0x45000000 | kIpBytes);
  packet::StoreBe32(ip + 4, 0x00004000);  // Do not fragment; the identification is then unused.
  packet::StoreBe32(ip + 8, 64u << 24 | packet::kProtocolUdp << 16);
  packet::Store(ip + 12, source);
  packet::Store(ip + 16, destination);
  packet::Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, packet::kIpv4MinHeaderBytes)));
  uint8_t* const udp = ip + packet::kIpv4MinHeaderBytes;
  packet::StoreBe16(udp, source_port);
  packet::StoreBe16(udp + 2, destination_port);
  packet::StoreBe16(udp + 4, kIpBytes - packet::kIpv4MinHeaderBytes);  // The checksum is 0.
}

}  // namespace sluice::transport
