// SPDX-License-Identifier: BSD-3-Clause
//
// Finds log text in frames: to which port it goes says what it is. Text that is corrupted must not
// be matched: its checksum is to be verified by whoever goes through it.
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

/// What a frame holds.
struct FoundText {
  enum class Kind : uint8_t {
    kText,
    kOther,      ///< None for us; also what is to be routed on to another destination.
    kWindow,     ///< The other direction of a TCP stream with text: how much its receiver accepts.
    kMalformed,  ///< A header does not fit, or contradicts another.
    kFragment,   ///< Of UDP or TCP. Fragments are not put together.
  };

  Kind kind = Kind::kOther;
  Transport transport = Transport::kLines;
  uint8_t tcp_flags = 0;
  uint32_t sequence = 0;  ///< TCP.
  uint32_t payload = 0;   ///< Offset in the frame.
  uint32_t payload_bytes = 0;
  uint64_t sum = 0;    ///< Of what the checksum covers (packet::SumBytes) but the payload.
  bool summed = true;  ///< There is a checksum.
  TcpWindow window;    ///< Of kWindow.
  packet::FlowKey
      flow;  ///< Of kWindow: the stream's, whose direction is the opposite of the frame's.

  /// Whether the text came as it was sent, given the payload's sum, modulo 0xffff. UDP over IPv4
  /// has a checksum or not (RFC 768); over IPv6 it must have one (RFC 8200, section 8.1).
  bool Holds(uint64_t payload_sum) const {
    return summed ? packet::ChecksumHolds(sum + payload_sum) : flow.ip_version == 4;
  }
  std::string_view Payload(const uint8_t* frame) const {
    return {reinterpret_cast<const char*>(frame) + payload, payload_bytes};
  }
};

class TextFinder {
 public:
  /// By destination port. A port that is given for lines and for syslog is one for syslog.
  TextFinder(std::span<const uint16_t> syslog_ports, std::span<const uint16_t> line_ports,
             std::span<const uint16_t> tcp_ports, std::span<const uint16_t> syslog_tcp_ports = {});

  /// What is in the `length` bytes at `frame`; reads none beyond them. Of a frame that holds
  /// neither text nor a window, the kind alone is set.
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

  /// Whether a TCP stream to `port` has messages of syslog (RFC 6587).
  bool IsSyslogStream(uint16_t port) const { return (uses_[port] & kTcpSyslog) != 0; }

 private:
  /// What a port is for, of UDP and of TCP.
  enum Use : uint8_t { kNone = 0, kSyslog = 1, kLines = 2, kTcp = 4, kTcpSyslog = 8 };

  /// A whole UDP or TCP packet: offsets lie inside the frame, lengths fit.
  struct Packet {
    uint32_t l3, l4, end;
    bool tcp;
    bool ipv6 = false;
  };

  uint8_t UseOf(const uint8_t* l4, bool tcp) const {
    return uses_[packet::LoadBe16(l4 + 2)] & (tcp ? kTcp | kTcpSyslog : kSyslog | kLines);
  }

  /// Whether a TCP segment comes from a port to which streams with text go.
  bool IsOfReceiver(const uint8_t* l4) const {
    return (uses_[packet::LoadBe16(l4)] & (kTcp | kTcpSyslog)) != 0;
  }

  [[gnu::noinline]] void FindAny(const uint8_t* frame, uint32_t length, FoundText& found) const;
  /// Of a packet to one of our ports; all but its flow.
  void Read(const uint8_t* frame, const Packet& packet, FoundText& found) const;

  /// Of a whole TCP header whose sender receives streams with text, and with the frame's own flow.
  static void ReadWindow(const uint8_t* l4, FoundText& found);

  std::vector<uint8_t> uses_;  ///< By destination port.
};

}  // namespace sluice::engine::logmon
