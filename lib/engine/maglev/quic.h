// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the server id from a QUIC connection id in the encoding that Katran's fleet uses
// (docs/maglev-peers.md, "Katran: QUIC"). The first two bits are a version. The server id follows:
// 16 bits immediately after the version, or 24 or 32 bits from the second byte on.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::engine::maglev {

enum class QuicKind : uint8_t {
  kNone,     ///< Not QUIC, too short, or an id shorter than 8 bytes.
  kInitial,  ///< Initial or 0-RTT packet, whose id the client chose: ignore the id.
  kUnknown,  ///< The id's version has no server id, or the server id is 0: ignore the id.
  kServer,   ///< `server_id` identifies the backend.
};

struct QuicRoute {
  QuicKind kind = QuicKind::kNone;
  uint32_t server_id = 0;
};

/// Parses a UDP payload. Never reads past its end.
QuicRoute ReadQuicRoute(std::span<const uint8_t> payload);

}  // namespace sluice::engine::maglev
