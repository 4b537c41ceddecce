// SPDX-License-Identifier: BSD-3-Clause
//
// memcached's binary protocol, over UDP, with the statuses and texts of memcached 1.6. As there,
// an invalid request or an unknown command is the last one served of its datagram. Quiet commands
// answer mistakes and failures, but no success; those that get, no miss.
//
// Not done: SASL, verbosity, flush with a delay (all answered as unknown or invalid), and flush
// unless the store allows it (as memcached with -F: authentication error).
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
