// SPDX-License-Identifier: BSD-3-Clause
//
// Splits IP datagrams that exceed the next link's MTU into fragments (RFC 791 section 3.2, RFC 8200
// section 4.5): IPv4 with any options, IPv6 without extension headers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "packet/ethernet.h"

namespace sluice::packet {

/// The longest frame that can hold an IP datagram: Ethernet with two tags, and IPv6's header and
/// payload.
inline constexpr uint32_t kLongestDatagramFrame =
    kEthernetHeaderBytes + 8 + kIpv6HeaderBytes + 65535;

/// Splits datagrams for one MTU. Used by one thread. All fragmenters of a process share the
/// identification counter, so identifications differ until it wraps around.
class Fragmenter {
 public:
  /// Minimum MTU of an IPv6 link (RFC 8200 section 5).
  static constexpr uint32_t kLeastMtu = 1280;
  static constexpr uint32_t kUnlimited = 65535 + kIpv6HeaderBytes;

  /// `mtu` is the length in bytes of the longest IP packet on the link. A value below 68 is raised
  /// to 68 (RFC 791 section 3.2).
  explicit Fragmenter(uint32_t mtu);

  /// Returns whether a datagram fits without fragmentation. Its IP header is at offset `l3` in a
  /// frame of `length` bytes.
  bool Fits(uint32_t length, uint32_t l3) const { return length - l3 <= mtu_; }
  /// Calls `send(frame, length)` for each fragment of a datagram that does not fit, in order, until
  /// a call returns false. `frame` consists of the Ethernet header, the IP header at `l3`, and the
  /// payload up to `length`. The lengths in its headers must be correct. Returns whether all
  /// fragments were sent.
  template <typename Send>
  bool Cut(const uint8_t* frame, uint32_t length, uint32_t l3, Send send) {
    const Plan plan = Begin(frame, length, l3);
    for (uint32_t offset = 0; offset < plan.payload_bytes; offset += plan.step) {
      if (!send(piece_.data(), Write(plan, offset))) return false;
    }
    return true;
  }

 private:
  struct Plan {
    const uint8_t* payload;
    uint32_t payload_bytes;
    uint32_t l3;
    uint32_t headers;  ///< Bytes before a fragment's payload.
    uint32_t step;     ///< Payload bytes of each fragment except the last.
    bool ipv6;
  };

  Plan Begin(const uint8_t* frame, uint32_t length, uint32_t l3);
  /// Builds the fragment at `offset` in `piece_`. Returns its length.
  uint32_t Write(const Plan& plan, uint32_t offset);

  uint32_t mtu_;
  std::vector<uint8_t> piece_;
};

}  // namespace sluice::packet
