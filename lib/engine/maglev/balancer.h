// SPDX-License-Identifier: BSD-3-Clause
//
// One worker's load balancer, a BurstEngine: parses a packet, finds its VIP and connection, and
// encapsulates the packet. Single-threaded; performs no I/O. All settings that an operator can
// change at run time are in the Tables that AtRest loads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/counter_rows.h"
#include "engine/maglev/connections.h"
#include "engine/maglev/counters.h"
#include "engine/maglev/flow_tags.h"
#include "engine/maglev/fragments.h"
#include "engine/maglev/plain_path.h"
#include "engine/maglev/tables.h"
#include "packet/burst.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/parse.h"

namespace sluice::engine::maglev {

class Balancer final : public packet::Engine {
 public:
  enum Reason : uint8_t {
    kMalformed,   ///< A header does not fit into the frame or contradicts another header.
    kNoBackend,   ///< Every backend of the VIP is down, drained or has weight 0.
    kTooLong,     ///< Exceeds the MTU once encapsulated, and an error must not be sent.
    kNoHeadroom,  ///< The buffer lacks headroom, and the frame is too long to be built elsewhere.
    kTtlExpired,  ///< The TTL or hop limit expires here.
    kFragment,  ///< Later fragment whose first fragment is unknown; profile `katran`: any fragment.
    kIpOptions,        ///< IPv4 options (profile `katran`).
    kQuicNoServer,     ///< The server id names a removed backend (profile `katran`).
    kIcmpOther,        ///< Echo request to a VIP; rejected by AnswerEcho.
    kUnknownProtocol,  ///< For a VIP's address, but none of its services; `katran` passes it.
    kReasons
  };
  static constexpr auto kDropReasons =
      base::Names<Reason, kReasons>({{kMalformed, "malformed"},
                                     {kNoBackend, "no_backend"},
                                     {kTooLong, "too_long"},
                                     {kNoHeadroom, "no_headroom"},
                                     {kTtlExpired, "ttl_expired"},
                                     {kFragment, "fragment"},
                                     {kIpOptions, "ip_options"},
                                     {kQuicNoServer, "quic_no_server"},
                                     {kIcmpOther, "icmp_other"},
                                     {kUnknownProtocol, "unknown_protocol"}});
  /// Headroom in bytes that the engine needs to encapsulate a frame in place. If there is no
  /// headroom (as in a pipe), the engine builds the frame in the burst's spare memory or in
  /// buffer_.
  static constexpr uint32_t kHeadroomBytes = 64;
  static constexpr bool kWritesFrames = true;
  static constexpr bool kOwnFramesOnly = true;

  /// Loads `tables` in AtRest. The caller must keep loaded tables alive until the next AtRest.
  /// `seed` is the secret key of the connection table. `cycles_per_second` is the frequency of the
  /// `now` arguments.
  Balancer(const std::atomic<const Tables*>* tables, uint64_t seed, uint64_t cycles_per_second);
  Balancer(Balancer&&) = default;

  /// Loads new tables and the time. Must be called between bursts: once before the first burst,
  /// then often.
  void AtRest(uint64_t now) override;
  /// Answers every frame. The result for a frame does not depend on how frames are grouped into
  /// bursts.
  template <packet::Burst Burst>
  [[gnu::always_inline]] void ProcessBurst(Burst& burst, uint64_t /*now*/) {
    PlainPath(*tables_, tags_, now_.seconds, connections_, counters_, buffer_.get())
        .Process(burst, [&](uint32_t number, const uint64_t& tag) {
          const packet::Frame frame = burst.At(number);
          const Ending ending =
              ProcessOther(frame.data, frame.length, frame.headroom, burst.spare(), tag);
          burst.Answer(number, {ending.data, ending.length, 0, 0}, ending.verdict);
        });
  }

  const BalancerCounters& counters() const { return counters_; }
  /// Returns this worker's connections. Must be called only by the worker, or while the worker is
  /// at rest.
  const ConnectionTable& connections() const { return connections_; }
  uint32_t seconds() const { return now_.seconds; }
  uint64_t epoch() const { return tables_->epoch(); }

 private:
  Balancer(const std::atomic<const Tables*>* tables, const Setup& setup, uint64_t seed,
           uint64_t cycles_per_second);

  /// Verdict and position of a frame. Returned by value: a Frame passed by address would force
  /// every frame of a burst into memory.
  struct Ending {
    uint8_t* data;
    uint32_t length;
    packet::Verdict verdict;
  };
  static_assert(sizeof(Ending) == 16, "two registers");
  /// The parts of a packet that determine its connection.
  struct Arrival {
    uint64_t tag;
    bool tcp = false;
    bool syn = false;
    bool fin_or_rst = false;
  };

