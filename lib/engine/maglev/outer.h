// SPDX-License-Identifier: BSD-3-Clause
//
// Encapsulation: the headers between the Ethernet header and the inner IP packet. They are prepared
// once per backend. Only lengths, fields that depend on the flow, and the checksum are written per
// packet.
//
//   kIp   IPv4 in IPv4 (RFC 2003): +20; IPv4 or IPv6 in IPv6 (RFC 2473): +40
//   kGre  as kIp, and 4 bytes of GRE (RFC 2784)
//   kGue  as kIp, and 8 bytes of UDP; variant 1: the inner IP header follows UDP
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "cpu/vector.h"
#include "engine/maglev/address.h"
#include "engine/maglev/setup.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/flow_key.h"
#include "packet/frame.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

inline constexpr uint8_t kProtocolIpv4 = 4;  ///< IPv4 in IP, RFC 2003.
inline constexpr uint8_t kTtl = 64;          ///< TTL of outer headers.
/// 172.16/16: prefix of outer IPv4 sources that are derived from the flow, as Katran's are.
inline constexpr uint16_t kPrivatePrefix = 0xac10;
inline constexpr uint32_t kMaxOuterBytes = [] {
  uint32_t most = 0;
  for (const EncapsulationRow& row : kEncapsulations) {
    most = std::max(most, OuterBytes(row.id, true));
  }
  return most;
}();
/// Longest frame that is built outside its buffer because the buffer lacks headroom: a jumbo frame.
inline constexpr uint32_t kMaxBuiltBytes = 9728;

struct Outer {
  alignas(16) std::array<uint8_t, kMaxOuterBytes> header{};
  packet::MacAddress next_hop{};
  uint8_t header_bytes = 0;  ///< 0: nothing is prepended (RewritesInPlace).
  bool ipv6 = false;         ///< The outer header is IPv6.
  bool udp = false;
  bool fixed_source = false;  ///< False: the source address is derived from the flow.
  /// IPv4 in IPv4 without options, with a source derived from the flow.
  bool plain = false;
};

/// Returns the outer headers for `encapsulation` to `backend` according to `setup`.
Outer MakeOuter(const Setup& setup, Encapsulation encapsulation, const BackendSetup& backend);

/// Fields of a flow from which the outer source address and port are derived, so that routers and
/// NIC queues on the way to the backend spread the traffic. In network order; the derivation is
/// Katran's.
struct Entropy {
  uint32_t source = 0;  ///< Source address; IPv6: its last word.
  uint16_t port = 0;    ///< Source port; 0 if the packet has no ports.

  static Entropy Of(const packet::FlowKey& flow);
  /// Returns the lower half of an outer IPv4 source, which is also GUE's source port over IPv4.
  uint16_t Half() const { return static_cast<uint16_t>(__builtin_bswap16(port) ^ source >> 16); }
  /// Returns the last word of an outer IPv6 source.
  uint32_t Word() const { return source ^ port; }
  /// Returns GUE's source port over IPv6.
  uint16_t PortInIpv6(bool inner_ipv6) const {
    return static_cast<uint16_t>((inner_ipv6 ? source : source >> 16) ^ port);
  }
};

/// Prepends `outer` to the IP packet of a frame that Parse accepted. The Ethernet header and VLAN
/// tags move to the front, with the next hop as destination and the old destination as source;
/// Ethernet padding is removed. DSCP and ECN are copied, the TTL is 64, DF is not set. The caller
/// must have checked the headroom (outer.header_bytes) and the MTU.
void Encapsulate(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                 Entropy entropy);

/// Compact form of a `plain` Outer or of a rewrite in place; a quarter of a cache line. It contains
/// the owner, so that one load provides both whether a connection may stay with this backend
/// (Tables::Serves) and how to send its packets.
struct alignas(16) PlainOuter {
  /// Returns the value of `owner` for a backend that serves the VIP at index `vip`. `backend` is
  /// BackendRef::word. Backends with the same index have different values unless generation and VIP
  /// are equal.
  static constexpr uint32_t Owner(uint32_t backend, uint32_t vip) { return backend ^ vip; }

  packet::MacAddress next_hop{};
  /// kIp: folded sum of the header fields after the type of service that are equal in all packets,
  /// less the EtherType. kNat: the port in network order; 0: unchanged.
  uint16_t sum_or_port = 0;
  uint32_t destination = 0;  ///< Address in network order.
  uint32_t owner = 0xffff;   ///< Owner(), or 0xffff, which no backend has, if unused or not plain.
};
static_assert(sizeof(PlainOuter) == 16);
PlainOuter MakePlainOuter(const Outer& outer, uint32_t owner);

/// Copies a plain packet of at least 16 bytes. Inline, because most packets are short and a call
/// would cost more.
inline void CopyPlain(const uint8_t* from, uint32_t bytes, uint8_t* to) {
  if (bytes < 32) {
    std::memcpy(to, from, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
    return;
  }
  for (uint32_t at = 0; at < bytes - 32; at += 32) std::memcpy(to + at, from + at, 32);
  std::memcpy(to + bytes - 32, from + bytes - 32, 32);
}

/// Length of a plain outer header.
inline constexpr uint32_t kPlainBytes = packet::kIpv4MinHeaderBytes;
/// Fast path of Encapsulate for an untagged IPv4 packet of `total_length` bytes without options.
/// Writes the Ethernet header and the outer header to `start`, which is kPlainBytes before `frame`
/// or in another buffer.
[[gnu::always_inline]] inline void EncapsulatePlain(const uint8_t* frame, uint32_t total_length,
                                                    const PlainOuter& outer, Entropy entropy,
                                                    uint8_t* start) {
  // The first 16 bytes: next hop, the old destination as source, and EtherType, version and type of
  // service of the inner packet. The store at 12 repeats the last four bytes together with the next
  // four, because an interface loads the eight bytes at 12 at once and would stall on two stores.
  const cpu::Words moved =
      cpu::PickBytes<-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15>(cpu::Load(frame));
  const cpu::Words first = cpu::FirstSixOf(cpu::LoadAligned(&outer), moved);

  // The sum of `shape` contains the EtherType, for which sum_or_port compensates. The sum is below
  // 2^32, because `shape`, whose upper bytes are the type of service and 0x45, is at most
  // 0xff450008.
  const auto shape = packet::Load<uint32_t>(frame + 12);
  const uint32_t total_be = __builtin_bswap32(total_length + kPlainBytes) >> 16;
  const uint16_t half = entropy.Half();
  const uint32_t sum = shape + outer.sum_or_port + total_be + half;
  // The upper half is the sum of both halves of `sum` including the carry.
  const uint32_t folded = sum + (sum << 16 | sum >> 16);
  cpu::Store(start, first);
  packet::Store(start + 12, shape | uint64_t{total_be} << 32);
  packet::Store(start + 20, uint32_t{kTtl} << 16 | uint32_t{kProtocolIpv4} << 24);
  packet::Store(start + 24, ~folded >> 16 | uint32_t{__builtin_bswap16(kPrivatePrefix)} << 16);
  packet::Store(start + 28, half);
  packet::Store(start + 30, outer.destination);
}

}  // namespace sluice::engine::maglev
