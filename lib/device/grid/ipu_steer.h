// SPDX-License-Identifier: BSD-3-Clause
//
// Maps a frame to its queue and to the contents of its completion, like IpuNic::Place and Classify
// (device/ipu/ipu_nic.cc).
#pragma once

#include <cstdint>

#include "device/grid/ipu_card.h"
#include "device/ipu/parse_any.h"
#include "device/ipu/parser.h"

namespace sluice::device::grid {

/// Value used for dropped frames. Queues have numbers below kIpuQueues.
inline constexpr uint32_t kIpuDropped = kIpuQueues;

struct Steered {
  uint32_t queue;  ///< Queue or kIpuDropped.
  uint32_t hash;
  uint32_t word;  ///< Packet class and, in the upper half, kRx… flags. For a dropped frame: its
                  ///< Statistic.
};

/// A frame from the wire, in card memory. It is 64-byte aligned and padded with zeroes to a
/// multiple of 64 bytes.
struct CardFrame {
  uint8_t* data;
  uint32_t length;
};

/// Returns the hash contribution of `bytes` bytes at `position` of the input. The first byte is the
/// lowest byte of `word`.
inline uint32_t HashOf(const IpuSettings& settings, uint32_t position, uint64_t word,
                       uint32_t bytes) {
  uint32_t hash = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    const auto byte = static_cast<uint32_t>(word >> 8 * i & 0xff);
    hash ^= settings.toeplitz[2 * (position + i)][byte >> 4] ^
            settings.toeplitz[2 * (position + i) + 1][byte & 15];
  }
  return hash;
}

inline bool AcceptsAddress(const IpuSettings& settings, uint32_t control, uint64_t address) {
  using namespace regs::ipu;
  constexpr uint64_t kBroadcast = (uint64_t{1} << 48) - 1;
  const auto both = [](const uint32_t* words) { return words[0] | uint64_t{words[1]} << 32; };
  if ((control & kPortPromiscuous) != 0 || address == kBroadcast ||
      address == (both(&settings.port[kStationAddress / 4]) & kBroadcast) ||
      ((control & kPortAllMulticast) != 0 && (address & 1) != 0)) {
    return true;
  }
  for (uint32_t i = 0; i < settings.addresses_used; ++i) {
    if (both(&settings.addresses[2 * i]) == (address | kAddressValid)) return true;
  }
  return false;
}

inline bool AcceptsTag(const IpuSettings& settings, uint32_t control, const CardFrame& frame) {
  if ((control & regs::ipu::kPortVlanFilter) == 0 || frame.length < 18 || frame.data[12] != 0x81 ||
      frame.data[13] != 0) {
    return true;
  }
  const uint32_t id = (frame.data[14] & 15u) << 8 | frame.data[15];
  return (settings.vlans[id / 32] >> id % 32 & 1) != 0;
}

/// Packs the hash and, in the upper half, Steered::word.
inline uint64_t Classified(uint32_t hash, uint32_t word) { return hash | uint64_t{word} << 32; }

/// Classifies a frame that is not plain or whose checksums must be verified.
[[gnu::noinline]] inline uint64_t ClassifyAny(const IpuSettings& settings, const uint8_t* data,
                                              uint32_t length) {
  using namespace regs::ipu;
  const WireFrame frame{data, length};
  const ipu::Headers headers = ipu::parsing::ParseAny(frame);
  const uint32_t fields = settings.port[kRssFields / 4];
  const bool v4 = headers.ip_version == 4, v6 = headers.ip_version == 6;
  uint32_t port_bit = 0;
  if (headers.has_ports) {
    port_bit = fields & (v4   ? (headers.protocol == 6 ? kRssIpv4Tcp : kRssIpv4Udp)
                         : v6 ? (headers.protocol == 6 ? kRssIpv6Tcp : kRssIpv6Udp)
                              : 0);
  }
  uint32_t hash = 0, flags = 0;
  if (port_bit != 0 || (v4 && (fields & kRssIpv4) != 0) || (v6 && (fields & kRssIpv6) != 0)) {
    const uint32_t bytes = v4 ? 8 : 32;
    const uint8_t* const addresses = frame.data + headers.ip_offset + (v4 ? 12 : 8);
    for (uint32_t i = 0; i < bytes; ++i) hash ^= HashOf(settings, i, addresses[i], 1);
    for (uint32_t i = 0; port_bit != 0 && i < 4; ++i) {
      hash ^= HashOf(settings, bytes + i, frame.data[headers.l4_offset + i], 1);
    }
    flags |= kRxHashValid;
  }
  if ((settings.port[kPortControl / 4] & kPortChecksum) != 0) {
    flags |= ipu::parsing::VerifyChecksums(frame, headers);
  }
  return Classified(hash, headers.packet_class | flags << 16);
}

