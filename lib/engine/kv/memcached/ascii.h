// SPDX-License-Identifier: BSD-3-Clause
//
// memcached's ASCII protocol (protocol.txt of 1.6), over UDP: the classic commands and the meta
// commands mg, ms, md, ma and mn. Answers and errors are byte for byte those of memcached 1.6,
// but:
//
//   reply        one stream for all requests of a datagram; memcached frames each hit of a
//                multi-get as a message of its own. One that gets too long is an error.
//   data         that the datagram does not hold is a bad chunk; memcached would take it from
//                later datagrams. A line without an end is ignored, and the datagram ends there.
//   numbers      lengths beyond 32 bits are refused and expiries beyond count, where memcached
//                takes their lower half.
//   meta flags   those that need marks the store does not keep are refused as invalid: N, R, h
//                and l of mg (hit before, last access, who may recache), I of ms and md. u is
//                taken for the hint that it is. k answers b if the request has b; memcached: if
//                the item was stored so.
//   t            of an item that expires at once is 0; memcached's falls below and wraps.
//   me, bget     me, slabs, lru, watch, cache_memlimit, shutdown and other ways into memcached's
//   and others   insides are no commands. `stats` has what is true here (statistics.h).
//   flush_all    is refused unless the store allows it; never with a delay.
#pragma once

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

/// Serves a datagram, without its UDP frame. Refused: one without any line.
Progress ServeAscii(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters);

}  // namespace sluice::engine::kv::memcached
