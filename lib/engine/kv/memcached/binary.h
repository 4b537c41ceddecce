// SPDX-License-Identifier: BSD-3-Clause
//
// memcached's binary protocol, over UDP, with the statuses and texts of memcached 1.6. As there,
// a request with invalid arguments is the last one served of its datagram. Quiet commands answer
// mistakes and failures, but no success; those that get, no miss.
//
// A response that gets too long is the error "Too large." Touch, gat and stat with a value, which
// memcached takes for the next request, are invalid; so is a flush with a delay. SASL and
// verbosity are unknown. A flush is refused unless the store allows it, as memcached does it with
// -F: authentication error.
#pragma once

#include <cstdint>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"

namespace sluice::engine::kv::memcached {

inline constexpr uint8_t kRequestMagic = 0x80;
inline constexpr uint8_t kResponseMagic = 0x81;
inline constexpr uint32_t kHeaderBytes = 24;

/// Serves a datagram, without its UDP frame. Refused: one that does not begin with a whole
/// request. One that is cut short later is ignored.
Progress ServeBinary(Exchange& exchange, Access& access, Reply& reply, ProtocolCounters& counters);

}  // namespace sluice::engine::kv::memcached
