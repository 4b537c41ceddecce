// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/steering.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::device::enso {
namespace {

using regs::enso::FlowHash;
using regs::enso::kMaxPipes;

/// The fields of a key where the vector unit wants them: one lane a frame. First as they stand
/// in the frame, then in host order.
struct Lanes {
  alignas(32) uint32_t dst_ip[Steering::kLanes];
  alignas(32) uint32_t src_ip[Steering::kLanes];
  alignas(32) uint32_t ports[Steering::kLanes];  ///< Source in the high half, once swapped.

  void Load(uint32_t lane, const uint8_t* header);
  void ToHostOrder(uint32_t lane) {
    dst_ip[lane] = __builtin_bswap32(dst_ip[lane]);
    src_ip[lane] = __builtin_bswap32(src_ip[lane]);
    ports[lane] = __builtin_bswap32(ports[lane]);
  }
  uint32_t Hash(uint32_t lane) const {
    return FlowHash(dst_ip[lane], src_ip[lane], ports[lane], 0);
  }
  FlowKey Key(uint32_t lane) const {
    return {.dst_ip = dst_ip[lane], .src_ip = src_ip[lane],
            .dst_port = static_cast<uint16_t>(ports[lane]),
            .src_port = static_cast<uint16_t>(ports[lane] >> 16)};
  }
};

void Lanes::Load(uint32_t lane, const uint8_t* header) {
  // What of source address and ports is part of the key, by kind of protocol and SYN; the
  // destination address always is. In the order of bytes on the wire.
  struct Mask {
    uint32_t src_ip;
    uint32_t ports;
  };
  static constexpr Mask kIp = {0, 0};
  static constexpr Mask kDestination = {0, 0xffff'0000};
  static constexpr Mask kConnection = {0xffff'ffff, 0xffff'ffff};
  static constexpr Mask kMasks[] = {kIp,          kIp,         kDestination,
                                    kDestination, kConnection, kDestination};
  static constexpr auto kKinds = [] {
    std::array<uint8_t, 256> kinds{};
    kinds[17] = 2;  // UDP
    kinds[6] = 4;   // TCP
    return kinds;
  }();
  constexpr uint32_t kProtocolAt = 23, kSrcIpAt = 26, kDstIpAt = 30, kPortsAt = 34;
  constexpr uint32_t kTcpFlagsAt = 47, kSynBit = 1;
  const uint32_t syn = header[kTcpFlagsAt] >> kSynBit & 1;
  const Mask& mask = kMasks[kKinds[header[kProtocolAt]] | syn];
  uint32_t src, dst, both_ports;
  std::memcpy(&src, header + kSrcIpAt, sizeof(src));
  std::memcpy(&dst, header + kDstIpAt, sizeof(dst));
  std::memcpy(&both_ports, header + kPortsAt, sizeof(both_ports));
  dst_ip[lane] = dst;
  src_ip[lane] = src & mask.src_ip;
  ports[lane] = both_ports & mask.ports;
}

}  // namespace

void Steering::SetFallback(uint32_t count, uint32_t mask, bool round_robin) {
  fallback_count_ = count;
  fallback_mask_ = mask;
  round_robin_ = round_robin;
  counter_.SetMask(mask, clock_.Cycles());
}

uint32_t Steering::Target(const uint8_t* header, uint32_t length) {
  Lanes one;
  one.Load(0, header);
  one.ToHostOrder(0);
  return Resolve(one.Key(0), one.Hash(0), length);
}

void Steering::Targets(const WireFrame* frames, uint32_t* pipes) {
  const bool by_hash_alone = ByHashAlone();
  if (by_hash_alone && fallback_mask_ == 0) {
    std::fill_n(pipes, kLanes, 0);
    return;
  }
  Lanes lanes;
  for (uint32_t i = 0; i < kLanes; ++i) lanes.Load(i, frames[i].data);
  uint32_t hashes[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) {
    lanes.ToHostOrder(i);
    hashes[i] = lanes.Hash(i);
  }
  for (uint32_t i = 0; i < kLanes; ++i) {
    pipes[i] = by_hash_alone ? (hashes[i] & fallback_mask_) % kMaxPipes
                             : Resolve(lanes.Key(i), hashes[i], frames[i].length);
  }
}

uint32_t Steering::Resolve(const FlowKey& key, uint32_t hash, uint32_t length) {
  const uint32_t pipe = flows_.Find(key, hash);
  if (pipe != FlowTable::kMiss) return pipe % kMaxPipes;
  if (fallback_count_ == 0) return kNoPipe;
  if (round_robin_) return counter_.At(clock_.Arrive(length)) % kMaxPipes;
  return (hash & fallback_mask_) % kMaxPipes;
}

}  // namespace sluice::device::enso
