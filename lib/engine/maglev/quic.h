// SPDX-License-Identifier: BSD-3-Clause
//
// The server id in a QUIC connection id, as Katran's fleet encodes it
// (docs/maglev-peers.md, "Katran: QUIC"): the first two bits are a version, then follow
// 16 (right behind), or, from the second byte on, 24 or 32 bits of id.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::engine::maglev {

enum class QuicKind : uint8_t {
  kNone,     ///< Not QUIC as we know it, too short, or an id of less than 8 bytes.
  kInitial,  ///< Long header before the handshake: the client chose the id; use the ring.
  kUnknown,  ///< An id of a version that names no server, or server 0: use the ring.
  kServer,   ///< `server_id` chose a server.
};

struct QuicRoute {
  QuicKind kind = QuicKind::kNone;
  uint32_t server_id = 0;
};

/// Reads a UDP payload; never beyond it.
QuicRoute ReadQuicRoute(std::span<const uint8_t> payload);

}  // namespace sluice::engine::maglev
