// SPDX-License-Identifier: BSD-3-Clause
//
// The load balancer of one worker: parse, VIP, connection, encapsulate. Pure and
// single-threaded; a FrameEngine. Everything that an operator can change is in the Tables
// that AtRest picks up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/maglev/connections.h"
#include "engine/maglev/counters.h"
#include "engine/maglev/fragments.h"
#include "engine/maglev/in_place.h"
#include "engine/maglev/tables.h"
#include "packet/frame.h"
#include "packet/frame_length.h"
#include "packet/parse.h"

namespace sluice::engine::maglev {

class Balancer {
 public:
  enum Reason : uint8_t {
    kMalformed,        ///< A header does not fit, or contradicts another.
    kNoBackend,        ///< Every backend of the VIP is down, drained or without weight.
    kTooLong,          ///< Beyond the MTU once encapsulated, and no error may be sent.
    kNoHeadroom,       ///< The buffer has no room in front.
    kTtlExpired,       ///< Its TTL or hop limit ends here.
    kFragment,         ///< A later fragment whose first was not seen; `katran`: any.
    kIpOptions,        ///< `katran`: IPv4 options.
    kQuicNoServer,     ///< `katran`: the server id belongs to a backend that is gone.
    kIcmpOther,        ///< To a VIP: an echo that deserves no answer, an error about NAT's flow.
    kUnknownProtocol,  ///< To a VIP's address, but no service of it; `katran` passes it on.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "malformed", "no_backend", "too_long", "no_headroom", "ttl_expired", "fragment",
      "ip_options", "quic_no_server", "icmp_other", "unknown_protocol"};
  /// Room that the engine wants in front of a frame that it puts into another packet; without it
  /// (a pipe has none) it builds the frame in Frame::spare, or in a buffer of its own.
  static constexpr uint32_t kHeadroomBytes = 64;

  /// Reads `tables` at AtRest; the owner keeps what was read alive until the AtRest that
  /// follows. `seed`: secret key of the connection table. `cycles_per_second` of `now`.
  Balancer(const std::atomic<const Tables*>* tables, uint64_t seed, uint64_t cycles_per_second);
  Balancer(Balancer&&) = default;

  /// Between packets: takes up new tables and the time. Before the first Process, and often.
  void AtRest(uint64_t now);
  /// Fetches what Process will want of this frame. A hint: any bytes will do.
  void Prepare(const uint8_t* frame, uint32_t length) const {
    if (length < kMinPlainBytes) return;
    connections_.Prefetch(TagIpv4(frame, frame[kProtocolOffset]));
  }

  packet::Verdict Process(packet::Frame& frame, uint64_t /*now*/) {
    const Ending ending = ProcessAny(frame.data, frame.length, frame.headroom, frame.spare);
    frame.data = ending.data;
    frame.length = ending.length;
    return ending.verdict;
  }

  const BalancerCounters& counters() const { return counters_; }
  /// Of the worker itself, or at rest.
  const ConnectionTable& connections() const { return connections_; }
  uint32_t seconds() const { return seconds_; }
  /// The epoch in use.
  uint64_t epoch() const { return tables_->epoch(); }

 private:
  Balancer(const std::atomic<const Tables*>* tables, const Setup& setup, uint64_t seed,
           uint64_t cycles_per_second);

  static constexpr uint32_t kIpOffset = packet::kEthernetHeaderBytes;
  static constexpr uint32_t kTtlOffset = kIpOffset + 8;
  static constexpr uint32_t kProtocolOffset = kIpOffset + 9;
  static constexpr uint32_t kAddressesOffset = kIpOffset + 12;
  static constexpr uint32_t kPortsOffset = kIpOffset + packet::kIpv4MinHeaderBytes;
  static constexpr uint32_t kTcpFlagsOffset = kPortsOffset + 13;
  /// Up to the last byte that the plain path reads before it knows what the packet is.
  static constexpr uint32_t kMinPlainBytes = kTcpFlagsOffset + 1;
  static constexpr uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04;

  /// A frame's verdict, and where it is. By value, as frames are handed on until they turn out
  /// not to be plain: a Frame whose address is taken would live in memory, not in registers.
  struct Ending {
    uint8_t* data;
    uint32_t length;
    packet::Verdict verdict;
  };
  static_assert(sizeof(Ending) == 16, "two registers");
  /// What of a packet decides about its connection.
  struct Arrival {
    uint64_t tag;
    bool tcp = false;
    bool syn = false;
    bool fin_or_rst = false;
  };

