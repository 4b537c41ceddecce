// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/five_tuple.h"

#include <cstring>

#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/frame_length.h"
#include "packet/parse.h"

namespace sluice::engine::telemetry {

namespace {

constexpr uint32_t kIp = packet::kEthernetHeaderBytes;
constexpr uint32_t kPorts = kIp + packet::kIpv4MinHeaderBytes;
constexpr uint32_t kProtocol = kIp + 9;
constexpr uint32_t kTcpDataOffset = kPorts + 12;
constexpr uint16_t kFragmentBits = 0x3fff;  // More fragments, and the offset.

bool IsPlain(const uint8_t* frame, uint32_t length) {
  if (length <= kTcpDataOffset) return false;
  const packet::LeadingWord word = packet::LeadingWord::Of(frame);
  const uint32_t total = word.TotalLength();
  if (!word.IsPlainIpv4() || total + kIp > length ||
      (packet::LoadBe16(frame + kIp + 6) & kFragmentBits) != 0) {
    return false;
  }
  // The upper header is as packet::Parse wants it.
  if (frame[kProtocol] == packet::kProtocolUdp) {
    const uint32_t bytes = packet::LoadBe16(frame + kPorts + 4);
    return bytes >= packet::kUdpHeaderBytes && bytes + packet::kIpv4MinHeaderBytes <= total;
  }
  const uint32_t header = uint32_t{frame[kTcpDataOffset]} >> 4 << 2;
  return frame[kProtocol] == packet::kProtocolTcp && header >= packet::kTcpMinHeaderBytes &&
         header + packet::kIpv4MinHeaderBytes <= total;
}

}  // namespace

std::optional<packet::FlowKey> FiveTupleOf(const uint8_t* frame, uint32_t length) {
  if (!IsPlain(frame, length)) [[unlikely]] {
    return packet::FlowKey::Of(frame, packet::Parse(frame, length));
  }
  packet::FlowKey key;
  std::memcpy(key.source.data(), frame + kIp + 12, 4);
  std::memcpy(key.destination.data(), frame + kIp + 16, 4);
  key.source_port = packet::LoadBe16(frame + kPorts);
  key.destination_port = packet::LoadBe16(frame + kPorts + 2);
  key.protocol = frame[kProtocol];
  key.ip_version = 4;
  return key;
}

}  // namespace sluice::engine::telemetry
