// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/quic.h"

#include "packet/bytes.h"

namespace sluice::engine::maglev {
namespace {

// Long header (RFC 8999 section 5.1): flags, 32 bits of version, length of the destination
// connection id, the id. Short header: flags, id.
constexpr uint8_t kLongHeader = 0x80;
constexpr uint32_t kLongHeaderBytes = 6;
constexpr uint32_t kShortHeaderBytes = 1;
/// Shortest id that contains a server id.
constexpr uint32_t kMinIdBytes = 8;

constexpr uint32_t kVersion2 = 0x6b3343cf;

/// Returns whether a long header is that of an Initial or 0-RTT packet, whose id the client chose.
bool ClientChoseId(const uint8_t* header) {
  const uint32_t type = header[0] >> 4 & 3;
  // RFC 9000 section 17.2: Initial 0, 0-RTT 1, Handshake 2, Retry 3; RFC 9369 section 3.2 numbers
  // them 1, 2, 3, 0. Other versions are parsed as version 1.
  const bool version_2 = packet::LoadBe32(header + 1) == kVersion2;
  return version_2 ? type == 1 || type == 2 : type < 2;
}

/// Reads an id of at least kMinIdBytes bytes.
QuicRoute ReadId(const uint8_t* id) {
  uint32_t server_id = 0;
  switch (id[0] >> 6) {
    case 1:
      server_id = (id[0] & 0x3fu) << 10 | id[1] << 2 | id[2] >> 6;
      break;
    case 2:
      server_id = packet::LoadBe32(id) & 0xffffff;
      break;
    case 3:
      server_id = packet::LoadBe32(id + 1);
      break;
    default:
      break;
  }
  if (server_id == 0) return {QuicKind::kUnknown};
  return {QuicKind::kServer, server_id};
}

}  // namespace

QuicRoute ReadQuicRoute(std::span<const uint8_t> payload) {
  if (payload.empty()) return {};
  if ((payload[0] & kLongHeader) == 0) {
    if (payload.size() < kShortHeaderBytes + kMinIdBytes) return {};
    return ReadId(payload.data() + kShortHeaderBytes);
  }
  if (payload.size() < kLongHeaderBytes) return {};
  const uint32_t id_bytes = payload[5];
  if (id_bytes > payload.size() - kLongHeaderBytes) return {};
  if (ClientChoseId(payload.data())) return {QuicKind::kInitial};
  if (id_bytes < kMinIdBytes) return {};
  return ReadId(payload.data() + kLongHeaderBytes);
}

}  // namespace sluice::engine::maglev
