// SPDX-License-Identifier: BSD-3-Clause
//
// Fast path for most traffic: complete, unfragmented UDP or TCP in untagged IPv4 without options.
// Offsets are known without parsing, and packet::Parse gives the same result for these frames.
#pragma once

#include <cstdint>

#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/flow_key.h"
#include "packet/frame_length.h"
#include "packet/parse.h"

namespace sluice::packet {

/// Offsets in a plain frame.
inline constexpr uint32_t kPlainL3 = kEthernetHeaderBytes;
inline constexpr uint32_t kPlainProtocol = kPlainL3 + 9;
inline constexpr uint32_t kPlainL4 = kPlainL3 + kIpv4MinHeaderBytes;

/// Minimum size of a plain frame in bytes: up to and including the data offset of a TCP header.
inline constexpr uint32_t kPlainLeast = kPlainL4 + 13;

/// Returns whether the lengths in the headers of an untagged TCP or UDP packet over IPv4 without
/// options are consistent with each other and with the frame, as packet::Parse requires. `length`
/// must be at least kPlainLeast.
inline bool PlainLengthsHold(const uint8_t* frame, uint32_t length, bool tcp) {
  constexpr uint32_t kLeast = kIpv4MinHeaderBytes + kUdpHeaderBytes;
  const uint32_t total = LeadingWord::Of(frame).TotalLength();
  // The minima are subtracted, so that one comparison also rejects smaller values.
  if (total - kLeast > length - kPlainL3 - kLeast) return false;
  if (!tcp) {
    return LoadBe16(frame + kPlainL4 + 4) - kUdpHeaderBytes <= total - kLeast;
  }
  const uint32_t header = uint32_t{frame[kPlainL4 + 12]} >> 4 << 2;
  return header >= kTcpMinHeaderBytes && header + kIpv4MinHeaderBytes <= total;
}

/// Returns whether the frame is plain. Reads at most `length` bytes.
inline bool IsPlainUdpOrTcp(const uint8_t* frame, uint32_t length) {
  constexpr uint16_t kFragmentBits = 0x3fff;  // The more-fragments flag and the fragment offset.
  if (length < kPlainLeast || !LeadingWord::Of(frame).IsPlainIpv4() ||
      (LoadBe16(frame + kPlainL3 + 6) & kFragmentBits) != 0) {
    return false;
  }
  const bool tcp = frame[kPlainProtocol] == kProtocolTcp;
  return (tcp || frame[kPlainProtocol] == kProtocolUdp) && PlainLengthsHold(frame, length, tcp);
}

/// Returns the same headers as packet::Parse for a plain frame.
inline Headers PlainHeaders(const uint8_t* frame) {
  const uint32_t total = LeadingWord::Of(frame).TotalLength();
  Headers headers;
  headers.network = Network::kIpv4;
  headers.protocol = frame[kPlainProtocol];
  headers.ethertype = kEtherTypeIpv4;
  headers.l3 = kPlainL3;
  headers.l4 = kPlainL4;
  headers.end = kPlainL3 + total;
  if (headers.protocol == kProtocolUdp) {
    headers.payload = kPlainL4 + kUdpHeaderBytes;
    headers.payload_bytes = LoadBe16(frame + kPlainL4 + 4) - kUdpHeaderBytes;
  } else {
    headers.payload = kPlainL4 + (uint32_t{frame[kPlainL4 + 12]} >> 4 << 2);
    headers.payload_bytes = headers.end - headers.payload;
  }
  return headers;
}

/// Returns the flow of a plain frame. Reads no bytes after the ports.
inline Ipv4Flow PlainFlow(const uint8_t* frame) {
  const uint32_t ports = LoadBe32(frame + kPlainL4);
  const uint64_t protocol = frame[kPlainProtocol];
  return {Load<uint64_t>(frame + kPlainL3 + 12), (ports >> 16 | ports << 16) | protocol << 32};
}

/// Writes FlowKey::Of for a plain frame to `to` in whole words. Code that copies or hashes the key
/// loads words, and after narrower stores would stall until they leave the store buffer. Reads no
/// bytes after the ports.
inline void WritePlainFlowKey(const uint8_t* frame, FlowKey* to) { PlainFlow(frame).Write(to); }

inline FlowKey PlainFlowKey(const uint8_t* frame) {
  FlowKey key;
  WritePlainFlowKey(frame, &key);
  return key;
}

}  // namespace sluice::packet
