// SPDX-License-Identifier: BSD-3-Clause
//
// The echo engines: what sluice-echo does to a frame. Two classes rather than
// one with a mode, so that no loop asks for the mode per frame. Both are pure,
// keep no state and satisfy nic::FrameEngine.
#pragma once

#include <array>
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
/// forwarded untouched; Ethernet padding is no payload. UDP over plain IPv4 is
/// decided by the IP total length alone, for every branch counts: the UDP length
/// is not looked at, and the later fragments of a datagram have the ninth byte
/// of their data incremented, which is payload, too.
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
  [[gnu::noinline]] static void IncrementOther(uint8_t* frame, uint32_t length);
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
    if (IsSimple(frame.data, frame.length)) [[likely]] {
      packet::SwapMacs(frame.data);
      packet::SwapIpv4Addresses(frame.data + kIp);
      packet::SwapPorts(frame.data + kUdp);
      const uint8_t old_byte = frame.data[kPayload]++;
      uint8_t* checksum = frame.data + kUdp + 6;
      packet::Store(checksum, packet::UpdateUdpChecksum(packet::Load<uint16_t>(checksum), old_byte,
                                                        frame.data[kPayload]));
      return packet::kForward;
    }
    return ReflectOther(frame.data, frame.length);
  }

 private:
  static constexpr uint32_t kIp = packet::kEthernetHeaderBytes;
  static constexpr uint32_t kUdp = kIp + packet::kIpv4MinHeaderBytes;
  static constexpr uint32_t kPayload = kUdp + packet::kUdpHeaderBytes;

  /// True for what the inlined half handles as ReflectOther would: a whole,
  /// unfragmented UDP datagram with payload, over IPv4 without tags and options,
  /// from one host to one host.
  static bool IsSimple(const uint8_t* frame, uint32_t length) {
    if (length <= kPayload) return false;
    const packet::LeadingWord word = packet::LeadingWord::Of(frame);
    const uint32_t total_length = word.TotalLength();
    const uint32_t udp_length = packet::LoadBe16(frame + kUdp + 4);
    constexpr uint16_t kFragmentBits = 0x3fff;  // More fragments, and the offset.
    return word.IsPlainIpv4() && frame[kIp + 9] == packet::kProtocolUdp &&
           (packet::LoadBe16(frame + kIp + 6) & kFragmentBits) == 0 &&
           total_length + kIp <= length && udp_length > packet::kUdpHeaderBytes &&
           udp_length + packet::kIpv4MinHeaderBytes <= total_length &&
           ((frame[0] | frame[6]) & 1) == 0 && frame[kIp + 12] < 224 && frame[kIp + 16] < 224;
  }

  [[gnu::noinline]] static packet::Verdict ReflectOther(uint8_t* frame, uint32_t length);
};

}  // namespace sluice::engine
