// SPDX-License-Identifier: BSD-3-Clause
//
// Encapsulation: what is put between the Ethernet header and an inner IP packet. Prepared
// once per backend; per packet only lengths, the fields of the flow and the checksum are
// written.
//
//   kIp   IPv4 in IPv4 (RFC 2003): +20; IPv4 or IPv6 in IPv6 (RFC 2473): +40
//   kGre  the same, and 4 bytes of GRE (RFC 2784)
//   kGue  the same, and 8 bytes of UDP; variant 1: the inner IP header follows UDP
#pragma once

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
inline constexpr uint8_t kTtl = 64;          ///< Of outer headers.
/// 172.16/16: outer IPv4 sources that are made of the flow, as Katran's are.
inline constexpr uint16_t kPrivatePrefix = 0xac10;
/// Longest outer header: IPv6 and UDP. What a frame grows by at most.
inline constexpr uint32_t kMaxOuterBytes = 48;
/// The longest frame that is built where there is room, since it came without: a jumbo frame.
inline constexpr uint32_t kMaxBuiltBytes = 9728;

struct Outer {
  alignas(16) std::array<uint8_t, kMaxOuterBytes> header{};
  packet::MacAddress next_hop{};
  uint8_t header_bytes = 0;  ///< 0: nothing is put in front (RewritesInPlace).
  bool ipv6 = false;         ///< The outer header.
  bool udp = false;
  bool fixed_source = false;  ///< Else the source address is made of the flow.
  /// Without options of its own: IPv4 in IPv4, source made of the flow.
  bool plain = false;
  uint16_t ipv4_sum = 0;  ///< Of an outer IPv4 header whose per-packet fields are 0; folded.
};

/// What `encapsulation` to `backend` needs, out of `setup`.
Outer MakeOuter(const Setup& setup, Encapsulation encapsulation, const BackendSetup& backend);

/// What of a flow varies the outer source address and port, so that routers and queues behind
/// the balancer spread its packets. As they lie in memory; Katran's choice.
struct Entropy {
  uint32_t source = 0;  ///< Source address; of IPv6 its last word.
  uint16_t port = 0;    ///< Source port, 0 without ports.

  static Entropy Of(const packet::FlowKey& flow);
  /// The last half of an outer IPv4 source; GUE's source port behind outer IPv4.
  uint16_t Half() const {
    return static_cast<uint16_t>(__builtin_bswap32(port) >> 16 ^ source >> 16);
  }
  /// The last word of an outer IPv6 source.
  uint32_t Word() const { return source ^ port; }
  /// GUE's source port behind outer IPv6.
  uint16_t PortInIpv6(bool inner_ipv6) const {
    return static_cast<uint16_t>((inner_ipv6 ? source : source >> 16) ^ port);
  }
};

/// Puts `outer` in front of the IP packet of a frame that Parse understood: Ethernet header
/// and VLAN tags move to the front with the next hop as destination and the old destination
/// as source; Ethernet padding is cut. DSCP and ECN are copied, TTL is 64, DF is not set.
/// The caller has seen to headroom (outer.header_bytes) and MTU.
void Encapsulate(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                 Entropy entropy);

/// An outer that is `plain`, or what is rewritten in place, in a quarter of a cache line; and
/// whose it is, so that one look tells a connection of this backend that it may stay
/// (Tables::Serves), and how it is sent.
struct alignas(16) PlainOuter {
  packet::MacAddress next_hop{};
  uint16_t generation = 0;   ///< The backend's; 0: not in use, or not plain.
  uint32_t destination = 0;  ///< Address, as it lies in a header.
  uint16_t sum_or_port = 0;  ///< Outer::ipv4_sum; of kNat the port, as in a header, 0: stays.
  uint16_t vip = 0;          ///< The backend's.
};
static_assert(sizeof(PlainOuter) == 16);
PlainOuter MakePlainOuter(const Outer& outer, uint16_t generation, uint16_t vip);

/// Copies a plain packet, of at least 16 bytes. In line: most are short, and a call costs more.
inline void CopyPlain(const uint8_t* from, uint32_t bytes, uint8_t* to) {
  if (bytes < 32) {
    std::memcpy(to, from, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
    return;
  }
  for (uint32_t at = 0; at < bytes - 32; at += 32) std::memcpy(to + at, from + at, 32);
  std::memcpy(to + bytes - 32, from + bytes - 32, 32);
}

/// Encapsulate for the bulk of all traffic: an untagged IPv4 packet without options of
/// `total_length` bytes. Writes the headers, up to the inner packet, to `start`: elsewhere, or
/// kPlainBytes before `frame`.
inline constexpr uint32_t kPlainBytes = packet::kIpv4MinHeaderBytes;
inline void EncapsulatePlain(const uint8_t* frame, uint32_t total_length, const PlainOuter& outer,
                             Entropy entropy, uint8_t* start) {
  // The first 16 bytes: next hop; the old destination as source; and EtherType, version and
  // type of service, which are the inner packet's. The last four of them once more with what
  // follows: an interface reads the eight bytes at 12 at once, and would wait for two stores.
  const cpu::Words moved =
      cpu::PickBytes<-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15>(cpu::Load(frame));
  const cpu::Words first = cpu::FirstSixOf(cpu::LoadAligned(&outer), moved);

  const auto shape = packet::Load<uint32_t>(frame + 12);
  const uint32_t tos = shape >> 24;
  const uint32_t total_be = __builtin_bswap32(total_length + kPlainBytes) >> 16;
  const uint32_t half = entropy.Half();
  const uint32_t sum = outer.sum_or_port + (tos << 8) + total_be + half;  // Below 2^18.
  // Its upper half is the sum of both halves of `sum`, with the carry.
  const uint32_t folded = sum + (sum << 16 | sum >> 16);
  const uint64_t checksum = ~folded >> 16;
  const uint64_t destination = outer.destination;
  cpu::Store(start, first);
  packet::Store(start + 12, shape | uint64_t{total_be} << 32);
  packet::Store(start + 20, uint32_t{kTtl} << 16 | uint32_t{kProtocolIpv4} << 24);
  packet::Store(start + 24, checksum | uint64_t{__builtin_bswap16(kPrivatePrefix)} << 16 |
                                uint64_t{half} << 32 | destination << 48);
  packet::Store(start + 32, static_cast<uint16_t>(destination >> 16));
}

}  // namespace sluice::engine::maglev
