// SPDX-License-Identifier: BSD-3-Clause
//
// A memcached client's datagrams, each of which contains one request or one complete answer. In
// both protocols, the message follows memcached's UDP frame header, four big-endian u16: request
// id, number of this datagram, number of datagrams, 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/kv/client/messages.h"

namespace sluice::engine::kv::client {

/// Maximum length of an answer. Servers split longer answers, which this client does not accept.
inline constexpr size_t kMemcachedMaxAnswerBytes = 1400;

/// Returns the length of a set or of the answer to a get that hits, whichever is longer.
size_t MemcachedLongest(Protocol protocol, size_t key_bytes, size_t value_bytes);

/// Writes a datagram and returns its length; 0 if it does not fit.
size_t WriteMemcached(Protocol protocol, const Request& request, std::span<uint8_t> room);

/// Reads a datagram. Returns nullopt if it is not a complete answer to a get or a set.
std::optional<Answer> ReadMemcached(Protocol protocol, Bytes datagram);

}  // namespace sluice::engine::kv::client
