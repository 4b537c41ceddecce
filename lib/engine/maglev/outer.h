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
#include <optional>

#include "engine/maglev/address.h"
#include "engine/maglev/setup.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

/// Longest outer header: IPv6 and UDP. What a frame grows by at most.
inline constexpr uint32_t kMaxOuterBytes = 48;

struct Outer {
  alignas(16) std::array<uint8_t, kMaxOuterBytes> header{};
  packet::MacAddress next_hop{};
  uint8_t header_bytes = 0;  ///< 0: nothing is put in front (kNat).
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

  static Entropy Of(const uint8_t* frame, const packet::Headers& headers);
  uint16_t Half() const {
    return static_cast<uint16_t>(__builtin_bswap16(port) ^ source >> 16);
  }
  uint32_t Word() const { return source ^ port; }
};

/// Puts `outer` in front of the IP packet of a frame that Parse understood: Ethernet header
/// and VLAN tags move to the front with the next hop as destination and the old destination
/// as source; Ethernet padding is cut. DSCP and ECN are copied, TTL is 64, DF is not set.
/// The caller has seen to headroom (outer.header_bytes) and MTU.
void Encapsulate(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                 Entropy entropy);

/// The same for the bulk of all traffic: an untagged IPv4 packet of `total_length` bytes, into
/// an outer header that is `plain`. Returns the new first byte, kPlainBytes before `frame`.
inline constexpr uint32_t kPlainBytes = packet::kIpv4MinHeaderBytes;
inline uint8_t* EncapsulatePlain(uint8_t* frame, uint32_t total_length, const Outer& outer,
                                 Entropy entropy) {
  const uint8_t tos = frame[packet::kEthernetHeaderBytes + 1];
  const auto old_destination = packet::Load<packet::MacAddress>(frame);
  uint8_t* const start = frame - kPlainBytes;
  uint8_t* const ip = start + packet::kEthernetHeaderBytes;
  packet::Store(start, outer.next_hop);
  packet::Store(start + 6, old_destination);
  packet::StoreBe16(start + 12, packet::kEtherTypeIpv4);
  const uint16_t total_be = __builtin_bswap16(static_cast<uint16_t>(total_length + kPlainBytes));
  const uint16_t half = entropy.Half();
  packet::Store(ip, packet::Load<std::array<uint8_t, 16>>(outer.header.data()));
  packet::Store(ip + 16, packet::Load<uint32_t>(outer.header.data() + 16));
  ip[1] = tos;
  packet::Store(ip + 2, total_be);
  packet::Store(ip + 14, half);
  uint32_t sum = outer.ipv4_sum + (uint32_t{tos} << 8) + total_be + half;  // Below 2^18.
  sum = (sum & 0xffff) + (sum >> 16);
  packet::Store(ip + 10, static_cast<uint16_t>(~(sum + (sum >> 16))));
  return start;
}

}  // namespace sluice::engine::maglev
