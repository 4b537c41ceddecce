// SPDX-License-Identifier: BSD-3-Clause
//
// The echo engines of sluice-echo. There are two classes instead of one with a mode, so that no
// loop has to test a mode for each frame. Both classes are stateless and satisfy
// packet::FrameEngine.
#pragma once

#include <cstdint>

#include "base/counter_rows.h"
#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/engine.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/frame_length.h"
#include "packet/rewrite.h"

namespace sluice::engine {

/// The Ensō paper's microbenchmark: increments one byte of the payload and forwards every frame,
/// with addresses and checksums unchanged. The byte is the first one after the UDP, TCP (with
/// options) or ICMP header, after the IP header for other protocols, or after the EtherType of a
/// frame that is not IP. A frame without this byte or with invalid headers is forwarded unchanged.
/// Ethernet padding does not count as payload. To save branches, the path for UDP over plain IPv4
/// reads only the IP total length: the UDP length is ignored, and in later fragments the ninth data
/// byte is incremented, which is also payload.
class IncrementEcho final : public packet::Engine {
 public:
  packet::Verdict Process(packet::Frame& frame, uint64_t /*now*/) const {
    constexpr uint32_t kMinTotal = kUdpPayload - packet::kEthernetHeaderBytes + 1;
    constexpr uint32_t kMaxTotal = 0xffff;
    if (frame.length > kUdpPayload &&
        packet::LeadingWord::Of(frame.data).IsPlainIpv4Within(kMinTotal, kMaxTotal) &&
        frame.data[kProtocolOffset] == packet::kProtocolUdp) [[likely]] {
      ++frame.data[kUdpPayload];
      return packet::kForward;
    }
    IncrementOther(frame.data, frame.length);
    return packet::kForward;
  }

 private:
  static constexpr uint32_t kProtocolOffset = 23;
  static constexpr uint32_t kUdpPayload =
      packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes + packet::kUdpHeaderBytes;

  /// The parameters replace a Frame: a Frame passed by address would be kept in memory instead of
  /// registers.
  [[gnu::noinline]] static void IncrementOther(uint8_t* frame, uint32_t length);
};

/// Returns every frame to its sender: swaps MAC addresses, IPv4 or IPv6 addresses and UDP or TCP
/// ports, increments the same payload byte as IncrementEcho, and updates the UDP, TCP or ICMP
/// checksum incrementally. (A swap does not change Internet checksums, because the sum is
/// commutative.) A UDP checksum of 0 ("none") stays 0. In later fragments, only the MAC and IP
/// addresses are swapped: these fragments contain no ports, and the checksum over their bytes is in
/// another frame. VLAN tags are kept.
class ReflectEcho final : public packet::Engine {
 public:
  enum Reason : uint8_t {
    kMalformed,         ///< A header does not fit or contradicts another.
    kGroupDestination,  ///< The reply would have a multicast or broadcast source.
    kGroupSource,       ///< The reply would go to a multicast or broadcast address.
    kSourceRouted,      ///< The source route is not used up: this host is not the destination.
    kReasons
  };
  static constexpr auto kDropReasons =
      base::Names<Reason, kReasons>({{kMalformed, "malformed"},
                                     {kGroupDestination, "group_destination"},
                                     {kGroupSource, "group_source"},
                                     {kSourceRouted, "source_routed"}});

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

  /// Returns whether the inline path yields the same result as ReflectOther. This holds for a
  /// complete, unfragmented UDP datagram with payload over IPv4 without tags and options, from one
  /// host to another.
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
