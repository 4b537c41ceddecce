// SPDX-License-Identifier: BSD-3-Clause
//
// The echo engines: what sluice-echo does to a frame. Two classes rather than
// one with a mode, so that no loop asks for the mode per frame. Both are pure,
// keep no state and satisfy nic::FrameEngine.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/frame_length.h"
#include "packet/rewrite.h"

namespace sluice::engine {

/// The Ensō paper's microbenchmark: increments one byte of the payload and
/// forwards every frame; addresses and checksums stay as they are. The byte is
/// the first after the UDP, TCP (options included) or ICMP header, after the IP
/// header for any other protocol, after the EtherType for a frame that is not
/// IP. A frame without such a byte, or whose headers do not hold together, is
/// forwarded untouched; Ethernet padding is no payload. The later fragments of a
/// UDP datagram have theirs incremented 8 bytes after the IP header too: the
/// byte is payload in either case, and telling them apart would cost a branch.
class IncrementEcho {
 public:
  static constexpr std::array<std::string_view, 0> kDropReasons{};

  packet::Verdict Process(packet::Frame& frame, uint64_t /*now*/) const {
    using packet::LeadingWord;
    constexpr uint32_t kPayload =
        packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes + packet::kUdpHeaderBytes;
    if (frame.length > kPayload) [[likely]] {
      const LeadingWord word = LeadingWord::Of(frame.data);
      if (word.IsPlainIpv4() && frame.data[kProtocolOffset] == packet::kProtocolUdp) [[likely]] {
        if (word.TotalLength() > kPayload - packet::kEthernetHeaderBytes) [[likely]] {
          ++frame.data[kPayload];
        }
        return packet::kForward;
      }
    }
    IncrementOther(frame.data, frame.length);
    return packet::kForward;
  }

 private:
  static constexpr uint32_t kProtocolOffset = 23;

  /// By value: a Frame whose address is taken would live in memory, not in registers.
  [[gnu::noinline, gnu::cold]] static void IncrementOther(uint8_t* frame, uint32_t length);
};

/// Returns every frame to its sender: swaps MAC addresses, IPv4 or IPv6
/// addresses and UDP or TCP ports, increments the payload byte that
/// IncrementEcho names, and repairs the UDP, TCP or ICMP checksum incrementally.
/// (Swaps leave every Internet checksum as it is: the sum is commutative.)
/// A UDP checksum of 0 ("none") stays 0. A fragment other than the first has its
/// MAC and IP addresses swapped and nothing else: it carries no ports, and the
/// checksum over its bytes travels in another frame. VLAN tags stay.
class ReflectEcho {
 public:
  enum Reason : uint8_t {
    kMalformed,         ///< A header does not fit, or contradicts another.
    kGroupDestination,  ///< The reply would come from a multicast or broadcast address.
    kGroupSource,       ///< The reply would go to one.
    kSourceRouted,      ///< Its source route has stops ahead: it is not for us to answer.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "malformed", "group_destination", "group_source", "source_routed"};

  packet::Verdict Process(packet::Frame& frame, uint64_t /*now*/) const {
    return Reflect(frame.data, frame.length);
  }

 private:
  static packet::Verdict Reflect(uint8_t* frame, uint32_t length);
};

}  // namespace sluice::engine
