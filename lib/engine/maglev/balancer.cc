// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/balancer.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/maglev/icmp.h"
#include "engine/maglev/quic.h"
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

// Chooses the backend of a packet: connection table, source prefix, ring or QUIC server id.

Balancer::Balancer(const std::atomic<const Tables*>* tables, uint64_t seed,
                   uint64_t cycles_per_second)
    : Balancer(tables, tables->load(std::memory_order_acquire)->setup(), seed, cycles_per_second) {}

Balancer::Balancer(const std::atomic<const Tables*>* tables, const Setup& setup, uint64_t seed,
                   uint64_t cycles_per_second)
    : published_(tables),
      tags_(seed),
      connections_(std::max(setup.connections, 1u), setup.timeouts),
      fragments_(std::max(setup.fragments, 1u), setup.timeouts.fragment_s),
      cycles_per_second_(std::max<uint64_t>(cycles_per_second, 1)),
      buffer_(new uint8_t[kHeadroomBytes + kMaxBuiltBytes]) {}

void Balancer::AtRest(uint64_t now) {
  tables_ = published_->load(std::memory_order_acquire);
  const auto seconds = static_cast<uint32_t>(now / cycles_per_second_);
  if (seconds != now_.seconds) new_this_second_ = 0;
  const uint64_t rest = now % cycles_per_second_;
  now_ = {seconds, static_cast<uint32_t>(rest * Moment::kTicks / cycles_per_second_)};
  connections_.Sweep(seconds);
}

bool Balancer::MayRecord() {
  const uint32_t rate = tables_->setup().flood_rate;
  return rate == 0 || ++new_this_second_ <= rate;
}

uint16_t Balancer::ChooseByRing(const Vip& vip, const packet::FlowKey& flow) {
  uint32_t slot = 0;
  return tables_->BackendOf(vip, flow, &slot);
}

uint16_t Balancer::ChooseAfresh(const Vip& vip, const packet::FlowKey& flow) {
  const uint16_t by_source = tables_->BackendBySource(vip, flow);
  if (by_source == kNobody) return ChooseByRing(vip, flow);
  counters_.Count(Event::kBySource);
  return by_source;
}

uint16_t Balancer::ChooseNew(const Vip& vip, const packet::FlowKey& flow, const Arrival& arrival) {
  const bool may_record = MayRecord();
  // Above the flood rate Katran ignores source prefixes. Other profiles use them, so that all
  // packets of an unrecorded flow go to the same backend.
  const bool ring_alone = !may_record && vip.rule.profile == Profile::kKatran;
  const uint16_t chosen = ring_alone ? ChooseByRing(vip, flow) : ChooseAfresh(vip, flow);
  if (chosen == kNobody) return kNobody;
  if (!may_record) {
    counters_.Count(Event::kFlood);
    return chosen;
  }
  // An RST or FIN in an unknown flow ends that flow, so it is not recorded.
  if (arrival.tcp && arrival.fin_or_rst && !arrival.syn) {
    counters_.Count(Event::kByRing);
    return chosen;
  }
  const Connection entry(arrival.tag, {chosen, tables_->backends()[chosen].generation}, 0,
                         static_cast<uint8_t>(vip.index),
                         arrival.tcp ? ConnectionState::kOpening : ConnectionState::kUdpOpening);
  counters_.Count(connections_.Insert(entry, now_) ? Event::kNew : Event::kUnrecorded);
  return chosen;
}

uint16_t Balancer::Choose(const Vip& vip, const packet::FlowKey& flow, const Arrival& arrival) {
  if (!vip.connections) {
    counters_.Count(Event::kByRing);
    return ChooseAfresh(vip, flow);
  }
  const uint16_t known = ChooseKnown(vip, arrival);
  return known != kNobody ? known : ChooseNew(vip, flow, arrival);
}

uint16_t Balancer::ChooseByQuic(const Vip& vip, const packet::Frame& frame,
                                const Headers& headers) {
  const QuicRoute route =
      ReadQuicRoute(std::span(frame.data + headers.payload, headers.payload_bytes));
  if (route.kind != QuicKind::kServer) {
    if (route.kind == QuicKind::kUnknown) counters_.Count(Event::kQuicUnknown);
    return kNobody;
  }
  const auto place = std::ranges::lower_bound(vip.quic_ids, route.server_id, {},
                                              &std::pair<uint32_t, uint16_t>::first);
  if (place == vip.quic_ids.end() || place->first != route.server_id) {
    counters_.Count(Event::kQuicUnknown);
    return kNobody;
  }
  const bool serves = tables_->backends()[place->second].generation != 0;
  counters_.Count(serves ? Event::kQuicServer : Event::kQuicUnknown);
  return serves || vip.rule.profile == Profile::kKatran ? place->second : kNobody;
}

void Balancer::Learn(const Vip& vip, uint64_t tag, uint16_t backend) {
  if (!vip.connections) return;
  const BackendRef ref{backend, tables_->backends()[backend].generation};
  const auto owner = static_cast<uint8_t>(vip.index);
  // Katran changes only the backend: the timestamp of a known entry is kept, and an unknown flow is
  // not recorded because Katran would treat the entry as expired immediately.
  const bool katran = vip.rule.profile == Profile::kKatran;
  if (const auto hit = connections_.Find(tag, owner, now_.seconds)) {
    Connection entry = hit->entry;
    entry.backend = ref;
    if (!katran) ConnectionTable::Touch(entry, false, false, now_);
    connections_.Update(hit->place, entry);
  } else if (!katran && MayRecord()) {
    connections_.Insert(Connection(tag, ref, 0, owner, ConnectionState::kUdpOpening), now_);
  }
}

uint16_t Balancer::ChooseKnown(const Vip& vip, const Arrival& arrival) {
  const auto owner = static_cast<uint8_t>(vip.index);
  std::optional<ConnectionTable::Hit> hit = connections_.Find(arrival.tag, owner, now_.seconds);
  if (!hit) return kNobody;
  Connection& entry = hit->entry;
  // A SYN restarts the flow: the backend is chosen again if the old connection was closing or if
  // the old backend does not accept new flows. In Katran's profile, it is always chosen again.
  const bool anew =
      arrival.syn &&
      (entry.state == ConnectionState::kClosing || vip.rule.profile == Profile::kKatran ||
       tables_->backends()[entry.backend.index].state != BackendState::kUp);
  if (!tables_->Serves(entry.backend, vip.index) || anew) [[unlikely]] {
    connections_.Remove(hit->place);
    if (!anew) counters_.Count(BalancerCounters::kMoved);
    return kNobody;
  }
  if (entry.seen_s != static_cast<uint16_t>(now_.seconds) || arrival.syn || arrival.fin_or_rst ||
      IsOpening(entry.state)) {
    ConnectionTable::Touch(entry, arrival.syn, arrival.fin_or_rst, now_);
    connections_.Update(hit->place, entry);
  }
  counters_.Count(BalancerCounters::kHit);
  return entry.backend.index;
}

// Handles packets that PlainPath does not: fragments, ICMP, answers from NAT backends, packets
// redirected by another balancer, and packets that are not for a VIP.

namespace {

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
/// fragment. The fragment is never redirected again.
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
  // The packet is for the host, e.g. a reply to the host's own request, or neighbour discovery.
  counters_.Count(Event::kPassed);
  return packet::kPass;
}

// Sends a packet: encapsulates it, rewrites it, or answers its sender with "too big".

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
