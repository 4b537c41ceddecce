// SPDX-License-Identifier: BSD-3-Clause
//
// Sends a packet: encapsulates it, rewrites it, or answers its sender with "too big".
#include <cstring>

#include "engine/maglev/balancer.h"
#include "engine/maglev/icmp.h"
#include "packet/ethernet.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {
namespace {

using packet::Headers;
using Event = BalancerCounters::Event;

// Sets the destination MAC address to `next_hop` and the source to the frame's old destination.
void SendTo(uint8_t* frame, const packet::MacAddress& next_hop) {
  packet::SetMac(frame, packet::End::kSource, packet::Load<packet::MacAddress>(frame));
  packet::SetMac(frame, packet::End::kDestination, next_hop);
}

}  // namespace

packet::Verdict Balancer::Deliver(packet::Frame& frame, const Headers& headers, const Vip& vip,
                                  const packet::FlowKey& flow, uint16_t backend_index) {
  const Backend& backend = tables_->backends()[backend_index];
  const Setup& setup = tables_->setup();
  uint8_t* const ip = frame.data + headers.l3;
  const bool ipv6 = headers.IsIpv6();
  const uint32_t most = tables_->MaxInner(backend.outer.header_bytes);
  if (headers.end - headers.l3 > most) return RefuseTooLong(frame, headers, most);
  if (setup.decrement_ttl && ip[ipv6 ? 7 : 8] <= 1) return packet::Drop(kTtlExpired);
  if (!ipv6 && !packet::ChecksumHolds(packet::SumBytes(ip, (ip[0] & 0xfu) * 4))) {
    counters_.Count(Event::kBadIpChecksum);
  }
  const uint32_t arrived_bytes = frame.length;
  if (setup.decrement_ttl) LowerTtl(ip, ipv6);
  if (RewritesInPlace(vip.encapsulation)) {
    if (vip.encapsulation == Encapsulation::kNat) Rewrite(frame, headers, backend);
    SendTo(frame.data, backend.outer.next_hop);
  } else {
    Entropy entropy = Entropy::Of(flow);
    if (vip.rule.destination_port_only) entropy.source = 0;
    const packet::Verdict verdict = Wrap(frame, headers, backend.outer, entropy);
    if (verdict != packet::kForward) return verdict;
  }
  counters_.CountVip(vip.index, {1, arrived_bytes});
  counters_.CountBackend(backend_index, {1, arrived_bytes});
  return packet::kForward;
}

void Balancer::LowerTtl(uint8_t* ip, bool ipv6) {
  if (ipv6) {
    --ip[7];
  } else {
    LowerIpv4Ttl(ip);
  }
}

packet::Verdict Balancer::Wrap(packet::Frame& frame, const Headers& headers, const Outer& outer,
                               Entropy entropy) {
  if (!MakeRoom(frame, outer.header_bytes, frame.spare)) return packet::Drop(kNoHeadroom);
  Encapsulate(frame, headers, outer, entropy);
  return packet::kForward;
}

void Balancer::Rewrite(packet::Frame& frame, const Headers& headers, const Backend& backend) {
  if (headers.IsIpv6()) {
    packet::SetIpv6Address(frame.data, headers, packet::End::kDestination, backend.address.bytes);
  } else {
    packet::SetIpv4Address(frame.data, headers, packet::End::kDestination,
                           packet::Load<packet::Ipv4Address>(backend.address.bytes.data()));
  }
  if (!headers.HasPorts()) {
    TranslateQuote(frame, headers, packet::End::kSource, backend.address, backend.nat_port_be);
  } else if (backend.nat_port_be != 0) {
    packet::SetPort(frame.data, headers, packet::End::kDestination,
                    __builtin_bswap16(backend.nat_port_be));
  }
}

packet::Verdict Balancer::SendBack(packet::Frame& frame, const Headers& headers, const Vip& vip) {
  const Setup& setup = tables_->setup();
  uint8_t* const ip = frame.data + headers.l3;
  const bool ipv6 = headers.IsIpv6();
  if (setup.decrement_ttl) {
    if (ip[ipv6 ? 7 : 8] <= 1) return packet::Drop(kTtlExpired);
    LowerTtl(ip, ipv6);
  }
  if (ipv6) {
    packet::SetIpv6Address(frame.data, headers, packet::End::kSource, vip.address.bytes);
  } else {
    packet::SetIpv4Address(frame.data, headers, packet::End::kSource,
                           packet::Load<packet::Ipv4Address>(vip.address.bytes.data()));
  }
  const bool is_error = !headers.HasPorts() && !headers.IsLaterFragment();
  if (is_error) {
    TranslateQuote(frame, headers, packet::End::kDestination, vip.address, vip.port_be);
  } else if (vip.port_be != 0 && headers.HasPorts()) {
    packet::SetPort(frame.data, headers, packet::End::kSource, __builtin_bswap16(vip.port_be));
  }
  SendTo(frame.data, setup.next_hop.value_or(packet::MacAddress{}));
  counters_.Count(is_error ? Event::kIcmpError : Event::kNatReturn);
  return packet::kForward;
}

packet::Verdict Balancer::RefuseTooLong(packet::Frame& frame, const Headers& headers,
                                        uint32_t mtu) {
  if (!MakeRoom(frame, kHeadroomBytes, nullptr) || !MakeTooBig(frame, headers, mtu)) {
    return packet::Drop(kTooLong);
  }
  counters_.Count(Event::kTooBig);
  return packet::kForward;
}

bool Balancer::MakeRoom(packet::Frame& frame, uint32_t bytes, uint8_t* spare) {
  if (frame.headroom >= bytes) return true;
  uint8_t* room = buffer_.get();
  uint32_t headroom = kHeadroomBytes;
  uint32_t room_bytes = kHeadroomBytes + kMaxBuiltBytes;
  if (spare != nullptr && bytes + frame.length <= packet::Frame::kSpareBytes) {
    room = spare;
    headroom = bytes;
    room_bytes = packet::Frame::kSpareBytes;
  }
  if (frame.length > room_bytes - headroom) return false;
  std::memcpy(room + headroom, frame.data, frame.length);
  frame = {room + headroom, frame.length, headroom, room_bytes - headroom - frame.length};
  return true;
}

}  // namespace sluice::engine::maglev