  /// Handles the frames that PlainPath does not handle. `tag` is the tag of the flow of a plain
  /// frame, or 0 for other frames. It is passed by reference because a value would be loaded, and
  /// kept in a register, for every frame of a burst.
  [[gnu::noinline]] Ending ProcessOther(uint8_t* data, uint32_t length, uint32_t headroom,
                                        uint8_t* spare, const uint64_t& tag);
  /// Like Decide, but for a plain frame whose flow has `tag`.
  packet::Verdict DecidePlain(packet::Frame& frame, uint64_t tag);
  packet::Verdict Decide(packet::Frame& frame);
  packet::Verdict ProcessIp(packet::Frame& frame, const packet::Headers& headers, bool redirected);
  packet::Verdict ProcessIcmp(packet::Frame& frame, const packet::Headers& headers);
  packet::Verdict ProcessFragment(packet::Frame& frame, const packet::Headers& headers,
                                  bool redirected);
  uint64_t FragmentTag(const uint8_t* frame, const packet::Headers& headers) const;
  /// Handles a packet that NAT may have to translate towards a client: an answer from a NAT
  /// backend, a fragment of an answer, or an ICMP error about a packet that was sent to a NAT
  /// backend. Returns nullopt for all other packets.
  std::optional<packet::Verdict> ProcessNatReturn(packet::Frame& frame,
                                                  const packet::Headers& headers);
  std::optional<packet::Verdict> ProcessNatFragment(packet::Frame& frame,
                                                    const packet::Headers& headers);
  /// Returns the NAT backend that sent an answer, or to which the packet quoted by an ICMP error
  /// was sent. Returns null if there is none.
  const Backend* FindNatBackend(const packet::Frame& frame, const packet::Headers& headers) const;
  /// Sends a packet to a client with the VIP as its source. In the packet that an ICMP error
  /// quotes, the VIP becomes the destination.
  packet::Verdict SendBack(packet::Frame& frame, const packet::Headers& headers, const Vip& vip);
  std::optional<packet::Verdict> ReceiveRedirected(packet::Frame& frame,
                                                   const packet::Headers& headers);
  packet::Verdict ForwardFlow(packet::Frame& frame, const packet::Headers& headers, const Vip& vip,
                              const packet::FlowKey& flow, uint64_t tag);
  packet::Verdict ForwardError(packet::Frame& frame, const packet::Headers& headers, const Vip& vip,
                               const packet::FlowKey& flow);
  /// Sends a packet of `flow` to a backend: lowers the TTL, checks the MTU, then encapsulates or
  /// rewrites.
  packet::Verdict Deliver(packet::Frame& frame, const packet::Headers& headers, const Vip& vip,
                          const packet::FlowKey& flow, uint16_t backend);
  static void Rewrite(packet::Frame& frame, const packet::Headers& headers, const Backend& backend);
  packet::Verdict Wrap(packet::Frame& frame, const packet::Headers& headers, const Outer& outer,
                       Entropy entropy);
  packet::Verdict RefuseTooLong(packet::Frame& frame, const packet::Headers& headers, uint32_t mtu);

  /// Chooses the backend by the connection table if the VIP uses it, otherwise by source prefix or
  /// ring. Returns kNobody if no backend is available.
  uint16_t Choose(const Vip& vip, const packet::FlowKey& flow, const Arrival& arrival);
  /// Looks up the backend in the connection table. Returns kNobody if the flow is not recorded
  /// there. Removes the flow and returns kNobody if its backend no longer serves the VIP, or if a
  /// SYN restarts the flow.
  uint16_t ChooseKnown(const Vip& vip, const Arrival& arrival);
  /// Chooses the backend of a new flow by source prefix or ring, and records the flow. Does not
  /// record it above the flood rate, if the packet ends the flow, or if the table has no room.
  uint16_t ChooseNew(const Vip& vip, const packet::FlowKey& flow, const Arrival& arrival);
  /// Chooses the backend by source prefix or, if that yields none, by the ring.
  uint16_t ChooseAfresh(const Vip& vip, const packet::FlowKey& flow);
  uint16_t ChooseByRing(const Vip& vip, const packet::FlowKey& flow);
  /// Chooses the backend by the server id in the QUIC connection id. Returns kNobody if the id does
  /// not name a server, or if the server's backend was removed; Katran's profile returns the
  /// removed backend.
  uint16_t ChooseByQuic(const Vip& vip, const packet::Frame& frame, const packet::Headers& headers);
  /// Records `backend`, which a QUIC connection id named, as the backend of the flow, if the VIP
  /// uses the connection table. Does not record new flows above the flood rate. Katran's profile
  /// only updates flows that are already recorded.
  void Learn(const Vip& vip, uint64_t tag, uint16_t backend);
  bool MayRecord();
  /// Provides `bytes` of headroom. A frame without enough headroom is moved to `spare` if the frame
  /// and `bytes` fit there, otherwise to buffer_. Returns false if the frame is too long.
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
  /// kHeadroomBytes, followed by room for a frame that arrived without headroom.
  std::unique_ptr<uint8_t[]> buffer_;
};

}  // namespace sluice::engine::maglev
