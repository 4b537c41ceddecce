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
};

/// What `encapsulation` to `backend` needs, out of `setup`.
Outer MakeOuter(const Setup& setup, Encapsulation encapsulation, const BackendSetup& backend);

/// Puts `outer` in front of the IP packet of a frame that Parse understood: Ethernet header
/// and VLAN tags move to the front with the next hop as destination and the old destination
/// as source; Ethernet padding is cut. DSCP and ECN are copied, TTL is 64, DF is not set.
/// `entropy`: a number of the flow (source address and port), for source address and port.
/// The caller has seen to headroom (outer.header_bytes) and MTU.
void Encapsulate(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                 uint32_t entropy);

/// Katran's flow entropy: the source port, in network order, in the upper half, xor the source
/// address (of IPv6: its last word), as they lie in memory.
uint32_t FlowEntropy(const uint8_t* frame, const packet::Headers& headers);

}  // namespace sluice::engine::maglev
