// SPDX-License-Identifier: BSD-3-Clause
//
// Who gets a packet, and the bulk of all traffic.
#include "engine/maglev/balancer.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "engine/maglev/quic.h"
#include "packet/ethernet.h"

namespace sluice::engine::maglev {
namespace {

using packet::Headers;
using Event = BalancerCounters::Event;

// A second key from the seed: splitmix64.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
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
  const uint64_t ends =
      packet::FoldProduct(packet::Load<uint64_t>(flow.source.data() + 8) ^ seed_,
                          packet::Load<uint64_t>(flow.destination.data() + 8) ^ key_);
  return TagOf(packet::FoldProduct(source ^ seed_, destination ^ key_) ^ ends, ports,
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
  if (place == vip.quic_ids.end() || place->first != route.server_id) {
    counters_.Count(Event::kQuicUnknown);
    return kNobody;
  }
  const bool serves = tables_->backends()[place->second].generation != 0;
  counters_.Count(serves ? Event::kQuicServer : Event::kQuicUnknown);
  return serves || vip.rule.profile == Profile::kKatran ? place->second : kNobody;
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

}  // namespace sluice::engine::maglev
