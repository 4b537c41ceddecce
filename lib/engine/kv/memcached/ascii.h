// SPDX-License-Identifier: BSD-3-Clause
//
// memcached's ASCII protocol (protocol.txt of 1.6) over UDP and byte streams: the classic commands
// and the meta commands mg, ms, md, ma and mn. Answers and errors match those of memcached 1.6 byte
// for byte, with these exceptions:
//
//   reply        is one stream for all requests in a datagram; memcached sends each hit of a
//                multi-get as a separate message. A reply that is too long becomes an error.
//   data         that is not in the datagram is a bad chunk; memcached reads it from later
//                datagrams. A line without an end is ignored with the rest of the datagram.
//   numbers      lengths above 32 bits are rejected and expiries above 32 bits are used; memcached
//                uses the lower half of both.
//   meta flags   that need item state which the store does not keep are rejected as invalid: N,
//                R, h and l of mg (hit before, last access, recache permission), I of ms and md.
//                u is accepted as a hint. k answers b if the request has b; memcached does so if
//                the item was stored with b.
//   t            of an item that expires immediately is 0; memcached's underflows and wraps.
//   me, bget     me, slabs, lru, watch, cache_memlimit, shutdown and other commands for memcached's
//   and others   internals are unknown. `stats` reports only values that exist here (statistics.h).
//   flush_all    is refused unless the store allows it, and never accepts a delay.
//
// The exceptions `reply` and `data` do not apply to streams: items are sent in parts, and
// incomplete requests wait for more bytes. A value of more than 1 MiB is skipped, and a command
// that ends like the request line of HTTP ends the stream. The README of sluice-kv lists the
// differences of streams.
#pragma once

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

/// Serves a datagram without its UDP frame, or the whole requests among the unread bytes of a
/// stream. Refuses a datagram without any complete line.
Progress ServeAscii(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters);

}  // namespace sluice::engine::kv::memcached
