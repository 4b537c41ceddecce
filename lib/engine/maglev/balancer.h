// SPDX-License-Identifier: BSD-3-Clause
//
// The load balancer of one worker: parse, VIP, connection, encapsulate. Pure and
// single-threaded; a FrameEngine. Everything that an operator can change is in the Tables
// that AtRest picks up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/maglev/connections.h"
#include "engine/maglev/fragments.h"
#include "engine/maglev/tables.h"
#include "packet/frame.h"
#include "packet/parse.h"

namespace sluice::engine::maglev {

/// Packets and bytes (of the frame as it came).
struct Traffic {
  uint64_t pkts = 0;
  uint64_t bytes = 0;
};

/// What a worker counts besides its drops. Its own to write; others read relaxed.
struct BalancerCounters {
  enum Event : uint8_t {
    kHit,              ///< By the connection table.
    kNew,              ///< By the ring, and recorded.
    kUnrecorded,       ///< By the ring; the table had no room.
    kFlood,            ///< By the ring, not recorded: more new flows than flood_rate.
    kByRing,           ///< By the ring, of a VIP without connections.
    kQuicServer,       ///< By the server id of a connection id.
    kQuicUnknown,      ///< The id names no backend: by the ring.
    kMoved,            ///< Its backend is gone: decided anew.
    kFragmentFirst,    ///< First fragments of VIPs.
    kFragmentLater,    ///< Later ones that found their first.
    kRedirected,       ///< Fragments sent to the balancer that owns them.
    kRedirectedHere,   ///< Fragments that came from another one.
    kIcmpError,        ///< Errors that followed their flow.
    kEcho,             ///< Echo requests to a VIP, answered.
    kTooBig,           ///< Answered "too big".
    kBadIpChecksum,    ///< Forwarded all the same.
    kNatReturn,        ///< Answers of backends, rewritten.
    kPassed,           ///< Not for a VIP: to the slow path.
    kEvents
  };
  static constexpr std::array<std::string_view, kEvents> kNames{
      "hit", "new", "unrecorded", "flood", "by_ring", "quic_server", "quic_unknown", "moved",
      "fragment_first", "fragment_later", "redirected", "redirected_here", "icmp_error", "echo",
      "too_big", "bad_ip_checksum", "nat_return", "passed"};

  std::array<uint64_t, kEvents> events{};
  std::vector<Traffic> by_vip;      ///< By index; kMaxVips of them.
  std::vector<Traffic> by_backend;  ///< By index; kMaxBackends of them.
};

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
    kIcmpOther,        ///< ICMP to a VIP that is neither echo nor error, or about no VIP's flow.
    kUnknownProtocol,  ///< To a VIP's address, but no service of it.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "malformed", "no_backend", "too_long", "no_headroom", "ttl_expired", "fragment",
      "ip_options", "quic_no_server", "icmp_other", "unknown_protocol"};
  /// Room that the engine wants in front of a frame; without it (a pipe has none) it builds
  /// the frame in a buffer of its own.
  static constexpr uint32_t kHeadroomBytes = 64;

  /// Reads `tables` at AtRest; the owner keeps what was read alive until the AtRest that
  /// follows. `seed`: secret key of the connection table. `cycles_per_second` of `now`.
  Balancer(const std::atomic<const Tables*>* tables, uint64_t seed, uint64_t cycles_per_second);

  /// Between packets: takes up new tables and the time. Before the first Process, and often.
  void AtRest(uint64_t now);
  /// Fetches what Process will want of this frame. A hint: any bytes will do.
  void Prepare(const uint8_t* frame, uint32_t length) const;
  packet::Verdict Process(packet::Frame& frame, uint64_t now);

  const BalancerCounters& counters() const { return counters_; }
  /// Of the worker itself, or at rest.
  const ConnectionTable& connections() const { return *connections_; }
  uint32_t seconds() const { return seconds_; }
  /// The epoch in use.
  uint64_t epoch() const { return tables_->epoch(); }
};

}  // namespace sluice::engine::maglev
