// SPDX-License-Identifier: BSD-3-Clause
//
// Finds log text in frames: to which port it goes says what it is. Text that is corrupted must not
// be matched: checksums are verified.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/logmon/source/source.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/flow_key.h"
#include "packet/frame_length.h"

namespace sluice::engine::logmon {

/// What a frame holds.
struct FoundText {
  enum class Kind : uint8_t {
    kText,
    kOther,        ///< None for us; also what is to be routed on to another destination.
    kMalformed,    ///< A header does not fit, or contradicts another.
    kFragment,     ///< Of UDP or TCP. Fragments are not put together.
    kBadChecksum,  ///< Of a frame to one of our ports.
  };

  Kind kind = Kind::kOther;
  Transport transport = Transport::kLines;
  uint8_t tcp_flags = 0;
  uint32_t sequence = 0;  ///< TCP.
  uint32_t payload = 0;   ///< Offset in the frame.
  uint32_t payload_bytes = 0;
  packet::FlowKey flow;

  std::string_view Payload(const uint8_t* frame) const {
    return {reinterpret_cast<const char*>(frame) + payload, payload_bytes};
  }
};

class TextFinder {
 public:
  /// By destination port. A UDP port that is given for both is one for syslog.
  TextFinder(std::span<const uint16_t> syslog_ports, std::span<const uint16_t> line_ports,
             std::span<const uint16_t> tcp_ports);

  /// Reads the `length` bytes at `frame`; never beyond them.
  FoundText Find(const uint8_t* frame, uint32_t length) const {
    if (!IsPlain(frame, length)) return FindAny(frame, length);
    const uint8_t protocol = frame[kProtocolOffset];
    const bool tcp = protocol == packet::kProtocolTcp;
    if (UseOf(frame + kPortsOffset, tcp) == kNone) return {};
    const uint32_t end = kIpOffset + packet::LeadingWord::Of(frame).TotalLength();
    return Check(frame, {.l3 = kIpOffset, .l4 = kPortsOffset, .end = end, .tcp = tcp,
                         .flow = PlainFlow(frame)});
  }

  /// Whether the frame is likely to hold text whose source has a state, and the name of that.
  /// A hint, for any bytes.
  bool Guess(const uint8_t* frame, uint32_t length, packet::FlowKey& flow) const {
    if (length < kPortsOffset + 4 || !packet::LeadingWord::Of(frame).IsPlainIpv4()) return false;
    const uint8_t use = UseOf(frame + kPortsOffset,
                              frame[kProtocolOffset] == packet::kProtocolTcp);
    if (use != kLines && use != kTcp) return false;
    flow = PlainFlow(frame);
    return true;
  }

 private:
  /// What a port is for, of UDP and of TCP.
  enum Use : uint8_t { kNone = 0, kSyslog = 1, kLines = 2, kTcp = 4 };

  static constexpr uint32_t kIpOffset = packet::kEthernetHeaderBytes;
  static constexpr uint32_t kProtocolOffset = kIpOffset + 9;
  static constexpr uint32_t kPortsOffset = kIpOffset + packet::kIpv4MinHeaderBytes;

  /// A whole UDP or TCP packet: offsets lie inside the frame, lengths fit.
  struct Packet {
    uint32_t l3, l4, end;
    bool tcp;
    bool ipv6 = false;
    packet::FlowKey flow;
  };

  /// Untagged IPv4 without options, UDP or TCP, unfragmented, whole.
  static bool IsPlain(const uint8_t* frame, uint32_t length) {
    if (length < kPortsOffset + packet::kTcpMinHeaderBytes) return false;
    const packet::LeadingWord word = packet::LeadingWord::Of(frame);
    const uint32_t total = word.TotalLength();
    if (!word.IsPlainIpv4() || total + kIpOffset > length ||
        (packet::LoadBe16(frame + kIpOffset + 6) & 0x3fff) != 0) {
      return false;
    }
    // The upper header is as packet::Parse wants it.
    if (frame[kProtocolOffset] == packet::kProtocolUdp) {
      const uint32_t bytes = packet::LoadBe16(frame + kPortsOffset + 4);
      return bytes >= packet::kUdpHeaderBytes && bytes + packet::kIpv4MinHeaderBytes <= total;
    }
    const uint32_t header = uint32_t{frame[kPortsOffset + 12]} >> 4 << 2;
    return frame[kProtocolOffset] == packet::kProtocolTcp &&
           header >= packet::kTcpMinHeaderBytes &&
           header + packet::kIpv4MinHeaderBytes <= total;
  }
  static packet::FlowKey PlainFlow(const uint8_t* frame) {
    packet::FlowKey flow;
    std::memcpy(flow.source.data(), frame + kIpOffset + 12, 4);
    std::memcpy(flow.destination.data(), frame + kIpOffset + 16, 4);
    flow.source_port = packet::LoadBe16(frame + kPortsOffset);
    flow.destination_port = packet::LoadBe16(frame + kPortsOffset + 2);
    flow.protocol = frame[kProtocolOffset];
    flow.ip_version = 4;
    return flow;
  }
  uint8_t UseOf(const uint8_t* l4, bool tcp) const {
    return uses_[packet::LoadBe16(l4 + 2)] & (tcp ? kTcp : kSyslog | kLines);
  }

  [[gnu::noinline]] FoundText FindAny(const uint8_t* frame, uint32_t length) const;
  /// Of a packet to one of our ports.
  FoundText Check(const uint8_t* frame, const Packet& packet) const;

  std::vector<uint8_t> uses_;  ///< By destination port.
};

}  // namespace sluice::engine::logmon
