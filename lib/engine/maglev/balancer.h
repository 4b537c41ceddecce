// SPDX-License-Identifier: BSD-3-Clause
//
// The load balancer of one worker: parse, VIP, connection, encapsulate. Pure and
// single-threaded; a BurstEngine. Everything that an operator can change is in the Tables
// that AtRest picks up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/maglev/connections.h"
#include "engine/maglev/counters.h"
#include "engine/maglev/flow_tags.h"
#include "engine/maglev/fragments.h"
#include "engine/maglev/plain_path.h"
#include "engine/maglev/tables.h"
#include "packet/burst.h"
#include "packet/frame.h"
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
    kFragment,         ///< A later one whose first was not seen, NAT's answers too; `katran`: any.
    kIpOptions,        ///< `katran`: IPv4 options.
    kQuicNoServer,     ///< `katran`: the server id belongs to a backend that is gone.
    kIcmpOther,        ///< To a VIP: an echo that deserves no answer.
    kUnknownProtocol,  ///< To a VIP's address, but no service of it; `katran` passes it on.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "malformed", "no_backend", "too_long",       "no_headroom", "ttl_expired",
      "fragment",  "ip_options", "quic_no_server", "icmp_other",  "unknown_protocol"};
  /// Room that the engine wants in front of a frame that it puts into another packet; without it
  /// (a pipe has none) it builds the frame in the burst's spare room, or in a buffer of its own.
  static constexpr uint32_t kHeadroomBytes = 64;
  static constexpr bool kWritesFrames = true;   ///< For packet::WritesFrames.
  static constexpr bool kOwnFramesOnly = true;  ///< For packet::OwnFramesOnly.

  /// Reads `tables` at AtRest; the owner keeps what was read alive until the AtRest that
  /// follows. `seed`: secret key of the connection table. `cycles_per_second` of `now`.
  Balancer(const std::atomic<const Tables*>* tables, uint64_t seed, uint64_t cycles_per_second);
  Balancer(Balancer&&) = default;

  /// Between packets: takes up new tables and the time. Before the first Process, and often.
  void AtRest(uint64_t now);
  /// Answers every frame. What becomes of it does not depend on how frames are divided into bursts.
  template <packet::Burst Burst>
  [[gnu::always_inline]] void ProcessBurst(Burst& burst, uint64_t /*now*/) {
    PlainPath(*tables_, tags_, now_.seconds, connections_, counters_, buffer_.get())
        .Process(burst, [&](uint32_t number) {
          const packet::Frame frame = burst.At(number);
          const Ending ending =
              ProcessOther(frame.data, frame.length, frame.headroom, burst.spare());
          burst.Answer(number, {ending.data, ending.length, 0, 0}, ending.verdict);
        });
  }

  const BalancerCounters& counters() const { return counters_; }
  /// Of the worker itself, or at rest.
  const ConnectionTable& connections() const { return connections_; }
  uint32_t seconds() const { return now_.seconds; }
  /// The epoch in use.
  uint64_t epoch() const { return tables_->epoch(); }

 private:
  Balancer(const std::atomic<const Tables*>* tables, const Setup& setup, uint64_t seed,
           uint64_t cycles_per_second);

  /// A frame's verdict, and where it is. By value: a Frame whose address is taken would live in
  /// memory, for every frame of a burst.
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

  /// Frames that PlainPath is not for.
  [[gnu::noinline]] Ending ProcessOther(uint8_t* data, uint32_t length, uint32_t headroom,
                                        uint8_t* spare);
  packet::Verdict Decide(packet::Frame& frame);
  packet::Verdict ProcessIp(packet::Frame& frame, const packet::Headers& headers, bool redirected);
  packet::Verdict ProcessIcmp(packet::Frame& frame, const packet::Headers& headers);
  packet::Verdict ProcessFragment(packet::Frame& frame, const packet::Headers& headers,
                                  bool redirected);
  uint64_t FragmentTag(const uint8_t* frame, const packet::Headers& headers) const;
  /// A packet that NAT may have to translate on its way to a client: an answer, a fragment of one,
  /// an error about a packet that was sent to a backend. Nothing: it is not.
  std::optional<packet::Verdict> ProcessNatReturn(packet::Frame& frame,
                                                  const packet::Headers& headers);
  std::optional<packet::Verdict> ProcessNatFragment(packet::Frame& frame,
                                                    const packet::Headers& headers);
  /// The NAT backend that sent an answer, or was sent the packet that an error quotes; or null.
  const Backend* FindNatBackend(const packet::Frame& frame, const packet::Headers& headers) const;
  /// Sends to a client: the VIP becomes the source of the packet, or of both the error and the
  /// answer that would have followed the quoted packet.
  packet::Verdict SendBack(packet::Frame& frame, const packet::Headers& headers, const Vip& vip);
  std::optional<packet::Verdict> ReceiveRedirected(packet::Frame& frame,
                                                   const packet::Headers& headers);
  packet::Verdict ForwardFlow(packet::Frame& frame, const packet::Headers& headers, const Vip& vip,
                              const packet::FlowKey& flow);
  packet::Verdict ForwardError(packet::Frame& frame, const packet::Headers& headers, const Vip& vip,
                               const packet::FlowKey& flow);
  /// Sends a packet of `flow` to a backend: TTL, MTU, encapsulation or rewrite.
  packet::Verdict Deliver(packet::Frame& frame, const packet::Headers& headers, const Vip& vip,
                          const packet::FlowKey& flow, uint16_t backend);
  static void Rewrite(packet::Frame& frame, const packet::Headers& headers, const Backend& backend);
  packet::Verdict Wrap(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                       Entropy entropy);
  packet::Verdict RefuseTooLong(packet::Frame& frame, const packet::Headers& headers, uint32_t mtu);

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
  uint16_t ChooseByQuic(const Vip& vip, const packet::Frame& frame, const packet::Headers& headers);
  /// What a connection id said is the flow's backend from now on; in Katran if the flow is known.
  void Learn(const Vip& vip, uint64_t tag, uint16_t backend);
  bool MayRecord();
  /// Sees to `bytes` of headroom: if need be at `spare`, so that a frame that grows by all of them
  /// begins there, or in buffer_. False: the frame is too long.
  bool MakeRoom(packet::Frame& frame, uint32_t bytes, uint8_t* spare);
  static void LowerTtl(uint8_t* ip, bool ipv6);

  const std::atomic<const Tables*>* published_;
  const Tables* tables_ = nullptr;
  FlowTags tags_;
  ConnectionTable connections_;
  FragmentTable fragments_;
  BalancerCounters counters_;
  uint64_t cycles_per_second_;
  Moment now_;
  uint32_t new_this_second_ = 0;
  /// kHeadroomBytes, and a frame that had none of its own.
  std::unique_ptr<uint8_t[]> buffer_;
};

}  // namespace sluice::engine::maglev
