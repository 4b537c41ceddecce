// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "check.h"
#include "packet/fixtures.h"
#include "packet/flow_key.h"
#include "packet/frame_length.h"
#include "packet/oracle.h"
#include "packet/parse.h"
#include "packet/rewrite.h"
#include "targets.h"

namespace sluice::fuzz {

using packet::Headers;
using packet::ParseError;
using test::ExactBuffer;

void Parser(const uint8_t* data, size_t size) {
  const ExactBuffer frame({data, size});
  const Headers headers = packet::Parse(frame.data(), frame.size());
  FUZZ_CHECK(headers.end <= size);
  FUZZ_CHECK(headers.l3 <= size && headers.l4 <= headers.end);
  FUZZ_CHECK(uint64_t{headers.payload} + headers.payload_bytes <= headers.end);
  FUZZ_CHECK(headers.vlan_tags <= packet::kMaxVlanTags);
  const auto key = packet::FlowKey::Of(frame.data(), headers);
  FUZZ_CHECK(key.has_value() == (headers.error == ParseError::kNone && headers.IsIp()));
  if (!key) return;
  FUZZ_CHECK(key->Reversed().Reversed() == *key);

  // The oracle recognizes source routes only in the places where the fixtures have them.
  const bool held = !headers.source_routed && test::ChecksumsHold(frame.data(), headers);
  if (headers.network == packet::Network::kIpv4) {
    packet::SetIpv4Address(frame.data(), headers, packet::End::kSource, {255, 255, 0, 0});
  } else {
    packet::SetIpv6Address(frame.data(), headers, packet::End::kSource, {0xff, 0xff});
  }
  if (headers.HasPorts()) {
    packet::SetPort(frame.data(), headers, packet::End::kDestination, 0xffff);
  }
  if (held) FUZZ_CHECK(test::ChecksumsHold(frame.data(), headers));
}

void FrameLengthWalk(const uint8_t* data, size_t size) {
  // A pipe contains only complete flits.
  std::vector<uint8_t> bytes(data, data + size);
  bytes.resize(packet::FlitSpan(static_cast<uint32_t>(size)));
  const ExactBuffer pipe(bytes);
  for (uint32_t at = 0; at < pipe.size();) {
    const uint8_t* flit = pipe.data() + at;
    const uint32_t length = packet::FrameLength(flit);
    FUZZ_CHECK(length == 0 || length >= packet::kEthernetHeaderBytes + packet::kMinLlcBytes);
    FUZZ_CHECK(length <= packet::kEthernetHeaderBytes + 2 * packet::kVlanTagBytes +
                             packet::kIpv6HeaderBytes + 65535);
    const uint32_t left = pipe.size() - at;
    const uint32_t span = packet::FlitSpan(length);
    if (length == 0 || span > left) {
      at += packet::kFlitBytes;  // Framing is lost; continue with the next flit.
      continue;
    }
    // The parser and the length walk must agree on the end of each frame that the parser accepts.
    const Headers headers = packet::Parse(flit, length);
    if (headers.error == ParseError::kNone && headers.IsIp()) FUZZ_CHECK(headers.end == length);
    // The transmitter and the receiver must split frames at the same length.
    FUZZ_CHECK(packet::TotalLengthCutsWell(flit, length) == packet::LeadingWord::Of(flit).IsIpv4());
    at += span;
  }
}

}  // namespace sluice::fuzz
