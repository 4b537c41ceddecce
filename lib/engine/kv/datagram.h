// SPDX-License-Identifier: BSD-3-Clause
//
// UDP datagrams in frames: found and checked on the way in, addressed to their sender on the way
// out. IPv4 without options and IPv6 without extension headers, behind up to two VLAN tags.
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/frame_length.h"

namespace sluice::engine::kv {

struct Datagram {
  /// What it is if it is none for us to answer.
  enum class Kind : uint8_t { kUdp, kOther, kMalformed, kFragment, kOptions, kBadChecksum };

  Kind kind = Kind::kOther;
  bool ipv6 = false;
  bool summed = false;  ///< It came with a UDP checksum; so will the answer.
  uint16_t port = 0;    ///< Destination.
  uint32_t l3 = 0;      ///< Offsets in the frame.
  uint32_t payload = 0;
  uint32_t payload_bytes = 0;

  uint32_t l4() const { return payload - packet::kUdpHeaderBytes; }

  /// Checks every length and, where there is one, the UDP checksum.
  static Datagram In(const uint8_t* frame, uint32_t length);

  /// Makes the headers at `frame` (this datagram's, `payload` bytes of them) those of an answer
  /// whose payload, `bytes` long, follows them: from us to its sender.
  void Answer(uint8_t* frame, uint32_t bytes) const;
};

}  // namespace sluice::engine::kv
