// SPDX-License-Identifier: BSD-3-Clause
//
// What a balancer counts besides its drops: how each packet found its backend, and whose
// traffic it was.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// Packets and bytes (of the frame as it came).
struct Traffic {
  uint64_t pkts = 0;
  uint64_t bytes = 0;
};

/// One worker's. Its own to write; others read through Load.
struct BalancerCounters {
  enum Event : uint8_t {
    kHit,             ///< By the connection table.
    kNew,             ///< By the ring, and recorded.
    kUnrecorded,      ///< By the ring; the table had no room.
    kFlood,           ///< By the ring, not recorded: more new flows than flood_rate.
    kByRing,          ///< By the ring, of a VIP without connections.
    kQuicServer,      ///< By the server id of a connection id.
    kQuicUnknown,     ///< The id names no backend: by the ring.
    kBySource,        ///< Decided by the source's prefix instead of the ring: besides the others.
    kMoved,           ///< Its backend is gone: decided again.
    kFragmentFirst,   ///< First fragments to VIPs, and of answers of NAT backends.
    kFragmentLater,   ///< Later ones that found their first.
    kRedirected,      ///< Fragments sent to the balancer that owns them.
    kRedirectedHere,  ///< Fragments that came from another one.
    kIcmpError,       ///< Errors that followed their flow, to a backend or back to a client.
    kEcho,            ///< Echo requests to a VIP, answered.
    kTooBig,          ///< Answered "too big".
    kBadIpChecksum,   ///< Forwarded all the same.
    kNatReturn,       ///< Answers of backends, rewritten.
    kPassed,          ///< Not for a VIP: to the slow path.
    kEvents
  };
  static constexpr std::array<std::string_view, kEvents> kNames{"hit",
                                                                "new",
                                                                "unrecorded",
                                                                "flood",
                                                                "by_ring",
                                                                "quic_server",
                                                                "quic_unknown",
                                                                "by_source",
                                                                "moved",
                                                                "fragment_first",
                                                                "fragment_later",
                                                                "redirected",
                                                                "redirected_here",
                                                                "icmp_error",
                                                                "echo",
                                                                "too_big",
                                                                "bad_ip_checksum",
                                                                "nat_return",
                                                                "passed"};

  std::array<uint64_t, kEvents> events{};
  std::vector<Traffic> by_vip = std::vector<Traffic>(kMaxVips);          ///< By index.
  std::vector<Traffic> by_backend = std::vector<Traffic>(kMaxBackends);  ///< By index.

  /// The owner alone.
  void Count(Event event, uint64_t times = 1) { Add(events[event], times); }
  void CountVip(uint16_t vip, Traffic more) { AddTo(by_vip[vip], more); }
  void CountBackend(uint16_t backend, Traffic more) { AddTo(by_backend[backend], more); }
  /// Any thread.
  static uint64_t Load(const uint64_t& total) {
    return std::atomic_ref(const_cast<uint64_t&>(total)).load(std::memory_order_relaxed);
  }

 private:
  static void Add(uint64_t& total, uint64_t amount) {
    std::atomic_ref(total).store(total + amount, std::memory_order_relaxed);
  }
  static void AddTo(Traffic& total, Traffic more) {
    Add(total.pkts, more.pkts);
    Add(total.bytes, more.bytes);
  }
};

}  // namespace sluice::engine::maglev
