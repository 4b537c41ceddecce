// SPDX-License-Identifier: BSD-3-Clause
//
// Known frames, one line per header, from 02:00:00:00:00:01 / 10.0.0.1 / fd00::1 to
// 02:00:00:00:00:02 / 10.0.0.2 / fd00::2, ports 1000 and 2000 (UDP) or 40000 and 443 (TCP). Their
// bytes, including checksums, were computed with scapy, so the expected values are independent of
// the tested code.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::test {

using Bytes = std::vector<uint8_t>;

inline Bytes FromHex(std::string_view hex) {
  const auto digit = [](char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return bytes;
}

/// A heap copy of exactly its size, so that AddressSanitizer detects accesses beyond the frame. It
/// optionally has extra space after the frame.
class ExactBuffer {
 public:
  explicit ExactBuffer(std::span<const uint8_t> bytes, size_t room = 0)
      : data_(new uint8_t[bytes.size() + room]()), size_(bytes.size()) {
    if (!bytes.empty()) std::memcpy(data_.get(), bytes.data(), bytes.size());
  }
  uint8_t* data() const { return data_.get(); }
  uint32_t size() const { return static_cast<uint32_t>(size_); }
  Bytes bytes(size_t size) const { return Bytes(data_.get(), data_.get() + size); }
  Bytes bytes() const { return bytes(size_); }

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t size_;
};

inline const Bytes kUdp4 = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4500002e12344000401114890a0000010a000002"  // IPv4
    "03e807d0001ae5fc"                          // UDP
    "303132333435363738393a3b3c3d3e3f4041");    // payload

inline const Bytes kUdp4NoChecksum = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4500002e00010000401166bc0a0000010a000002"  // IPv4
    "03e807d0001a0000"                          // UDP, checksum 0: not computed
    "303132333435363738393a3b3c3d3e3f4041");    // payload

inline const Bytes kUdp4Empty = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4500001c00010000401166ce0a0000010a000002"  // IPv4, total length 28
    "03e807d00008e023"                          // UDP
    "000000000000000000000000000000000000");    // Ethernet padding

inline const Bytes kTcp4Options = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4510003900010000400666ac0a0000010a000002"  // IPv4, type of service 0x10
    "9c4001bb00000001000000028018200060da0000"  // TCP, data offset 8
    "0101080a0000000100000002"                  // two no-operations, timestamps
    "68656c6c6f");                              // payload

inline const Bytes kTcp4Syn = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4500002800010000400666cd0a0000010a000002"  // IPv4
    "9c4001bb000000010000000050022000dde30000"  // TCP, SYN, no payload
    "000000000000");                            // Ethernet padding

inline const Bytes kUdp4IpOptions = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "46000032000100004011d1b30a0000010a000002"  // IPv4, header length 24
    "94040000"                                  // router alert
    "03e807d0001ae5fc"                          // UDP
    "303132333435363738393a3b3c3d3e3f4041");    // payload

inline const Bytes kVlanUdp4 = FromHex(
    "020000000002020000000001"                  // MAC addresses
    "81006064"                                  // priority 3, VLAN 100
    "0800"                                      // EtherType
    "4500002e00010000401166bc0a0000010a000002"  // IPv4
    "03e807d0001ae5fc"                          // UDP
    "303132333435363738393a3b3c3d3e3f4041");    // payload

inline const Bytes kQinQUdp6 = FromHex(
    "020000000002020000000001"                                          // MAC addresses
    "88a80007"                                                          // service tag 7
    "81000064"                                                          // customer tag 100
    "86dd"                                                              // EtherType
    "60000000001a1140fd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "03e807d0001afffa"                        // UDP
    "303132333435363738393a3b3c3d3e3f4041");  // payload

inline const Bytes kVlanArp = FromHex(
    "ffffffffffff020000000001"                                  // MAC addresses
    "81000064"                                                  // VLAN 100
    "0806"                                                      // EtherType
    "00010800060400010200000000010a0000010000000000000a000002"  // ARP request
    "0000000000000000000000000000");                            // Ethernet padding

inline const Bytes kUdp6 = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "60000000001a1140fd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "03e807d0001afffa"                        // UDP
    "303132333435363738393a3b3c3d3e3f4041");  // payload

inline const Bytes kTcp6Extensions = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "6000000000270040fd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "3c00010400000000"                          // hop-by-hop options
    "0600010400000000"                          // destination options
    "9c4001bb000000010000000150102000738d0000"  // TCP, ACK
    "414243");                                  // payload

inline const Bytes kUdp6Routed = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "6000000000322b40fd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "1102000100000000fd000000000000000000000000000009"  // routing header, last stop fd00::9
    "03e807d0001afff3"                                  // UDP
    "303132333435363738393a3b3c3d3e3f4041");            // payload

inline const Bytes kUdp6Authenticated = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "6000000000323340fd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "110400000000000100000001000000000000000000000000"  // authentication header
    "03e807d0001afffa"                                  // UDP
    "303132333435363738393a3b3c3d3e3f4041");            // payload

inline const Bytes kUdp4FirstFragment = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4500002c00092000401146b60a0000010a000002"  // IPv4, more fragments, offset 0
    "03e807d000306242"                          // UDP, length 48 of the whole datagram
    "000102030405060708090a0b0c0d0e0f");        // payload, first part

