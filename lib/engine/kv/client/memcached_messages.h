// SPDX-License-Identifier: BSD-3-Clause
//
// A memcached client's datagrams: one request, or the whole answer to one. Both protocols stand
// behind the frame header of memcached over UDP: request id, number of this datagram, number of
// datagrams, 0; big-endian u16.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/kv/client/messages.h"

namespace sluice::engine::kv::client {

/// Servers split answers that are longer, which is read here as no answer.
inline constexpr size_t kMemcachedMaxAnswerBytes = 1400;

/// The longer one of a set, and of the answer to a get that hits.
size_t MemcachedLongest(Protocol protocol, size_t key_bytes, size_t value_bytes);

/// Writes a datagram, and returns its length; 0, if it does not fit.
size_t WriteMemcached(Protocol protocol, const Request& request, std::span<uint8_t> room);

/// Reads a datagram; nothing, if it is no whole answer to a get or a set.
std::optional<Answer> ReadMemcached(Protocol protocol, Bytes datagram);

}  // namespace sluice::engine::kv::client
