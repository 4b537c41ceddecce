// SPDX-License-Identifier: BSD-3-Clause
//
// Finds log text in frames by destination port. Corrupt text must not be matched: the code that
// reads the text must verify its checksum.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/logmon/source/source.h"
#include "engine/logmon/source/tcp_stream.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/flow_key.h"
#include "packet/frame_length.h"
#include "packet/plain.h"

namespace sluice::engine::logmon {

/// Contents of a frame.
struct FoundText {
  enum class Kind : uint8_t {
    kText,
    kOther,      ///< No text for an observed port, or a source route with remaining hops.
    kWindow,     ///< Segment from the receiver of a TCP text stream, with its window.
    kMalformed,  ///< A header is too long or contradicts another header.
    kFragment,   ///< UDP or TCP fragment; fragments are not reassembled.
  };

  Kind kind = Kind::kOther;
  Transport transport = Transport::kLines;
  uint8_t tcp_flags = 0;
  uint32_t sequence = 0;  ///< TCP only.
  uint32_t payload = 0;   ///< Offset in the frame.
  uint32_t payload_bytes = 0;
  uint64_t sum = 0;      ///< Sum (packet::SumBytes) of the checksummed bytes except the payload.
  bool summed = true;    ///< Whether the packet has a checksum.
  TcpWindow window;      ///< Only for kWindow.
  packet::FlowKey flow;  ///< kWindow: the stream's flow, opposite to that of the frame.

  /// Returns whether the checksum is correct, given the sum of the payload modulo 0xffff. The
  /// checksum is optional for UDP over IPv4 (RFC 768) and mandatory over IPv6 (RFC 8200, section
  /// 8.1).
  bool Holds(uint64_t payload_sum) const {
    return summed ? packet::ChecksumHolds(sum + payload_sum) : flow.ip_version == 4;
  }
  std::string_view Payload(const uint8_t* frame) const {
    return {reinterpret_cast<const char*>(frame) + payload, payload_bytes};
  }
};

class TextFinder {
 public:
  /// The arguments are destination ports. A UDP port that is in both lists is used for syslog.
  TextFinder(std::span<const uint16_t> syslog_ports, std::span<const uint16_t> line_ports,
             std::span<const uint16_t> tcp_ports, std::span<const uint16_t> syslog_tcp_ports = {});

  /// Parses the `length` bytes at `frame` and does not read beyond them. If the frame contains
  /// neither text nor a window, only the kind is valid.
  void Find(const uint8_t* frame, uint32_t length, FoundText& found) const {
    if (!packet::IsPlainUdpOrTcp(frame, length)) return FindAny(frame, length, found);
    const uint8_t protocol = frame[packet::kPlainProtocol];
    const bool tcp = protocol == packet::kProtocolTcp;
    if (UseOf(frame + packet::kPlainL4, tcp) == kNone) {
      found.kind = FoundText::Kind::kOther;
      if (!tcp || !IsOfReceiver(frame + packet::kPlainL4)) return;
      packet::WritePlainFlowKey(frame, &found.flow);
      return ReadWindow(frame + packet::kPlainL4, found);
    }
    packet::WritePlainFlowKey(frame, &found.flow);
    const uint32_t end = packet::kPlainL3 + packet::LeadingWord::Of(frame).TotalLength();
    Read(frame, {.l3 = packet::kPlainL3, .l4 = packet::kPlainL4, .end = end, .tcp = tcp}, found);
  }

  /// Returns whether TCP streams to `port` contain syslog messages (RFC 6587).
  bool IsSyslogStream(uint16_t port) const { return (uses_[port] & kTcpSyslog) != 0; }

 private:
  /// Uses of a port for UDP and TCP, as bits.
  enum Use : uint8_t { kNone = 0, kSyslog = 1, kLines = 2, kTcp = 4, kTcpSyslog = 8 };

  /// A complete UDP or TCP packet: offsets are within the frame, and lengths fit.
  struct Packet {
    uint32_t l3, l4, end;
    bool tcp;
    bool ipv6 = false;
  };

  uint8_t UseOf(const uint8_t* l4, bool tcp) const {
    return uses_[packet::LoadBe16(l4 + 2)] & (tcp ? kTcp | kTcpSyslog : kSyslog | kLines);
  }

  /// Returns whether a TCP segment was sent from a port that receives text streams.
  bool IsOfReceiver(const uint8_t* l4) const {
    return (uses_[packet::LoadBe16(l4)] & (kTcp | kTcpSyslog)) != 0;
  }

  [[gnu::noinline]] void FindAny(const uint8_t* frame, uint32_t length, FoundText& found) const;
  /// Reads a packet to one of the observed ports; sets all members except the flow and the window.
  /// Inlined, because most packets are plain and have constant offsets.
  [[gnu::always_inline]] void Read(const uint8_t* frame, const Packet& packet,
                                   FoundText& found) const {
    found.kind = FoundText::Kind::kText;
    const uint8_t* const l4 = frame + packet.l4;
    if (packet.tcp) {
      const uint32_t bytes = packet.end - packet.l4, header = uint32_t{l4[12]} >> 4 << 2;
      found.transport = Transport::kTcp;
      found.tcp_flags = l4[13];
      found.sequence = packet::LoadBe32(l4 + 4);
      found.payload = packet.l4 + header;
      found.payload_bytes = bytes - header;
      found.summed = true;
      found.sum = packet::SumBytes(l4, header, PseudoSum(frame, packet, bytes));
    } else {
      const uint32_t bytes = packet::LoadBe16(l4 + 4);
      const bool syslog = (UseOf(l4, false) & kSyslog) != 0;
      found.transport = syslog ? Transport::kSyslog : Transport::kLines;
      found.payload = packet.l4 + packet::kUdpHeaderBytes;
      found.payload_bytes = bytes - packet::kUdpHeaderBytes;
      found.summed = packet::Load<uint16_t>(l4 + 6) != 0;
      found.sum = packet::SumBytes(l4, packet::kUdpHeaderBytes, PseudoSum(frame, packet, bytes));
    }
  }

  /// Returns the sum of the pseudo-header for a UDP or TCP packet of `bytes` bytes.
  static uint64_t PseudoSum(const uint8_t* frame, const Packet& packet, uint32_t bytes) {
    const uint8_t* const ip = frame + packet.l3;
    const uint8_t protocol = packet.tcp ? packet::kProtocolTcp : packet::kProtocolUdp;
    return packet.ipv6 ? packet::PseudoHeaderSumIpv6(ip, protocol, bytes)
                       : packet::PseudoHeaderSumIpv4(ip, protocol, static_cast<uint16_t>(bytes));
  }

  /// Reads a complete TCP header of a segment from a receiver of text streams. Reverses
  /// `found.flow`, which must be the frame's flow. Does nothing if the segment has no ACK.
  static void ReadWindow(const uint8_t* l4, FoundText& found);

  std::vector<uint8_t> uses_;  ///< Indexed by the receiver's port.
};

}  // namespace sluice::engine::logmon