  /// Untagged IPv4 without options, TCP or UDP, unfragmented, whole, with TTL to spare: the
  /// bulk of all traffic.
  static bool IsPlain(const uint8_t* frame, uint32_t length) {
    if (length < kMinPlainBytes) return false;
    const packet::LeadingWord word = packet::LeadingWord::Of(frame);
    const uint8_t protocol = frame[kProtocolOffset];
    const uint32_t total = word.TotalLength();
    const bool udp = protocol == packet::kProtocolUdp;
    if (!word.IsPlainIpv4() || total + kIpOffset > length) return false;
    if ((packet::LoadBe16(frame + kIpOffset + 6) & 0x3fff) != 0 || frame[kTtlOffset] <= 1) {
      return false;
    }
    // The upper header is as packet::Parse wants it.
    if (udp) {
      const uint32_t bytes = packet::LoadBe16(frame + kPortsOffset + 4);
      return bytes >= packet::kUdpHeaderBytes && bytes + packet::kIpv4MinHeaderBytes <= total;
    }
    const uint32_t header = uint32_t{frame[kPortsOffset + 12]} >> 4 << 2;
    return protocol == packet::kProtocolTcp && header >= packet::kTcpMinHeaderBytes &&
           header + packet::kIpv4MinHeaderBytes <= total;
  }

  /// The tag of an IPv4 flow: `addresses` and `ports` as they lie in its header.
  uint64_t TagOf(uint64_t addresses, uint32_t ports, uint8_t protocol) const {
    return packet::FoldProduct(addresses ^ seed_, (uint64_t{protocol} << 32 | ports) ^ key_);
  }
  uint64_t TagIpv4(const uint8_t* frame, uint8_t protocol) const {
    return TagOf(packet::Load<uint64_t>(frame + kAddressesOffset),
                 packet::Load<uint32_t>(frame + kPortsOffset), protocol);
  }
  /// The same of any flow; of IPv4 the same value.
  uint64_t TagOf(const packet::FlowKey& flow) const;

  /// Plain frames of settled connections whose outer is plain, here: the bulk of all traffic.
  /// The others by ProcessOther. Functions that are called last cost the bulk no stack.
  [[gnu::always_inline]] Ending ProcessAny(uint8_t* data, uint32_t length, uint32_t headroom,
                                           uint8_t* spare);
  /// Plain frames that no VIP of one address is for.
  [[gnu::noinline]] Ending ProcessInPrefix(uint8_t* data, uint32_t length, uint32_t headroom,
                                           uint8_t* spare);
  [[gnu::always_inline]] Ending ProcessPlain(uint8_t* data, uint32_t length, uint32_t headroom,
                                             uint8_t* spare, const Vip* vip);
  [[gnu::noinline]] Ending ProcessOther(uint8_t* data, uint32_t length, uint32_t headroom);
  packet::Verdict Decide(packet::Frame& frame);
  packet::Verdict ProcessIp(packet::Frame& frame, const packet::Headers& headers,
                            bool redirected);
  packet::Verdict ProcessIcmp(packet::Frame& frame, const packet::Headers& headers);
  packet::Verdict ProcessFragment(packet::Frame& frame, const packet::Headers& headers,
                                  bool redirected);
  uint64_t FragmentTag(const uint8_t* frame, const packet::Headers& headers) const;
  packet::Verdict ProcessNatReturn(packet::Frame& frame, const packet::Headers& headers,
                                   const Vip& vip);
  std::optional<packet::Verdict> ReceiveRedirected(packet::Frame& frame,
                                                   const packet::Headers& headers);
  packet::Verdict ForwardFlow(packet::Frame& frame, const packet::Headers& headers,
                              const Vip& vip, const packet::FlowKey& flow);
  packet::Verdict ForwardError(packet::Frame& frame, const packet::Headers& headers,
                               const Vip& vip, const packet::FlowKey& flow);
  /// Sends a packet of `flow` to a backend: TTL, MTU, encapsulation or rewrite.
  packet::Verdict Deliver(packet::Frame& frame, const packet::Headers& headers, const Vip& vip,
                          const packet::FlowKey& flow, uint16_t backend);
  static void Rewrite(packet::Frame& frame, const packet::Headers& headers,
                      const Backend& backend);
  packet::Verdict Wrap(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                       Entropy entropy);
  packet::Verdict RefuseTooLong(packet::Frame& frame, const packet::Headers& headers,
                                uint32_t mtu);

  /// By the connection table, else the ring; kNobody: there is nobody.
  uint16_t Choose(const Vip& vip, const packet::FlowKey& flow, const Arrival& arrival);
  /// By the connection table; kNobody: the ring must decide.
  uint16_t ChooseKnown(const Vip& vip, const Arrival& arrival);
  /// By source or ring, and records it.
  uint16_t ChooseNew(const Vip& vip, const packet::FlowKey& flow, const Arrival& arrival);
  /// By the source's prefix, else by the ring.
  uint16_t ChooseAfresh(const Vip& vip, const packet::FlowKey& flow);
  uint16_t ChooseByRing(const Vip& vip, const packet::FlowKey& flow);
  /// kNobody: the connection id does not say. In Katran also a backend that is gone.
  uint16_t ChooseByQuic(const Vip& vip, const packet::Frame& frame,
                        const packet::Headers& headers);
  /// What a connection id said is the flow's backend from now on.
  void Learn(const Vip& vip, uint64_t tag, uint16_t backend);
  bool MayRecord();
  /// Where a frame of `length` bytes that has no headroom is built: `spare`, if it fits there.
  uint8_t* Elsewhere(uint8_t* spare, uint32_t length) {
    return spare != nullptr && length <= packet::Frame::kSpareBytes ? spare : buffer_.get();
  }
  /// Sees to `bytes` of headroom, in buffer_ if need be. False: the frame is too long for it.
  bool MakeRoom(packet::Frame& frame, uint32_t bytes);
  static void LowerTtl(uint8_t* ip, bool ipv6);
  /// Of an IPv4 header without options.
  void CountBadChecksum(const uint8_t* ip) {
    // 2^64 is 1 modulo 0xffff, so that a carry comes back as 1.
    const auto add = [](uint64_t one, uint64_t other) {
      return one + other + (one + other < one);
    };
    const uint64_t sum = add(add(packet::Load<uint64_t>(ip), packet::Load<uint64_t>(ip + 8)),
                             packet::Load<uint32_t>(ip + 16));
    if (sum % 0xffff != 0) [[unlikely]] {
      counters_.Count(BalancerCounters::kBadIpChecksum);
    }
  }

