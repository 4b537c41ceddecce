// SPDX-License-Identifier: BSD-3-Clause
//
// Frames that carry the datagrams of a client.
#pragma once

#include <cstdint>
#include <cstring>

#include "client_wire.h"
#include "packet/datagram.h"
#include "packet/rewrite.h"

namespace sluice::kv {

/// Bytes of the Ethernet, IPv4 and UDP headers.
inline constexpr uint32_t kClientHeaderBytes = 42;

/// Writes the headers for a datagram of `bytes` to worker `endpoint`. The datagram follows the
/// headers in `frame`, which has space for kMinFrameBytes. `server` is the destination's MAC
/// address. Returns the frame's length.
inline uint32_t FinishFrame(const ClientWireOptions& options, const packet::MacAddress& server,
                            uint32_t endpoint, uint32_t bytes, uint8_t* frame) {
  constexpr packet::MacAddress kClientMac{0x02, 0, 0, 0, 0, 1};
  constexpr uint16_t kClientPort = 40000;
  const bool mica = options.client.protocol == engine::kv::client::Protocol::kMica;
  const packet::UdpPath path{
      kClientMac,
      server,
      kClientWireAddress,
      options.to,
      static_cast<uint16_t>(kClientPort + endpoint),
      mica ? static_cast<uint16_t>(options.mica_port + endpoint) : options.memcached_port};
  packet::Datagram::WritePlain(frame, path, bytes);  // The headers are those of MICA's clients.
  const uint32_t length = kClientHeaderBytes + bytes;
  if (length >= emulator::kMinFrameBytes) return length;
  std::memset(frame + length, 0, emulator::kMinFrameBytes - length);
  return emulator::kMinFrameBytes;
}

}  // namespace sluice::kv
