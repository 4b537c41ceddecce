// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/steering.h"

#include <algorithm>
#include <cstring>

#include "packet/bytes.h"

namespace sluice::device::enso {
namespace {

using packet::Load;
using packet::LoadBe16;
using packet::LoadBe32;
using regs::enso::FlowHash;
using regs::enso::kMaxPipes;

// Byte offsets in a frame's first kHeaderBytes. A TCP connection request has kSynBit set.
constexpr uint32_t kProtocolAt = 23, kAddressesAt = 26, kPortsAt = 34, kTcpFlagsAt = 47;
constexpr uint32_t kSynBit = 2, kTcp = 6, kUdp = 17;

FlowKey KeyOf(const uint8_t* header) {
  const uint8_t protocol = header[kProtocolAt];
  const bool all = protocol == kTcp && (header[kTcpFlagsAt] & kSynBit) == 0;
  FlowKey key{.dst_ip = LoadBe32(header + kAddressesAt + 4)};
  if (all) {
    key.src_ip = LoadBe32(header + kAddressesAt);
    key.src_port = LoadBe16(header + kPortsAt);
  }
  if (all || protocol == kTcp || protocol == kUdp) {
    key.dst_port = LoadBe16(header + kPortsAt + 2);
  }
  return key;
}

/// Sixteen bytes of a frame: protocol, source address, destination address and ports, one per word.
using Row [[gnu::vector_size(16)]] = uint32_t;
constexpr uint32_t kRowAt = 22;
static_assert(kRowAt + 1 == kProtocolAt && kRowAt + 4 == kAddressesAt &&
              kAddressesAt + 8 == kPortsAt);
/// One word from each of eight frames.
using Lanes [[gnu::vector_size(32)]] = uint32_t;

/// The keys of eight frames, in host order. Ports have the format of FlowHash.
struct Keys {
  Lanes src_ip, dst_ip, ports;

  FlowKey operator[](uint32_t i) const {
    return {.dst_ip = dst_ip[i],
            .src_ip = src_ip[i],
            .dst_port = static_cast<uint16_t>(ports[i]),
            .src_port = static_cast<uint16_t>(ports[i] >> 16)};
  }
};

Lanes Swapped(Lanes words) {
  using Bytes [[gnu::vector_size(32)]] = uint8_t;
  const auto bytes = reinterpret_cast<Bytes>(words);
  return reinterpret_cast<Lanes>(
      __builtin_shufflevector(bytes, bytes, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
                              19, 18, 17, 16, 23, 22, 21, 20, 27, 26, 25, 24, 31, 30, 29, 28));
}

/// Computes KeyOf for eight frames.
Keys KeysOf(const WireFrame* frames) {
  // Transposes rows to columns, in two halves of four frames.
  const auto both = [frames](uint32_t i) {
    const auto low = Load<Row>(frames[i].data + kRowAt);
    const auto high = Load<Row>(frames[i + 4].data + kRowAt);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  };
  const Lanes k0 = both(0), k1 = both(1), k2 = both(2), k3 = both(3);
  const Lanes low01 = __builtin_shufflevector(k0, k1, 0, 8, 1, 9, 4, 12, 5, 13);
  const Lanes low23 = __builtin_shufflevector(k2, k3, 0, 8, 1, 9, 4, 12, 5, 13);
  const Lanes high01 = __builtin_shufflevector(k0, k1, 2, 10, 3, 11, 6, 14, 7, 15);
  const Lanes high23 = __builtin_shufflevector(k2, k3, 2, 10, 3, 11, 6, 14, 7, 15);
  const Lanes kinds = __builtin_shufflevector(low01, low23, 0, 1, 8, 9, 4, 5, 12, 13);
  const Lanes src_ip = __builtin_shufflevector(low01, low23, 2, 3, 10, 11, 6, 7, 14, 15);
  const Lanes dst_ip = __builtin_shufflevector(high01, high23, 0, 1, 8, 9, 4, 5, 12, 13);
  const Lanes ports = __builtin_shufflevector(high01, high23, 2, 3, 10, 11, 6, 7, 14, 15);

  // Loads the word whose last byte contains the TCP flags.
  const auto flags = [frames](uint32_t i) {
    return Load<uint32_t>(frames[i].data + kTcpFlagsAt - 3);
  };
  const Lanes tcp_flags = {flags(0), flags(1), flags(2), flags(3),
                           flags(4), flags(5), flags(6), flags(7)};
  const Lanes protocol = (kinds >> 8) & 0xffu;
  const auto is_tcp = reinterpret_cast<Lanes>(protocol == kTcp);
  const auto is_udp = reinterpret_cast<Lanes>(protocol == kUdp);
  const Lanes all = is_tcp & reinterpret_cast<Lanes>((tcp_flags & (kSynBit << 24)) == 0u);
  // The source port is the first half of the word.
  return {Swapped(src_ip & all), Swapped(dst_ip),
          Swapped(ports & (all | ((is_tcp | is_udp) & 0xffff'0000u)))};
}

}  // namespace

void Steering::SetFallback(uint32_t count, uint32_t mask, bool round_robin) {
  fallback_count_ = count;
  fallback_mask_ = mask;
  round_robin_ = round_robin;
  counter_.SetMask(mask, clock_.Cycles());
}

uint32_t Steering::Target(const uint8_t* header, uint32_t length) {
  const FlowKey key = KeyOf(header);
  return Resolve(key, FlowHash(key, 0), length);
}

void Steering::Targets(std::span<const WireFrame> frames, uint32_t* pipes) {
  const uint32_t count = static_cast<uint32_t>(frames.size());
  const uint32_t side_by_side = count - count % kLanes;
  uint32_t i = 0;
  if (ByHashAlone()) {
    if (fallback_mask_ == 0) {
      std::fill_n(pipes, count, 0);
      return;
    }
    SteerByHash(frames.data(), side_by_side, pipes);
    i = side_by_side;
  }
  for (; i < side_by_side; i += kLanes) {
    const Keys keys = KeysOf(&frames[i]);
    const Lanes hashes = FlowHash(keys.dst_ip, keys.src_ip, keys.ports, 0);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      pipes[i + lane] = Resolve(keys[lane], hashes[lane], frames[i + lane].length);
    }
  }
  for (; i < count; ++i) pipes[i] = Target(frames[i].data, frames[i].length);
}

// The hot loop. `count` must be a multiple of kLanes.
void Steering::SteerByHash(const WireFrame* frames, uint32_t count, uint32_t* pipes) const {
  const uint32_t mask = fallback_mask_ % kMaxPipes;
  for (uint32_t i = 0; i < count; i += kLanes) {
    const Keys keys = KeysOf(&frames[i]);
    const Lanes chosen = FlowHash(keys.dst_ip, keys.src_ip, keys.ports, 0) & mask;
    std::memcpy(&pipes[i], &chosen, sizeof(chosen));
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
