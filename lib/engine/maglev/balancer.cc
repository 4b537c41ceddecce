// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/balancer.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/maglev/icmp.h"
#include "engine/maglev/quic.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/rewrite.h"

namespace sluice::engine::maglev {
namespace {

using packet::Headers;
using packet::Network;
using Event = BalancerCounters::Event;

// Of balancers that redirect fragments: every one computes the same owner.
constexpr uint64_t kOwnerSeed = 0x6a09e667f3bcc908;

// A second key from the seed: splitmix64.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

bool IsIpv6(const Headers& headers) { return headers.network == Network::kIpv6; }

IpAddress AddressAt(const uint8_t* address, bool ipv6) {
  IpAddress result;
  result.ipv6 = ipv6;
  std::memcpy(result.bytes.data(), address, ipv6 ? 16 : 4);
  return result;
}
IpAddress Source(const uint8_t* frame, const Headers& headers) {
  return AddressAt(frame + headers.l3 + (IsIpv6(headers) ? 8 : 12), IsIpv6(headers));
}
IpAddress Destination(const uint8_t* frame, const Headers& headers) {
  return AddressAt(frame + headers.l3 + (IsIpv6(headers) ? 24 : 16), IsIpv6(headers));
}

// The flow with the ports of a first fragment, too. Port 0 where there are none.
packet::FlowKey FlowOf(const uint8_t* frame, const Headers& headers) {
  packet::FlowKey flow;
  flow.source = Source(frame, headers).bytes;
  flow.destination = Destination(frame, headers).bytes;
  flow.protocol = headers.protocol;
  flow.ip_version = IsIpv6(headers) ? 6 : 4;
  if (headers.HasPorts()) {
    flow.source_port = packet::LoadBe16(frame + headers.l4);
    flow.destination_port = packet::LoadBe16(frame + headers.l4 + 2);
  }
  return flow;
}

// The identification that the fragments of a datagram share.
uint32_t FragmentId(const uint8_t* frame, const Headers& headers) {
  const uint8_t* const ip = frame + headers.l3;
  if (!IsIpv6(headers)) return packet::Load<uint16_t>(ip + 4);
  // Parse has found a fragment header in this chain, within the packet.
  uint8_t next = ip[6];
  uint32_t at = packet::kIpv6HeaderBytes;
  while (next != packet::kProtocolFragment && headers.l3 + at + 8 <= headers.end) {
    next = ip[at];
    at += (uint32_t{ip[at + 1]} + 1) * 8;
  }
  return headers.l3 + at + 8 <= headers.end ? packet::Load<uint32_t>(ip + at + 4) : 0;
}

}  // namespace

Balancer::Balancer(const std::atomic<const Tables*>* tables, uint64_t seed,
                   uint64_t cycles_per_second)
    : published_(tables),
      seed_(Mix(seed)),
      key_(Mix(seed_) | 1),
      cycles_per_second_(std::max<uint64_t>(cycles_per_second, 1)),
      buffer_(new uint8_t[kHeadroomBytes + kMaxBuiltBytes]) {
  const Setup& setup = published_->load(std::memory_order_acquire)->setup();
  connections_ = std::make_unique<ConnectionTable>(std::max(setup.connections, 1u),
                                                   setup.timeouts);
  fragments_ =
      std::make_unique<FragmentTable>(std::max(setup.fragments, 1u), setup.timeouts.fragment_s);
}

void Balancer::AtRest(uint64_t now) {
  tables_ = published_->load(std::memory_order_acquire);
  const auto seconds = static_cast<uint32_t>(now / cycles_per_second_);
  if (seconds != seconds_) new_this_second_ = 0;
  seconds_ = seconds;
  connections_->Sweep(seconds);
}

uint64_t Balancer::TagOf(const packet::FlowKey& flow) const {
  const uint32_t ports = uint32_t{__builtin_bswap16(flow.destination_port)} << 16 |
                         __builtin_bswap16(flow.source_port);
  const auto source = packet::Load<uint64_t>(flow.source.data());
  const auto destination = packet::Load<uint64_t>(flow.destination.data());
  if (flow.ip_version == 4) {
    return TagOf(destination << 32 | static_cast<uint32_t>(source), ports, flow.protocol);
  }
  const uint64_t ends = Fold(packet::Load<uint64_t>(flow.source.data() + 8) ^ seed_,
                             packet::Load<uint64_t>(flow.destination.data() + 8) ^ key_);
  return TagOf(Fold(source ^ seed_, destination ^ key_) ^ ends, ports,
               flow.protocol | 0x80);
}

packet::FlowKey Balancer::FlowOfPlain(const uint8_t* frame) {
  packet::FlowKey flow;
  std::memcpy(flow.source.data(), frame + kAddressesOffset, 4);
  std::memcpy(flow.destination.data(), frame + kAddressesOffset + 4, 4);
  flow.source_port = packet::LoadBe16(frame + kPortsOffset);
  flow.destination_port = packet::LoadBe16(frame + kPortsOffset + 2);
  flow.protocol = frame[kProtocolOffset];
  flow.ip_version = 4;
  return flow;
}

bool Balancer::MayRecord() {
  const uint32_t rate = tables_->setup().flood_rate;
  return rate == 0 || ++new_this_second_ <= rate;
}

uint16_t Balancer::ChooseByRing(const Vip& vip, const packet::FlowKey& flow) {
  uint32_t slot = 0;
  return tables_->BackendOf(vip, flow, &slot);
}

uint16_t Balancer::ChooseNew(const Vip& vip, const packet::FlowKey& flow,
                             const Arrival& arrival) {
  const uint16_t chosen = ChooseByRing(vip, flow);
  if (chosen == kNobody) return kNobody;
  if (!MayRecord()) {
    counters_.Count(Event::kFlood);
    return chosen;
  }
  // An RST ends a flow that is not known; there is nothing to keep.
  if (arrival.tcp && arrival.fin_or_rst && !arrival.syn) {
    counters_.Count(Event::kByRing);
    return chosen;
  }
  const Connection entry{
      .tag = arrival.tag,
      .backend = {chosen, tables_->backends()[chosen].generation},
      .owner = static_cast<uint8_t>(vip.index),
      .state = !arrival.tcp  ? ConnectionState::kUdp
               : arrival.syn ? ConnectionState::kOpening
                             : ConnectionState::kTcp};
  counters_.Count(connections_->Insert(entry, seconds_) ? Event::kNew : Event::kUnrecorded);
  return chosen;
}

uint16_t Balancer::Choose(const Vip& vip, const packet::FlowKey& flow, const Arrival& arrival) {
  if (!vip.connections) {
    counters_.Count(Event::kByRing);
    return ChooseByRing(vip, flow);
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
  if (place == vip.quic_ids.end() || place->first != route.server_id ||
      tables_->backends()[place->second].generation == 0) {
    counters_.Count(Event::kQuicUnknown);
    return kNobody;
  }
  counters_.Count(Event::kQuicServer);
  return place->second;
}

uint16_t Balancer::ChooseKnown(const Vip& vip, const Arrival& arrival) {
  const auto owner = static_cast<uint8_t>(vip.index);
  std::optional<ConnectionTable::Hit> hit = connections_->Find(arrival.tag, owner, seconds_);
  if (!hit) return kNobody;
  Connection& entry = hit->entry;
  // A flow that begins anew is a new one where its backend takes no new ones, and in Katran.
  const bool anew = arrival.syn && (entry.state == ConnectionState::kClosing ||
                                    vip.rule.profile == Profile::kKatran ||
                                    tables_->backends()[entry.backend.index].state !=
                                        BackendState::kUp);
  if (!tables_->Serves(entry.backend) || anew) [[unlikely]] {
    connections_->Remove(hit->place);
    if (!anew) counters_.Count(BalancerCounters::kMoved);
    return kNobody;
  }
  if (entry.seen_s != static_cast<uint16_t>(seconds_) || arrival.syn || arrival.fin_or_rst ||
      entry.state == ConnectionState::kOpening) {
    ConnectionTable::Touch(entry, arrival.syn, arrival.fin_or_rst, seconds_);
    connections_->Update(hit->place, entry);
  }
  counters_.Count(BalancerCounters::kHit);
  return entry.backend.index;
}

Balancer::Ending Balancer::ProcessPlain(uint8_t* data, uint32_t length,
                                               uint32_t headroom) {
  const uint8_t protocol = data[kProtocolOffset];
  const auto ports = packet::Load<uint32_t>(data + kPortsOffset);
  const Vip* const vip =
      tables_->FindIpv4(packet::Load<uint32_t>(data + kAddressesOffset + 4),
                        static_cast<uint16_t>(ports >> 16), protocol);
  if (vip == nullptr || !vip->connections || vip->quic) [[unlikely]] {
    return ProcessOther({data, length, headroom, 0});
  }
  const bool tcp = protocol == packet::kProtocolTcp;
  const uint8_t flags = tcp ? data[kTcpFlagsOffset] : 0;
  const Arrival arrival{.tag = TagIpv4(data, protocol),
                        .tcp = tcp,
                        .syn = (flags & kSyn) != 0,
                        .fin_or_rst = (flags & (kFin | kRst)) != 0};
  uint16_t chosen = ChooseKnown(*vip, arrival);
  if (chosen == kNobody) {
    chosen = ChooseNew(*vip, FlowOfPlain(data), arrival);
    if (chosen == kNobody) [[unlikely]] return {data, length, packet::Drop(kNoBackend)};
  }
  const Outer& outer = tables_->backends()[chosen].outer;
  const uint32_t total = packet::LeadingWord::Of(data).TotalLength();
  const Setup& setup = tables_->setup();
  if (!outer.plain || headroom < kPlainBytes || total + kPlainBytes > setup.mtu)
      [[unlikely]] {
    return DeliverPlain({data, length, headroom, 0}, *vip, chosen);
  }
  CountBadChecksum(data + kIpOffset);
  counters_.CountTraffic(vip->index, chosen, length);
  if (setup.decrement_ttl) LowerTtl(data + kIpOffset, false);
  const Entropy entropy{.source = packet::Load<uint32_t>(data + kAddressesOffset),
                        .port = static_cast<uint16_t>(ports)};
  return {EncapsulatePlain(data, total, outer, entropy), kIpOffset + kPlainBytes + total,
          packet::kForward};
}

Balancer::Ending Balancer::ProcessOther(packet::Frame frame) {
  const packet::Verdict verdict = Decide(frame);
  return {frame.data, frame.length, verdict};
}

Balancer::Ending Balancer::DeliverPlain(packet::Frame frame, const Vip& vip, uint16_t backend) {
  const Headers headers = packet::Parse(frame.data, frame.length);
  const packet::Verdict verdict = Deliver(frame, headers, vip, backend);
  return {frame.data, frame.length, verdict};
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

packet::Verdict Balancer::ProcessIp(packet::Frame& frame, const Headers& headers,
                                    bool redirected) {
  const bool ipv6 = IsIpv6(headers);
  if (tables_->setup().profile == Profile::kKatran) {
    if (!ipv6 && (frame.data[headers.l3] & 0x0f) != 5) return packet::Drop(kIpOptions);
    if (headers.IsFragment()) return packet::Drop(kFragment);
  }
  const IpAddress destination = Destination(frame.data, headers);
  if (!tables_->IsVipAddress(destination.bytes, ipv6)) {
    if (!redirected) {
      if (auto verdict = ReceiveRedirected(frame, headers)) return *verdict;
    }
    if (headers.HasPorts()) {
      const Vip* const vip = tables_->FindNatSource(
          Source(frame.data, headers).bytes, ipv6,
          packet::Load<uint16_t>(frame.data + headers.l4), headers.protocol);
      if (vip != nullptr) return ProcessNatReturn(frame, headers, *vip);
    }
    counters_.Count(Event::kPassed);
    return packet::kPass;
  }
  if (headers.IsFragment()) return ProcessFragment(frame, headers, redirected);
  if (headers.protocol == (ipv6 ? packet::kProtocolIcmpv6 : packet::kProtocolIcmp)) {
    return ProcessIcmp(frame, headers);
  }
  if (!headers.HasPorts()) return packet::Drop(kUnknownProtocol);
  const Vip* const vip = tables_->Find(destination.bytes, ipv6,
                                       packet::Load<uint16_t>(frame.data + headers.l4 + 2),
                                       headers.protocol);
  if (vip == nullptr) return packet::Drop(kUnknownProtocol);
  return ForwardFlow(frame, headers, *vip, FlowOf(frame.data, headers));
}

packet::Verdict Balancer::ForwardFlow(packet::Frame& frame, const Headers& headers,
                                      const Vip& vip, const packet::FlowKey& flow) {
  uint16_t backend = kNobody;
  if (vip.quic && headers.protocol == packet::kProtocolUdp) {
    backend = ChooseByQuic(vip, frame, headers);
  }
  if (backend == kNobody) {
    const bool tcp = flow.protocol == packet::kProtocolTcp;
    const uint8_t flags =
        tcp && headers.protocol == packet::kProtocolTcp ? frame.data[headers.l4 + 13] : 0;
    backend = Choose(vip, flow,
                     {.tag = TagOf(flow),
                      .tcp = tcp,
                      .syn = (flags & kSyn) != 0,
                      .fin_or_rst = (flags & (kFin | kRst)) != 0});
  }
  if (backend == kNobody) return packet::Drop(kNoBackend);
  if (headers.IsFragment()) {
    fragments_->Put(FragmentTag(frame.data, headers),
                    {backend, tables_->backends()[backend].generation}, vip.index, seconds_);
  }
  return Deliver(frame, headers, vip, backend);
}

uint64_t Balancer::FragmentTag(const uint8_t* frame, const Headers& headers) const {
  packet::FlowKey flow = FlowOf(frame, headers);
  flow.source_port = flow.destination_port = 0;
  return Fold(TagOf(flow) ^ FragmentId(frame, headers), key_);
}

packet::Verdict Balancer::ProcessFragment(packet::Frame& frame, const Headers& headers,
                                          bool redirected) {
  const std::vector<Peer>& peers = tables_->peers();
  if (!redirected && peers.size() > 1) {
    packet::FlowKey flow = FlowOf(frame.data, headers);
    flow.source_port = flow.destination_port = 0;
    const Peer& owner = peers[packet::HashFlowKey(flow, kOwnerSeed) % peers.size()];
    if (!owner.self) {
      counters_.Count(Event::kRedirected);
      return Wrap(frame, headers, owner.outer);
    }
  }
  if (!headers.IsLaterFragment()) {
    if (!headers.HasPorts()) return packet::Drop(kUnknownProtocol);
    const packet::FlowKey flow = FlowOf(frame.data, headers);
    const Vip* const vip =
        tables_->Find(flow.destination, IsIpv6(headers),
                      packet::Load<uint16_t>(frame.data + headers.l4 + 2), headers.protocol);
    if (vip == nullptr) return packet::Drop(kUnknownProtocol);
    counters_.Count(Event::kFragmentFirst);
    return ForwardFlow(frame, headers, *vip, flow);
  }
  const auto found = fragments_->Find(FragmentTag(frame.data, headers), seconds_);
  if (!found || !tables_->Serves(found->backend) ||
      tables_->backends()[found->backend.index].vip != found->vip) {
    return packet::Drop(kFragment);
  }
  counters_.Count(Event::kFragmentLater);
  return Deliver(frame, headers, tables_->vips()[found->vip], found->backend.index);
}

/// A fragment from another balancer, out of its outer header: never redirected again.
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
  packet::StoreBe16(start + headers.l3 - 2, headers.protocol == kIpv6InIp
                                                ? packet::kEtherTypeIpv6
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
    const Vip* const vip = tables_->Find(flow->destination, IsIpv6(headers),
                                         __builtin_bswap16(flow->destination_port),
                                         flow->protocol);
    // A rewritten quote would be needed: what a NAT backend sent says its own address.
    if (vip == nullptr || vip->encapsulation == Encapsulation::kNat) {
      return packet::Drop(kIcmpOther);
    }
    const auto hit =
        connections_->Find(TagOf(*flow), static_cast<uint8_t>(vip->index), seconds_);
    const bool known = hit && tables_->Serves(hit->entry.backend);
    const uint16_t backend = known ? hit->entry.backend.index : ChooseByRing(*vip, *flow);
    if (backend == kNobody) return packet::Drop(kNoBackend);
    counters_.Count(Event::kIcmpError);
    return Deliver(frame, headers, *vip, backend);
  }
  if (!AnswerEcho(frame, headers)) return packet::Drop(kIcmpOther);
  counters_.Count(Event::kEcho);
  return packet::kForward;
}

packet::Verdict Balancer::Deliver(packet::Frame& frame, const Headers& headers, const Vip& vip,
                                  uint16_t backend_index) {
  const Backend& backend = tables_->backends()[backend_index];
  const Setup& setup = tables_->setup();
  uint8_t* const ip = frame.data + headers.l3;
  const bool ipv6 = IsIpv6(headers);
  const uint32_t bytes = headers.end - headers.l3 + backend.outer.header_bytes;
  if (bytes > setup.mtu) {
    return RefuseTooLong(frame, headers, setup.mtu - backend.outer.header_bytes);
  }
  if (setup.decrement_ttl && ip[ipv6 ? 7 : 8] <= 1) return packet::Drop(kTtlExpired);
  if (!ipv6 && !packet::ChecksumHolds(packet::SumBytes(ip, (ip[0] & 0xfu) * 4))) {
    counters_.Count(Event::kBadIpChecksum);
  }
  const uint32_t arrived_bytes = frame.length;
  if (setup.decrement_ttl) LowerTtl(ip, ipv6);
  const packet::Verdict verdict = vip.encapsulation == Encapsulation::kNat
                                      ? Rewrite(frame, headers, backend)
                                      : Wrap(frame, headers, backend.outer);
  if (verdict == packet::kForward) {
    counters_.CountTraffic(vip.index, backend_index, arrived_bytes);
  }
  return verdict;
}

packet::Verdict Balancer::Wrap(packet::Frame& frame, const Headers& headers, const Outer& outer) {
  if (!MakeRoom(frame, outer.header_bytes)) return packet::Drop(kNoHeadroom);
  Encapsulate(frame, headers, outer, Entropy::Of(frame.data, headers));
  return packet::kForward;
}

packet::Verdict Balancer::Rewrite(packet::Frame& frame, const Headers& headers,
                                  const Backend& backend) {
  if (IsIpv6(headers)) {
    packet::SetIpv6Address(frame.data, headers, packet::End::kDestination,
                           backend.address.bytes);
  } else {
    packet::SetIpv4Address(frame.data, headers, packet::End::kDestination,
                           packet::Load<packet::Ipv4Address>(backend.address.bytes.data()));
  }
  if (backend.nat_port_be != 0 && headers.HasPorts()) {
    packet::SetPort(frame.data, headers, packet::End::kDestination,
                    __builtin_bswap16(backend.nat_port_be));
  }
  packet::SetMac(frame.data, packet::End::kSource,
                 packet::Load<packet::MacAddress>(frame.data));
  packet::SetMac(frame.data, packet::End::kDestination, backend.outer.next_hop);
  return packet::kForward;
}

packet::Verdict Balancer::ProcessNatReturn(packet::Frame& frame, const Headers& headers,
                                           const Vip& vip) {
  const Setup& setup = tables_->setup();
  uint8_t* const ip = frame.data + headers.l3;
  const bool ipv6 = IsIpv6(headers);
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
  if (vip.port_be != 0) {
    packet::SetPort(frame.data, headers, packet::End::kSource, __builtin_bswap16(vip.port_be));
  }
  packet::SetMac(frame.data, packet::End::kSource,
                 packet::Load<packet::MacAddress>(frame.data));
  packet::SetMac(frame.data, packet::End::kDestination,
                 setup.next_hop.value_or(packet::MacAddress{}));
  counters_.Count(Event::kNatReturn);
  return packet::kForward;
}

packet::Verdict Balancer::RefuseTooLong(packet::Frame& frame, const Headers& headers,
                                        uint32_t mtu) {
  if (!MakeRoom(frame, kHeadroomBytes) || !MakeTooBig(frame, headers, mtu)) {
    return packet::Drop(kTooLong);
  }
  counters_.Count(Event::kTooBig);
  return packet::kForward;
}

bool Balancer::MakeRoom(packet::Frame& frame, uint32_t bytes) {
  if (frame.headroom >= bytes) return true;
  if (frame.length > kMaxBuiltBytes) return false;
  uint8_t* const data = buffer_.get() + kHeadroomBytes;
  std::memcpy(data, frame.data, frame.length);
  frame = {data, frame.length, kHeadroomBytes, kMaxBuiltBytes - frame.length};
  return true;
}

}  // namespace sluice::engine::maglev
