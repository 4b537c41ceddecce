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
#include "packet/plain.h"

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
    if (!packet::IsPlainUdpOrTcp(frame, length)) return FindAny(frame, length);
    const uint8_t protocol = frame[packet::kPlainProtocol];
    const bool tcp = protocol == packet::kProtocolTcp;
    if (UseOf(frame + packet::kPlainL4, tcp) == kNone) return {};
    const uint32_t end = packet::kPlainL3 + packet::LeadingWord::Of(frame).TotalLength();
    return Check(frame, {.l3 = packet::kPlainL3, .l4 = packet::kPlainL4, .end = end, .tcp = tcp,
                         .flow = packet::PlainFlowKey(frame)});
  }

  /// Whether the frame is likely to hold text whose source has a state, and the name of that.
  /// A hint, for any bytes.
  bool Guess(const uint8_t* frame, uint32_t length, packet::FlowKey& flow) const {
    if (length < packet::kPlainL4 + 4 || !packet::LeadingWord::Of(frame).IsPlainIpv4())
      return false;
    const uint8_t use = UseOf(frame + packet::kPlainL4,
                              frame[packet::kPlainProtocol] == packet::kProtocolTcp);
    if (use != kLines && use != kTcp) return false;
    flow = packet::PlainFlowKey(frame);
    return true;
  }

 private:
  /// What a port is for, of UDP and of TCP.
  enum Use : uint8_t { kNone = 0, kSyslog = 1, kLines = 2, kTcp = 4 };

  /// A whole UDP or TCP packet: offsets lie inside the frame, lengths fit.
  struct Packet {
    uint32_t l3, l4, end;
    bool tcp;
    bool ipv6 = false;
    packet::FlowKey flow;
  };

  uint8_t UseOf(const uint8_t* l4, bool tcp) const {
    return uses_[packet::LoadBe16(l4 + 2)] & (tcp ? kTcp : kSyslog | kLines);
  }

  [[gnu::noinline]] FoundText FindAny(const uint8_t* frame, uint32_t length) const;
  /// Of a packet to one of our ports.
  FoundText Check(const uint8_t* frame, const Packet& packet) const;

  std::vector<uint8_t> uses_;  ///< By destination port.
};

}  // namespace sluice::engine::logmon
