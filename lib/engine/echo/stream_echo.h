// SPDX-License-Identifier: BSD-3-Clause
//
// The echo engine for byte streams: the Echo Protocol over TCP (RFC 862).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "packet/byte_stream.h"

namespace sluice::engine {

/// Returns all bytes unchanged. Closes a connection after the peer has closed it and all bytes have
/// been returned.
class StreamEcho final : public packet::StreamEngine {
 public:
  struct Connection {};

  void Process(Connection& /*connection*/, packet::StreamTurn& turn, uint64_t /*now*/) const {
    turn.consumed = turn.written = std::min(turn.bytes, turn.room_bytes);
    std::memcpy(turn.room, turn.data, turn.consumed);
  }
};

}  // namespace sluice::engine
