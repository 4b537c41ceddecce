// SPDX-License-Identifier: BSD-3-Clause
//
// Handles packets that PlainPath does not: fragments, ICMP, answers of NAT backends, packets
// redirected by another balancer, and packets that are not for a VIP.
#include <algorithm>
#include <cstring>

#include "engine/maglev/balancer.h"
#include "engine/maglev/icmp.h"
#include "packet/ethernet.h"

namespace sluice::engine::maglev {
namespace {

using packet::Headers;
using Event = BalancerCounters::Event;

// Hash seed for choosing the balancer that owns a datagram's fragments. It is public and fixed,
// because all balancers must choose the same owner.
constexpr uint64_t kOwnerSeed = 0x6a09e667f3bcc908;

IpAddress AddressAt(const uint8_t* address, bool ipv6) {
  IpAddress result;
  result.ipv6 = ipv6;
  std::memcpy(result.bytes.data(), address, ipv6 ? 16 : 4);
  return result;
}
IpAddress Source(const uint8_t* frame, const Headers& headers) {
  return AddressAt(frame + headers.l3 + (headers.IsIpv6() ? 8 : 12), headers.IsIpv6());
}
IpAddress Destination(const uint8_t* frame, const Headers& headers) {
  return AddressAt(frame + headers.l3 + (headers.IsIpv6() ? 24 : 16), headers.IsIpv6());
}

// Returns the flow of a packet. The ports are 0 if the packet has none; a first fragment has ports.
packet::FlowKey FlowOf(const uint8_t* frame, const Headers& headers) {
  packet::FlowKey flow;
  flow.source = Source(frame, headers).bytes;
  flow.destination = Destination(frame, headers).bytes;
  flow.protocol = headers.protocol;
  flow.ip_version = headers.IsIpv6() ? 6 : 4;
  if (headers.HasPorts()) {
    flow.source_port = packet::LoadBe16(frame + headers.l4);
    flow.destination_port = packet::LoadBe16(frame + headers.l4 + 2);
  }
  return flow;
}

// Returns the header fields, except the identification, that all fragments of a datagram have in
// common.
packet::FlowKey DatagramOf(const uint8_t* frame, const Headers& headers) {
  packet::FlowKey datagram = FlowOf(frame, headers);
  datagram.source_port = datagram.destination_port = 0;
  // IPv6: only the first fragment contains the upper-layer protocol (RFC 8200 section 4.5).
  if (headers.IsIpv6()) datagram.protocol = 0;
  return datagram;
}

// Returns the identification field, which all fragments of a datagram have in common.
uint32_t FragmentId(const uint8_t* frame, const Headers& headers) {
  const uint8_t* const ip = frame + headers.l3;
  if (!headers.IsIpv6()) return packet::Load<uint16_t>(ip + 4);
  // Parse has found a fragment header in this chain, within the packet.
  uint8_t next = ip[6];
  uint32_t at = packet::kIpv6HeaderBytes;
  while (next != packet::kProtocolFragment && headers.l3 + at + 8 <= headers.end) {
    const bool authentication = next == packet::kProtocolAuthentication;
    next = ip[at];
    at += authentication ? (uint32_t{ip[at + 1]} + 2) * 4 : (uint32_t{ip[at + 1]} + 1) * 8;
  }
  return headers.l3 + at + 8 <= headers.end ? packet::Load<uint32_t>(ip + at + 4) : 0;
}

}  // namespace

Balancer::Ending Balancer::ProcessOther(uint8_t* data, uint32_t length, uint32_t headroom,
                                        uint8_t* spare, const uint64_t& tag) {
  packet::Frame frame{data, length, headroom, /*tailroom=*/0, spare};
  const packet::Verdict verdict = tag != 0 ? DecidePlain(frame, tag) : Decide(frame);
  return {frame.data, frame.length, verdict};
}

packet::Verdict Balancer::DecidePlain(packet::Frame& frame, uint64_t tag) {
  // Checks again, because the sender may have changed the frame since the first check.
  if (!packet::IsPlainUdpOrTcp(frame.data, frame.length)) [[unlikely]]
    return Decide(frame);
  const Headers headers = packet::PlainHeaders(frame.data);
  const Vip* const vip = tables_->index().FindIpv4(VipIndex::Ipv4Key(
      packet::Load<uint64_t>(frame.data + packet::kPlainL3 + 16), headers.protocol));
  if (vip == nullptr) return ProcessIp(frame, headers, /*redirected=*/false);
  return ForwardFlow(frame, headers, *vip, packet::PlainFlowKey(frame.data), tag);
}

packet::Verdict Balancer::Decide(packet::Frame& frame) {
  const Headers headers = packet::Parse(frame.data, frame.length);
  if (headers.error != packet::ParseError::kNone) return packet::Drop(kMalformed);
  if (!headers.IsIp()) {
    counters_.Count(Event::kPassed);
    return packet::kPass;
  }
  return ProcessIp(frame, headers, /*redirected=*/false);
}

packet::Verdict Balancer::ProcessIp(packet::Frame& frame, const Headers& headers, bool redirected) {
  const bool ipv6 = headers.IsIpv6();
  if (tables_->setup().profile == Profile::kKatran) {
    const uint8_t* const ip = frame.data + headers.l3;
    if (!ipv6 && (ip[0] & 0x0f) != 5) return packet::Drop(kIpOptions);
    // Katran reads only the fixed IPv6 header. It drops atomic fragments and does not notice a
    // fragment header after another extension header.
    if (ipv6 ? ip[6] == packet::kProtocolFragment : headers.IsFragment()) {
      return packet::Drop(kFragment);
    }
    if (ipv6 && (ip[6] != headers.protocol || headers.IsFragment())) {
      counters_.Count(Event::kPassed);
      return packet::kPass;
    }
  }
  const IpAddress destination = Destination(frame.data, headers);
  const VipIndex& index = tables_->index();
  if (headers.HasPorts() && !headers.IsFragment()) {
    const Vip* const vip = index.Find(
        destination, packet::Load<uint16_t>(frame.data + headers.l4 + 2), headers.protocol);
    if (vip != nullptr) {
      const packet::FlowKey flow = FlowOf(frame.data, headers);
      return ForwardFlow(frame, headers, *vip, flow, tags_.Of(flow));
    }
  }
  if (!index.Covers(destination)) {
    if (!redirected) {
      if (auto verdict = ReceiveRedirected(frame, headers)) return *verdict;
    }
    if (auto verdict = ProcessNatReturn(frame, headers)) return *verdict;
    counters_.Count(Event::kPassed);
    return packet::kPass;
  }
  if (headers.IsFragment()) return ProcessFragment(frame, headers, redirected);
  if (headers.protocol == (ipv6 ? packet::kProtocolIcmpv6 : packet::kProtocolIcmp)) {
    return ProcessIcmp(frame, headers);
  }
  if (tables_->setup().profile != Profile::kKatran) return packet::Drop(kUnknownProtocol);
  counters_.Count(Event::kPassed);
  return packet::kPass;
}

packet::Verdict Balancer::ForwardFlow(packet::Frame& frame, const Headers& headers, const Vip& vip,
                                      const packet::FlowKey& flow, uint64_t tag) {
  uint16_t backend = kNobody;
  if (vip.quic) {
    backend = ChooseByQuic(vip, frame, headers);
    if (backend != kNobody && tables_->backends()[backend].generation == 0) {
      return packet::Drop(kQuicNoServer);
    }
    if (backend != kNobody) Learn(vip, tag, backend);
  }
  if (backend == kNobody) {
    const bool tcp = flow.protocol == packet::kProtocolTcp;
    const uint8_t flags = tcp ? frame.data[headers.l4 + 13] : 0;
    backend = Choose(vip, flow,
                     {.tag = tag,
                      .tcp = tcp,
                      .syn = (flags & kTcpSyn) != 0,
                      .fin_or_rst = (flags & (kTcpFin | kTcpRst)) != 0});
  }
  if (backend == kNobody) return packet::Drop(kNoBackend);
  if (headers.IsFragment()) {
    fragments_.Put(FragmentTag(frame.data, headers),
                   {backend, tables_->backends()[backend].generation}, vip.index, now_.seconds);
  }
  return Deliver(frame, headers, vip, flow, backend);
}

packet::Verdict Balancer::ForwardError(packet::Frame& frame, const Headers& headers, const Vip& vip,
                                       const packet::FlowKey& flow) {
  const auto hit = connections_.Find(tags_.Of(flow), static_cast<uint8_t>(vip.index), now_.seconds);
  const bool known = hit && tables_->Serves(hit->entry.backend, vip.index);
  const uint16_t backend = known ? hit->entry.backend.index : ChooseAfresh(vip, flow);
  if (backend == kNobody) return packet::Drop(kNoBackend);
  counters_.Count(Event::kIcmpError);
  return Deliver(frame, headers, vip, flow, backend);
}

const Backend* Balancer::FindNatBackend(const packet::Frame& frame, const Headers& headers) const {
  const VipIndex& index = tables_->index();
  if (headers.HasPorts()) {
    return index.FindNatSource(Source(frame.data, headers),
                               packet::Load<uint16_t>(frame.data + headers.l4), headers.protocol);
  }
  const auto flow = FlowOfError(frame, headers);
  if (!flow) return nullptr;
  return index.FindNatSource({flow->source, headers.IsIpv6()}, __builtin_bswap16(flow->source_port),
                             flow->protocol);
}

std::optional<packet::Verdict> Balancer::ProcessNatReturn(packet::Frame& frame,
                                                          const Headers& headers) {
  if (headers.IsLaterFragment()) return ProcessNatFragment(frame, headers);
  const Backend* const backend = FindNatBackend(frame, headers);
  if (headers.IsFragment()) {
    const Backend* const host = tables_->index().FindNatHost(Source(frame.data, headers));
    if (host != nullptr) {
      // A backend's datagram that does not come from a NAT port is passed on. It is recorded with
      // kNobody as its VIP so that its later fragments also pass.
      const Backend& somebody = backend != nullptr ? *backend : *host;
      const auto number = static_cast<uint16_t>(&somebody - tables_->backends().data());
      fragments_.Put(FragmentTag(frame.data, headers), {number, somebody.generation},
                     backend != nullptr ? backend->vip : kNobody, now_.seconds);
    }
  }
  if (backend == nullptr) return std::nullopt;
  if (headers.IsFragment()) counters_.Count(Event::kFragmentFirst);
  return SendBack(frame, headers, tables_->vips()[backend->vip]);
}

std::optional<packet::Verdict> Balancer::ProcessNatFragment(packet::Frame& frame,
                                                            const Headers& headers) {
  if (tables_->index().FindNatHost(Source(frame.data, headers)) == nullptr) return std::nullopt;
  const auto found = fragments_.Find(FragmentTag(frame.data, headers), now_.seconds);
  if (found && found->vip == kNobody) return std::nullopt;
  if (!found || !tables_->Serves(found->backend, found->vip)) return packet::Drop(kFragment);
  counters_.Count(Event::kFragmentLater);
  return SendBack(frame, headers, tables_->vips()[found->vip]);
}

uint64_t Balancer::FragmentTag(const uint8_t* frame, const Headers& headers) const {
  return tags_.OfFragments(DatagramOf(frame, headers), FragmentId(frame, headers));
}

packet::Verdict Balancer::ProcessFragment(packet::Frame& frame, const Headers& headers,
                                          bool redirected) {
  const std::vector<Peer>& peers = tables_->peers();
  if (!redirected && peers.size() > 1) {
    const uint64_t hash = packet::HashFlowKey(DatagramOf(frame.data, headers), kOwnerSeed);
    const Peer& owner = peers[hash % peers.size()];
    if (!owner.self) {
      const uint32_t most = tables_->MaxInner(owner.outer.header_bytes);
      if (headers.end - headers.l3 > most) return RefuseTooLong(frame, headers, most);
      counters_.Count(Event::kRedirected);
      return Wrap(frame, headers, owner.outer, Entropy::Of(FlowOf(frame.data, headers)));
    }
  }
  if (!headers.IsLaterFragment()) {
    if (!headers.HasPorts()) return packet::Drop(kUnknownProtocol);
    const packet::FlowKey flow = FlowOf(frame.data, headers);
    const Vip* const vip = tables_->index().Find(
        {flow.destination, headers.IsIpv6()}, packet::Load<uint16_t>(frame.data + headers.l4 + 2),
        headers.protocol);
    if (vip == nullptr) return packet::Drop(kUnknownProtocol);
    counters_.Count(Event::kFragmentFirst);
    return ForwardFlow(frame, headers, *vip, flow, tags_.Of(flow));
  }
  const auto found = fragments_.Find(FragmentTag(frame.data, headers), now_.seconds);
  if (!found || !tables_->Serves(found->backend, found->vip)) {
    return packet::Drop(kFragment);
  }
  counters_.Count(Event::kFragmentLater);
  return Deliver(frame, headers, tables_->vips()[found->vip], FlowOf(frame.data, headers),
                 found->backend.index);
}

/// Removes the outer header of a fragment that another balancer redirected here, and handles the
/// fragment. It is never redirected again.
std::optional<packet::Verdict> Balancer::ReceiveRedirected(packet::Frame& frame,
                                                           const Headers& headers) {
  constexpr uint8_t kIpv4InIp = 4, kIpv6InIp = 41;
  const std::optional<IpAddress>& own = tables_->setup().own_address;
  if (!own || headers.IsFragment() ||
      (headers.protocol != kIpv4InIp && headers.protocol != kIpv6InIp) ||
      Destination(frame.data, headers) != *own) {
    return std::nullopt;
  }
  const IpAddress source = Source(frame.data, headers);
  if (std::ranges::find(tables_->peers(), source, &Peer::address) == tables_->peers().end()) {
    return std::nullopt;
  }
  const uint32_t outer_bytes = headers.payload - headers.l3;
  uint8_t* const start = frame.data + outer_bytes;
  std::memmove(start, frame.data, headers.l3);
  packet::StoreBe16(start + headers.l3 - 2, headers.protocol == kIpv6InIp ? packet::kEtherTypeIpv6
                                                                          : packet::kEtherTypeIpv4);
  frame.data = start;
  frame.headroom += outer_bytes;
  frame.length -= outer_bytes;
  const Headers inner = packet::Parse(frame.data, frame.length);
  if (inner.error != packet::ParseError::kNone || !inner.IsIp()) return packet::Drop(kMalformed);
  counters_.Count(Event::kRedirectedHere);
  return ProcessIp(frame, inner, /*redirected=*/true);
}

packet::Verdict Balancer::ProcessIcmp(packet::Frame& frame, const Headers& headers) {
  if (const auto flow = FlowOfError(frame, headers)) {
    const Vip* const vip =
        tables_->index().Find({flow->destination, headers.IsIpv6()},
                              __builtin_bswap16(flow->destination_port), flow->protocol);
    if (vip != nullptr) return ForwardError(frame, headers, *vip, *flow);
  } else if (IsEchoRequest(frame, headers)) {
    if (!AnswerEcho(frame, headers)) return packet::Drop(kIcmpOther);
    counters_.Count(Event::kEcho);
    return packet::kForward;
  }
  // The packet is for the host, e.g. a reply to the host's request or neighbour discovery.
  counters_.Count(Event::kPassed);
  return packet::kPass;
}

}  // namespace sluice::engine::maglev