/// Classifies a frame whose first 48 bytes are `first` to `third`.
inline uint64_t Classify(const IpuSettings& settings, const CardFrame& frame, Quad first,
                         Quad second, Quad third) {
  using namespace regs::ipu;
  // The condition is the same as in ipu::PlainClass: no tag, IPv4 without options or fragments, TCP
  // or UDP with ports. Trailing comments give byte offsets in the frame.
  const auto type = static_cast<uint32_t>(first.high >> 32) & 0xff'ffff;   // 12 … 14
  const auto total = static_cast<uint32_t>(second.low & 0xffff);           // 16, 17
  const auto fragment = static_cast<uint32_t>(second.low >> 32) & 0xff3f;  // 20, 21
  const auto protocol = static_cast<uint32_t>(second.low >> 56);           // 23
  const bool tcp = protocol == 6;
  const bool plain = frame.length >= 14 + 24 && type == 0x45'0008 && fragment == 0 &&
                     (total >> 8 | (total & 0xff) << 8) >= 24 && (tcp || protocol == 17);
  if (!plain || (settings.port[kPortControl / 4] & kPortChecksum) != 0) {
    return ClassifyAny(settings, frame.data, frame.length);
  }
  const uint32_t fields = settings.port[kRssFields / 4];
  const bool ports = (fields & (tcp ? kRssIpv4Tcp : kRssIpv4Udp)) != 0;
  uint32_t hash = 0, word = uint32_t{kClassEther} | kClassIpv4 | (tcp ? kClassTcp : kClassUdp);
  if (ports || (fields & kRssIpv4) != 0) {
    const uint64_t addresses = second.high >> 16 | third.low << 48;  // 26 … 33
    const uint64_t both_ports = third.low >> 16;                     // 34 … 37
    hash = HashOf(settings, 0, addresses, 8);
    if (ports) hash ^= HashOf(settings, 8, both_ports, 4);
    word |= uint32_t{kRxHashValid} << 16;
  }
  return Classified(hash, word);
}

inline Steered Drop(regs::ipu::Statistic statistic) { return {kIpuDropped, 0, statistic}; }

inline Steered Steer(const IpuSettings& settings, const CardFrame& frame) {
  using namespace regs::ipu;
  const uint32_t control = settings.port[kPortControl / 4];
  if ((control & kPortReceive) == 0) return Drop(kStatRxDisabled);
  if (frame.length < kMinFrameBytes) return Drop(kStatRxUndersize);
  const uint32_t most = settings.port[kMaxFrame / 4];
  if (frame.length > most || frame.length > kMaxFrameBytes) return Drop(kStatRxOversize);
  // If this batch was put back, another block may be writing the tag of the same frame.
  const Quad first = LoadQuad(frame.data), second = LoadQuad(frame.data + 16),
             third = LoadQuad(frame.data + 32);
  if (!AcceptsAddress(settings, control, first.low & 0xffff'ffff'ffff) ||
      !AcceptsTag(settings, control, frame) || (control & kPortIsolate) != 0) {
    return Drop(kStatRxFiltered);
  }
  const uint64_t classified = Classify(settings, frame, first, second, third);
  const auto hash = static_cast<uint32_t>(classified);
  const uint32_t entry = hash % kRetaEntries;
  const uint32_t queue = settings.port[kReta / 4 + entry / 4] >> entry % 4 * 8 & 0xff;
  if (queue >= kIpuQueues || settings.rings[queue].place == 0) return Drop(kStatRxDisabled);
  const IpuRxSettings& ring = settings.rings[queue];
  if (frame.length > ring.room && (ring.flags & kRxScatters) == 0) return Drop(kStatRxOversize);
  return {queue, hash, static_cast<uint32_t>(classified >> 32)};
}

}  // namespace sluice::device::grid
