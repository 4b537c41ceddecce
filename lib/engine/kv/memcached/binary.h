// SPDX-License-Identifier: BSD-3-Clause
//
// memcached's binary protocol over UDP and byte streams, with the statuses and texts of
// memcached 1.6. As in memcached, requests of a datagram that follow a request with invalid
// arguments are not served. Quiet commands answer errors and failures but not success; quiet gets
// do not answer misses.
//
// A response that is too long becomes the error "Too large." Touch, gat and stat with a value are
// invalid; memcached would parse the value as the next request. A flush with a delay is invalid,
// too. SASL and verbosity are unknown. Unless the store allows a flush, it is answered with an
// authentication error, as by memcached with -F. In a stream, a request that is invalid without its
// value is answered before the value arrives, as by memcached.
#pragma once

#include <cstdint>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

inline constexpr uint8_t kRequestMagic = 0x80;
inline constexpr uint8_t kResponseMagic = 0x81;
inline constexpr uint32_t kHeaderBytes = 24;

/// Serves a datagram without its UDP frame, or the whole requests among the unread bytes of a
/// stream. Refuses a datagram that does not start with a complete request. Ignores an incomplete
/// request later in the datagram.
Progress ServeBinary(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters);

}  // namespace sluice::engine::kv::memcached
