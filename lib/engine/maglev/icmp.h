// SPDX-License-Identifier: BSD-3-Clause
//
// ICMP and ICMPv6 for VIPs: replies to echo requests, "too big" errors if a packet exceeds the path
// MTU once encapsulated, and forwarding of ICMP errors about packets that a backend sent, with
// translation of the quoted packet.
// All functions work in place; `headers` comes from packet::Parse.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/maglev/address.h"
#include "packet/flow_key.h"
#include "packet/frame.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

/// Turns an echo request into its reply: swaps the MAC and IP addresses, changes the type, updates
/// the checksum without verifying it (the sender verifies it), and sets the TTL to 64. Returns
/// false and leaves the packet unchanged if it is not an echo request with code 0, is a fragment or
/// source routed, or if its addresses are not those of two different hosts.
bool AnswerEcho(packet::Frame& frame, const packet::Headers& headers);

/// Returns whether the packet is an ICMP or ICMPv6 echo request, even one that AnswerEcho rejects.
bool IsEchoRequest(const packet::Frame& frame, const packet::Headers& headers);

/// Returns the flow that an ICMP error is about, in the direction from client to VIP. The error
/// must be sent to the VIP and quote a packet with the VIP as its source. Returns nullopt if the
/// packet is not an error (RFC 792 types 3, 4, 5, 11, 12; RFC 4443 types 1 … 4), or if the quoted
/// packet has another source, is neither TCP nor UDP, or has no ports (cut off, or a later
/// fragment).
std::optional<packet::FlowKey> FlowOfError(const packet::Frame& frame,
                                           const packet::Headers& headers);

/// Translates the packet that an ICMP error quotes (RFC 5508 section 4.2): sets its source or
/// destination address and, unless `port_be` is 0, that port. `address` must have the error's
/// family. Updates the quoted IPv4 header checksum, the quoted TCP or UDP checksum if the quote
/// contains it, and the checksum of the error. All updates follow RFC 1624, so a wrong checksum
/// stays wrong. Does nothing if FlowOfError returns nullopt because the quoted headers are
/// incomplete.
void TranslateQuote(packet::Frame& frame, const packet::Headers& headers, packet::End end,
                    const IpAddress& address, uint16_t port_be);

/// Turns a frame that is longer than `mtu` bytes of IP into an error for its sender: ICMP 3/4 with
/// the next-hop MTU (RFC 1191; at most 576 bytes, RFC 1812) or ICMPv6 type 2 (RFC 4443; at most
/// 1280 bytes). The source address is the destination of the packet, the VIP. Needs 28 or 48 bytes
/// of headroom. Returns false and leaves the frame unchanged if there is no room, or if an error is
/// forbidden (group address, later fragment, ICMP error; RFC 1122 section 3.2.2, RFC 4443 section
/// 2.4) or useless: IPv6 packets of at most 1280 bytes cannot shrink, and the error never names a
/// smaller MTU. IPv4 packets without DF cause an error, too, because no router fragments between
/// the balancer and the backend.
bool MakeTooBig(packet::Frame& frame, const packet::Headers& headers, uint32_t mtu);

}  // namespace sluice::engine::maglev
