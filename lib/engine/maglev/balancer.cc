// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses the backend of a packet: connection table, source prefix, ring or QUIC server id.
#include "engine/maglev/balancer.h"

#include <algorithm>
#include <span>

#include "engine/maglev/quic.h"

namespace sluice::engine::maglev {
namespace {

using packet::Headers;
using Event = BalancerCounters::Event;

}  // namespace

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
  // An RST or FIN of an unknown flow ends that flow, so it is not recorded.
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
  // Katran changes only the backend: the timestamp of a known entry stays, and an unknown flow is
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
  // the old backend accepts no new flows. In Katran's profile, it is always chosen again.
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

}  // namespace sluice::engine::maglev