  const std::atomic<const Tables*>* published_;
  const Tables* tables_ = nullptr;
  uint64_t seed_;
  uint64_t key_;
  ConnectionTable connections_;
  FragmentTable fragments_;
  BalancerCounters counters_;
  uint64_t cycles_per_second_;
  uint32_t seconds_ = 0;
  uint32_t new_this_second_ = 0;
  /// kHeadroomBytes, and a frame that had none of its own.
  std::unique_ptr<uint8_t[]> buffer_;
};

inline Balancer::Ending Balancer::ProcessAny(uint8_t* data, uint32_t length, uint32_t headroom,
                                             uint8_t* spare) {
  if (!IsPlain(data, length)) [[unlikely]] return ProcessOther(data, length, headroom);
  const Vip* const vip = tables_->index().FindIpv4(
      packet::Load<uint64_t>(data + kAddressesOffset + 4), data[kProtocolOffset]);
  if (vip == nullptr) [[unlikely]] return ProcessInPrefix(data, length, headroom, spare);
  return ProcessPlain(data, length, headroom, spare, vip);
}

inline Balancer::Ending Balancer::ProcessPlain(uint8_t* data, uint32_t length, uint32_t headroom,
                                               uint8_t* spare, const Vip* vip) {
  const Setup& setup = tables_->setup();
  const uint32_t total = packet::LeadingWord::Of(data).TotalLength();
  const uint8_t protocol = data[kProtocolOffset];
  const bool tcp = protocol == packet::kProtocolTcp;
  if (total > vip->plain_bytes ||
      (tcp && (data[kTcpFlagsOffset] & (kSyn | kFin | kRst)) != 0)) [[unlikely]] {
    return ProcessOther(data, length, headroom);
  }
  const BackendRef backend = connections_.FindSettled(
      TagIpv4(data, protocol), static_cast<uint8_t>(vip->index),
      tcp ? ConnectionState::kTcp : ConnectionState::kUdp, seconds_);
  if (backend.generation == 0) [[unlikely]] return ProcessOther(data, length, headroom);
  const PlainOuter& outer = tables_->plain_outer(backend.index);
  if (outer.generation != backend.generation || outer.vip != vip->index) [[unlikely]] {
    return ProcessOther(data, length, headroom);
  }
  counters_.Count(BalancerCounters::kHit);
  counters_.CountTraffic(vip->index, backend.index, length);
  CountBadChecksum(data + kIpOffset);
  if (RewritesInPlace(vip->encapsulation)) {
    if (setup.decrement_ttl) LowerTtl(data + kIpOffset, false);
    if (vip->encapsulation == Encapsulation::kNat) RewriteDestination(data, tcp, outer);
    SendToNextHop(data, outer);
    return {data, length, packet::kForward};
  }
  const Entropy entropy{.source = packet::Load<uint32_t>(data + kAddressesOffset),
                        .port = packet::Load<uint16_t>(data + kPortsOffset)};
  const uint32_t built = kIpOffset + kPlainBytes + total;
  uint8_t* start = data - kPlainBytes;
  if (headroom < kPlainBytes) {
    start = Elsewhere(spare, built);
    CopyPlain(data + kIpOffset, total, start + kIpOffset + kPlainBytes);
  }
  EncapsulatePlain(data, total, outer, entropy, start);
  if (setup.decrement_ttl) LowerTtl(start + kIpOffset + kPlainBytes, false);
  return {start, built, packet::kForward};
}

/// Of a packet with TTL to spare.
inline void Balancer::LowerTtl(uint8_t* ip, bool ipv6) {
  if (ipv6) {
    --ip[7];
    return;
  }
  --ip[8];
  // RFC 1624: one less in a covered word is one more in the checksum, in one's complement.
  const uint32_t checksum = packet::Load<uint16_t>(ip + 10) + 1u;
  packet::Store(ip + 10, static_cast<uint16_t>(checksum + (checksum >= 0xffff)));
}

}  // namespace sluice::engine::maglev
