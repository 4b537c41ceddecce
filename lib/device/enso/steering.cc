// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/steering.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::device::enso {
namespace {

using regs::enso::FlowHash;
using regs::enso::kMaxPipes;

/// What of a frame is its key, in the order of bytes on the wire: source address, destination
/// address, ports; the last word is 0.
using RawKey [[gnu::vector_size(16)]] = uint32_t;
/// One word of eight keys.
using Lanes [[gnu::vector_size(32)]] = uint32_t;

/// The key of a frame whose first kHeaderBytes stand at `header`.
RawKey ExtractKey(const uint8_t* header) {
  constexpr uint32_t kProtocolAt = 23, kKeyAt = 26, kTcpFlagsAt = 47, kSynBit = 2;
  constexpr uint32_t kAll = 0xffff'ffff, kDestinationPort = 0xffff'0000;
  constexpr uint32_t kUdp = 4, kTcp = 8;  // Rows of the masks; kSynBit chooses between two.
  static constexpr auto kKinds = [] {
    std::array<uint8_t, 256> kinds{};
    kinds[17] = kUdp;
    kinds[6] = kTcp;
    return kinds;
  }();
  // By kind and SYN; every other row is one.
  static constexpr RawKey kMasks[] = {{0, kAll, 0, 0},
                                      {0, kAll, 0, 0},
                                      {0, kAll, kDestinationPort, 0},
                                      {0, kAll, kDestinationPort, 0},
                                      {kAll, kAll, kAll, 0},
                                      {0, kAll, kDestinationPort, 0}};
  const uint32_t row = kKinds[header[kProtocolAt]] | (header[kTcpFlagsAt] & kSynBit);
  RawKey key;
  std::memcpy(&key, header + kKeyAt, sizeof(key));
  return key & kMasks[row / 2];
}

FlowKey HostKey(RawKey raw) {
  const uint32_t ports = __builtin_bswap32(raw[2]);
  return {.dst_ip = __builtin_bswap32(raw[1]),
          .src_ip = __builtin_bswap32(raw[0]),
          .dst_port = static_cast<uint16_t>(ports),
          .src_port = static_cast<uint16_t>(ports >> 16)};
}

Lanes Swapped(Lanes words) {
  return words << 24 | (words & 0xff00u) << 8 | (words >> 8 & 0xff00u) | words >> 24;
}

/// The hashes of the first sub-table.
Lanes Hashes(const RawKey (&keys)[Steering::kLanes]) {
  // Rows to columns, in two halves of four keys.
  const auto both = [&keys](uint32_t i) {
    return __builtin_shufflevector(keys[i], keys[i + 4], 0, 1, 2, 3, 4, 5, 6, 7);
  };
  const Lanes k0 = both(0), k1 = both(1), k2 = both(2), k3 = both(3);
  const Lanes low01 = __builtin_shufflevector(k0, k1, 0, 8, 1, 9, 4, 12, 5, 13);
  const Lanes low23 = __builtin_shufflevector(k2, k3, 0, 8, 1, 9, 4, 12, 5, 13);
  const Lanes high01 = __builtin_shufflevector(k0, k1, 2, 10, 3, 11, 6, 14, 7, 15);
  const Lanes high23 = __builtin_shufflevector(k2, k3, 2, 10, 3, 11, 6, 14, 7, 15);
  const Lanes src_ip = __builtin_shufflevector(low01, low23, 0, 1, 8, 9, 4, 5, 12, 13);
  const Lanes dst_ip = __builtin_shufflevector(low01, low23, 2, 3, 10, 11, 6, 7, 14, 15);
  const Lanes ports = __builtin_shufflevector(high01, high23, 0, 1, 8, 9, 4, 5, 12, 13);
  return FlowHash(Swapped(dst_ip), Swapped(src_ip), Swapped(ports), 0);
}

}  // namespace

void Steering::SetFallback(uint32_t count, uint32_t mask, bool round_robin) {
  fallback_count_ = count;
  fallback_mask_ = mask;
  round_robin_ = round_robin;
  counter_.SetMask(mask, clock_.Cycles());
}

uint32_t Steering::Target(const uint8_t* header, uint32_t length) {
  const FlowKey key = HostKey(ExtractKey(header));
  return Resolve(key, FlowHash(key, 0), length);
}

void Steering::Targets(const WireFrame* frames, uint32_t* pipes) {
  const bool by_hash_alone = ByHashAlone();
  if (by_hash_alone && fallback_mask_ == 0) {
    std::fill_n(pipes, kLanes, 0);
    return;
  }
  RawKey keys[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) keys[i] = ExtractKey(frames[i].data);
  const Lanes hashes = Hashes(keys);
  if (by_hash_alone) {
    const Lanes chosen = hashes & (fallback_mask_ % kMaxPipes);
    std::memcpy(pipes, &chosen, sizeof(chosen));
    return;
  }
  for (uint32_t i = 0; i < kLanes; ++i) {
    pipes[i] = Resolve(HostKey(keys[i]), hashes[i], frames[i].length);
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
