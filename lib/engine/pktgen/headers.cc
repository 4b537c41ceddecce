// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/headers.h"

#include "packet/bytes.h"
#include "packet/checksum.h"

namespace sluice::engine::pktgen {

namespace {

using packet::StoreBe16;
using packet::StoreBe32;

constexpr uint8_t kEchoRequest = 8;      // RFC 792.
constexpr uint8_t kEchoRequestV6 = 128;  // RFC 4443.

uint16_t Low16(Field::Value value) { return static_cast<uint16_t>(value); }
uint32_t Low32(Field::Value value) { return static_cast<uint32_t>(value); }

void StoreMac(uint8_t* to, Field::Value mac) {
  StoreBe16(to, static_cast<uint16_t>(mac >> 32));
  StoreBe32(to + 2, Low32(mac));
}

void StoreIpv6(uint8_t* to, Field::Value address) {
  for (int i = 0; i < 4; ++i) StoreBe32(to + 4 * i, Low32(address >> (96 - 32 * i)));
}

bool IsIcmp(const HeaderSpec& spec) {
  return spec.protocol != packet::kProtocolUdp && spec.protocol != packet::kProtocolTcp;
}

/// Writes the IP header and the transport header of a packet of `bytes` bytes. If `summed` is set,
/// also writes the transport checksum.
void WritePacket(const HeaderSpec& spec, uint64_t n, uint8_t* ip, uint32_t bytes, bool summed) {
  const bool v6 = spec.ip_version == 6;
  const uint32_t header = v6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  uint8_t* const l4 = ip + header;
  const uint32_t l4_bytes = bytes - header;
  const auto service = static_cast<uint8_t>(spec.service.At(n));
  const uint8_t protocol =
      IsIcmp(spec) ? (v6 ? packet::kProtocolIcmpv6 : packet::kProtocolIcmp) : spec.protocol;
  if (v6) {
    StoreBe32(ip, 6u << 28 | uint32_t{service} << 20);
    StoreBe16(ip + 4, static_cast<uint16_t>(l4_bytes));
    ip[6] = protocol;
    ip[7] = spec.hops;
    StoreIpv6(ip + 8, spec.source.At(n));
    StoreIpv6(ip + 24, spec.destination.At(n));
  } else {
    ip[0] = 0x45;
    ip[1] = service;
    StoreBe16(ip + 2, static_cast<uint16_t>(bytes));
    StoreBe16(ip + 6, 0x4000);  // Don't fragment: no identification is needed (RFC 6864).
    ip[8] = spec.hops;
    ip[9] = protocol;
    StoreBe32(ip + 12, Low32(spec.source.At(n)));
    StoreBe32(ip + 16, Low32(spec.destination.At(n)));
    packet::Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, header)));
  }
  uint64_t sum = v6 ? packet::PseudoHeaderSumIpv6(ip, protocol, l4_bytes)
                    : packet::PseudoHeaderSumIpv4(ip, protocol, static_cast<uint16_t>(l4_bytes));
  uint32_t checksum_at = 0;
  if (IsIcmp(spec)) {
    l4[0] = v6 ? kEchoRequestV6 : kEchoRequest;
    StoreBe16(l4 + 4, Low16(spec.source_port.At(n)));
    StoreBe16(l4 + 6, Low16(spec.destination_port.At(n)));
    checksum_at = 2;
    if (!v6) sum = 0;
  } else {
    StoreBe16(l4, Low16(spec.source_port.At(n)));
    StoreBe16(l4 + 2, Low16(spec.destination_port.At(n)));
    if (protocol == packet::kProtocolTcp) {
      l4[12] = 5 << 4;
      l4[13] = spec.tcp_flags;
      StoreBe16(l4 + 14, 0xffff);
      checksum_at = 16;
    } else {
      StoreBe16(l4 + 4, static_cast<uint16_t>(l4_bytes));
      checksum_at = 6;
    }
  }
  if (!summed) return;
  const uint16_t checksum = packet::FinishChecksum(packet::SumBytes(l4, l4_bytes, sum));
  packet::Store<uint16_t>(l4 + checksum_at,
                          checksum == 0 && protocol == packet::kProtocolUdp ? 0xffff : checksum);
}

/// Writes the Ethernet header and VLAN tags. Returns their size in bytes.
uint32_t WriteEthernet(const HeaderSpec& spec, uint64_t n, uint8_t* frame) {
  StoreMac(frame, spec.destination_mac.At(n));
  StoreMac(frame + 6, spec.source_mac.At(n));
  uint32_t at = 12;
  for (const VlanTag& tag : spec.tags) {
    StoreBe16(frame + at, tag.ethertype);
    StoreBe16(frame + at + 2, static_cast<uint16_t>(Low16(tag.id.At(n)) | tag.priority << 13));
    at += packet::kVlanTagBytes;
  }
  StoreBe16(frame + at, spec.ip_version == 6 ? packet::kEtherTypeIpv6 : packet::kEtherTypeIpv4);
  return at + 2;
}

}  // namespace

uint32_t HeaderSpec::bytes() const {
  const uint32_t ip = ip_version == 6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  const uint32_t l4 = protocol == packet::kProtocolTcp ? packet::kTcpMinHeaderBytes
                      : IsIcmp(*this)                  ? packet::kIcmpHeaderBytes
                                                       : packet::kUdpHeaderBytes;
  return packet::kEthernetHeaderBytes + static_cast<uint32_t>(tags.size()) * packet::kVlanTagBytes +
         ip + l4;
}

std::vector<const Field*> HeaderSpec::fields() const {
  std::vector<const Field*> all{&destination_mac, &source_mac,  &source,          &destination,
                                &service,         &source_port, &destination_port};
  for (const VlanTag& tag : tags) all.push_back(&tag.id);
  return all;
}

void WriteHeaders(const StreamSpec& spec, uint64_t n, uint8_t* frame, uint32_t length) {
  if (spec.vxlan) {
    const HeaderSpec& outer = spec.vxlan->outer;
    const uint32_t outer_bytes = outer.bytes();
    const uint32_t ethernet = WriteEthernet(outer, n, frame);
    // RFC 7348, section 4.1: the outer UDP checksum should be zero.
    WritePacket(outer, n, frame + ethernet, length - ethernet, false);
    uint8_t* const vxlan = frame + outer_bytes;
    vxlan[0] = 0x08;  // Flag: the VNI is valid.
    StoreBe32(vxlan + 4, Low32(spec.vxlan->network.At(n)) << 8);
    frame += outer_bytes + kVxlanBytes;
    length -= outer_bytes + kVxlanBytes;
  }
  const uint32_t ethernet = WriteEthernet(spec.headers, n, frame);
  WritePacket(spec.headers, n, frame + ethernet, length - ethernet, true);
}

}  // namespace sluice::engine::pktgen
