// SPDX-License-Identifier: BSD-3-Clause
//
// A balancer's counters in addition to its drop counters: how each packet's backend was chosen, and
// traffic by VIP and backend.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/counter_rows.h"
#include "engine/maglev/setup.h"

namespace sluice::engine::maglev {

/// Number of packets, and number of bytes in the frames as received.
struct Traffic {
  uint64_t pkts = 0;
  uint64_t bytes = 0;
};

/// One worker's counters. Only the worker writes them; other threads read through Load.
struct BalancerCounters {
  enum Event : uint8_t {
    kHit,          ///< Backend from the connection table.
    kNew,          ///< New flow, recorded; backend from source prefix or ring.
    kUnrecorded,   ///< New flow, not recorded: the table had no room.
    kFlood,        ///< New flow, not recorded: new flows exceed flood_rate.
    kByRing,       ///< Flow that must not be recorded: no table, or FIN or RST of an unknown flow.
    kQuicServer,   ///< Backend from the server id in the connection id.
    kQuicUnknown,  ///< The connection id does not name a backend in use.
    kBySource,  ///< Backend from a source prefix; also counted as kNew … kByRing or kIcmpError.
    kMoved,     ///< The flow's backend is gone; chosen again.
    kFragmentFirst,   ///< First fragments to VIPs or from NAT backends.
    kFragmentLater,   ///< Later fragments whose first one is known.
    kRedirected,      ///< Fragments sent to the balancer that owns them.
    kRedirectedHere,  ///< Fragments received from another balancer.
    kIcmpError,       ///< ICMP errors sent to the flow's backend or client.
    kEcho,            ///< Echo requests to a VIP that were answered.
    kTooBig,          ///< Packets answered with "too big".
    kBadIpChecksum,   ///< Forwarded despite a wrong IPv4 checksum.
    kNatReturn,       ///< Answers from NAT backends, rewritten.
    kPassed,          ///< Not for a VIP: passed to the slow path.
    kEvents
  };
  static constexpr auto kNames = base::Names<Event, kEvents>({{kHit, "hit"},
                                                              {kNew, "new"},
                                                              {kUnrecorded, "unrecorded"},
                                                              {kFlood, "flood"},
                                                              {kByRing, "by_ring"},
                                                              {kQuicServer, "quic_server"},
                                                              {kQuicUnknown, "quic_unknown"},
                                                              {kBySource, "by_source"},
                                                              {kMoved, "moved"},
                                                              {kFragmentFirst, "fragment_first"},
                                                              {kFragmentLater, "fragment_later"},
                                                              {kRedirected, "redirected"},
                                                              {kRedirectedHere, "redirected_here"},
                                                              {kIcmpError, "icmp_error"},
                                                              {kEcho, "echo"},
                                                              {kTooBig, "too_big"},
                                                              {kBadIpChecksum, "bad_ip_checksum"},
                                                              {kNatReturn, "nat_return"},
                                                              {kPassed, "passed"}});

  std::array<uint64_t, kEvents> events{};
  std::vector<Traffic> by_vip = std::vector<Traffic>(kMaxVips);          ///< Indexed by VIP.
  std::vector<Traffic> by_backend = std::vector<Traffic>(kMaxBackends);  ///< Indexed by backend.

  /// Add to counters. May be called only by the owning worker.
  void Count(Event event, uint64_t times = 1) { Add(events[event], times); }
  void CountVip(uint16_t vip, Traffic more) { AddTo(by_vip[vip], more); }
  void CountBackend(uint16_t backend, Traffic more) { AddTo(by_backend[backend], more); }
  /// Adds to one of the totals. May be called only by the owning worker.
  static void AddTo(Traffic& total, Traffic more) {
    Add(total.pkts, more.pkts);
    Add(total.bytes, more.bytes);
  }
  /// Loads a counter. May be called by any thread.
  static uint64_t Load(const uint64_t& total) {
    return std::atomic_ref(const_cast<uint64_t&>(total)).load(std::memory_order_relaxed);
  }

 private:
  static void Add(uint64_t& total, uint64_t amount) {
    std::atomic_ref(total).store(total + amount, std::memory_order_relaxed);
  }
};

}  // namespace sluice::engine::maglev
