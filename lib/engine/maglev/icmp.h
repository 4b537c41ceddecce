// SPDX-License-Identifier: BSD-3-Clause
//
// What a VIP owes to ICMP and ICMPv6: answers to echo requests, errors about packets that a
// backend sent (they follow the flow), "too big" where encapsulation exceeds the path, and the
// translation of the packet that an error quotes.
// In place; headers come from packet::Parse.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/maglev/address.h"
#include "packet/flow_key.h"
#include "packet/frame.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {

/// Turns an echo request into its reply: MAC and IP addresses swapped, type changed, checksum
/// updated (not verified: its sender does that), TTL 64. False, nothing changed:
/// it is none, a fragment, source routed, or not sent by one other host to one host.
bool AnswerEcho(packet::Frame& frame, const packet::Headers& headers);

/// An ICMP or ICMPv6 echo request, answered or not.
bool IsEchoRequest(const packet::Frame& frame, const packet::Headers& headers);

/// The flow that an ICMP error is about, in the direction from client to VIP: the quoted packet
/// is one of the VIP's answers, and its source is the VIP, to which the error is sent. Nothing:
/// not an error (RFC 792 types 3, 4, 5, 11, 12; RFC 4443 types 1 … 4), the quoted packet was
/// sent by somebody else, is neither TCP nor UDP, or has no ports (cut short, later fragment).
std::optional<packet::FlowKey> FlowOfError(const packet::Frame& frame,
                                           const packet::Headers& headers);

/// Translates the packet that an ICMP error quotes (RFC 5508 section 4.2): sets its source or
/// destination address and, unless `port_be` is 0, that port. Repairs the quoted IPv4 header
/// checksum, the quoted TCP or UDP checksum if the quote is long enough to contain it, and the
/// checksum of the error (all by RFC 1624, so that a wrong one stays wrong). `address` is of the
/// error's family. Does nothing if FlowOfError returns nothing for want of a whole quoted header.
void TranslateQuote(packet::Frame& frame, const packet::Headers& headers, packet::End end,
                    const IpAddress& address, uint16_t port_be);

/// Turns a frame that is too long for `mtu` bytes of IP into the error that tells its sender:
/// ICMP 3/4 with the next-hop MTU (RFC 1191; 576 bytes at most, RFC 1812 says), ICMPv6 type 2
/// (RFC 4443; within 1280 bytes). The source address is the packet's destination, the VIP.
/// Needs 28 or 48 bytes of headroom. False, nothing changed: no room, or an error must not be
/// sent (a group address, a fragment other than the first, an ICMP error; RFC 1122 section
/// 3.2.2, RFC 4443 section 2.4), or would be of no use: IPv6 packets of at most 1280 bytes
/// cannot shrink, and no smaller MTU is ever named. IPv4 packets that routers may fragment
/// are told, too: nobody fragments between here and the backend.
bool MakeTooBig(packet::Frame& frame, const packet::Headers& headers, uint32_t mtu);

}  // namespace sluice::engine::maglev