inline const Bytes kUdp4LaterFragment = FromHex(
    "0200000000020200000000010800"                        // Ethernet
    "4500002c00090003401166b30a0000010a000002"            // IPv4, offset 24
    "101112131415161718191a1b1c1d1e1f2021222324252627");  // payload, rest

inline const Bytes kUdp6FirstFragment = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "6000000000202c40fd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "1100000100000005"                    // fragment header, more, offset 0
    "03e807d000307c40"                    // UDP, length 48 of the whole datagram
    "000102030405060708090a0b0c0d0e0f");  // payload, first part

inline const Bytes kUdp6LaterFragment = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "6000000000202c40fd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "1100001800000005"                                    // fragment header, last, offset 24
    "101112131415161718191a1b1c1d1e1f2021222324252627");  // payload, rest

inline const Bytes kPing4 = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4500002e0001000007019fcc0a0000010a000002"  // IPv4, TTL 7
    "0800fdf900010002"                          // ICMP echo request 1/2
    "303132333435363738393a3b3c3d3e3f4041");    // payload

inline const Bytes kPing4Zero = FromHex(
    "0200000000020200000000010800"              // Ethernet
    "4500002e00010000400166cc0a0000010a000002"  // IPv4
    "0800f7ff00000000"                          // ICMP echo request 0/0
    "000000000000000000000000000000000000");    // payload

inline const Bytes kPing6 = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "60000000001a3a07fd000000000000000000000000000001fd00000000000000"  // IPv6, hop limit 7
    "0000000000000002"
    "80008ba000010002"                        // ICMPv6 echo request 1/2
    "303132333435363738393a3b3c3d3e3f4041");  // payload

inline const Bytes kSolicitation = FromHex(
    "3333ff00000202000000000186dd"                                      // Ethernet
    "6000000000203afffd000000000000000000000000000001ff02000000000000"  // IPv6 to ff02::1:ff00:2
    "00000001ff000002"
    "87007d9700000000fd000000000000000000000000000002"  // neighbour solicitation for fd00::2
    "0101020000000001");                                // source link-layer address

inline const Bytes kSolicitationUnicast = FromHex(
    "02000000000202000000000186dd"                                      // Ethernet
    "6000000000183afffd000000000000000000000000000001fd00000000000000"  // IPv6
    "0000000000000002"
    "870081a500000000fd000000000000000000000000000002");  // solicitation for fd00::2, no options

inline const Bytes kDuplicateDetection = FromHex(
    "3333ff00000202000000000186dd"                                      // Ethernet
    "6000000000183aff00000000000000000000000000000000ff02000000000000"  // IPv6, :: to group
    "00000001ff000002"
    "87007da300000000fd000000000000000000000000000002");  // neighbour solicitation for fd00::2

inline const Bytes kArpRequest = FromHex(
    "ffffffffffff0200000000010806"                              // Ethernet
    "00010800060400010200000000010a0000010000000000000a000002"  // ARP request for 10.0.0.2
    "000000000000000000000000000000000000");                    // Ethernet padding

inline const Bytes kSpanningTree = FromHex(
    "0180c20000000200000000010026"                                      // IEEE 802.3, length 38
    "424203"                                                            // LLC
    "0000000000000000000000000000000000000000000000000000000100140002"  // spanning tree
    "000f00"
    "0000000000000000");  // Ethernet padding

inline const Bytes kGre4 = FromHex(
    "0200000000020200000000010800"                    // Ethernet
    "4500002e00010000402f669e0a0000010a000002"        // IPv4, protocol 47
    "00000800"                                        // GRE
    "0102030405060708090a0b0c0d0e0f10111213141516");  // payload

inline const Bytes kLldp = FromHex(
    "02000000000202000000000188cc"  // Ethernet, EtherType 0x88cc
    "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"  // LLDP
    "2122232425262728292a2b2c2d2e");

struct Fixture {
  std::string_view name;
  const Bytes* bytes;
};

inline const Fixture kFixtures[] = {
    {"Udp4", &kUdp4},
    {"Udp4NoChecksum", &kUdp4NoChecksum},
    {"Udp4Empty", &kUdp4Empty},
    {"Tcp4Options", &kTcp4Options},
    {"Tcp4Syn", &kTcp4Syn},
    {"Udp4IpOptions", &kUdp4IpOptions},
    {"VlanUdp4", &kVlanUdp4},
    {"QinQUdp6", &kQinQUdp6},
    {"VlanArp", &kVlanArp},
    {"Udp6", &kUdp6},
    {"Tcp6Extensions", &kTcp6Extensions},
    {"Udp6Routed", &kUdp6Routed},
    {"Udp6Authenticated", &kUdp6Authenticated},
    {"Udp4FirstFragment", &kUdp4FirstFragment},
    {"Udp4LaterFragment", &kUdp4LaterFragment},
    {"Udp6FirstFragment", &kUdp6FirstFragment},
    {"Udp6LaterFragment", &kUdp6LaterFragment},
    {"Ping4", &kPing4},
    {"Ping4Zero", &kPing4Zero},
    {"Ping6", &kPing6},
    {"Solicitation", &kSolicitation},
    {"SolicitationUnicast", &kSolicitationUnicast},
    {"DuplicateDetection", &kDuplicateDetection},
    {"ArpRequest", &kArpRequest},
    {"SpanningTree", &kSpanningTree},
    {"Gre4", &kGre4},
    {"Lldp", &kLldp},
};

}  // namespace sluice::test
